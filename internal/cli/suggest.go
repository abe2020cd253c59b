package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/client"
)

// suggestPods lists pods whose names start with beginning: those of the API server, or with --server those that the
// agent knows, including deleted pods.
func suggestPods(ctx context.Context, call Call, beginning string) []string {
	var c askConfig
	if _, err := c.table().Parse(call.Args, call.Getenv, 0); err != nil {
		return nil
	}
	r, err := c.open(call.Program.Name, call.Getenv)
	if err != nil {
		return nil
	}
	defer r.close()
	namespace, _, qualified := strings.Cut(beginning, "/")
	prefix := namespace + "/"
	if !qualified {
		namespace, prefix = r.namespace, ""
	}
	names := r.suggestPods(ctx, namespace, prefix)
	fits := func(name string) bool { return strings.HasPrefix(name, beginning) }
	if !qualified && !slices.ContainsFunc(names, fits) {
		names = c.suggestNamespaces(ctx, call.Getenv)
		for i := range names {
			names[i] += "/"
		}
	}
	return names
}

func (r reached) suggestPods(ctx context.Context, namespace, prefix string) []string {
	var names []string
	if r.cluster != nil {
		var err error
		if names, err = r.cluster.Pods(ctx, namespace); err != nil {
			return nil
		}
	} else if namespace != "" {
		for record, err := range r.direct.Pods(ctx, client.Filter{Namespaces: []string{namespace}}) {
			if err != nil || len(names) == maxSuggestions {
				break
			}
			names = append(names, record.Name)
		}
	}
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

func (t *target) suggestContexts(_ context.Context, getenv func(string) string) []string {
	config, err := t.clientConfig(getenv).RawConfig()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

func (t *target) suggestNamespaces(ctx context.Context, getenv func(string) string) []string {
	r, err := t.open(AgentProgram, getenv)
	if err != nil {
		return nil
	}
	defer r.close()
	if r.cluster != nil {
		names, err := r.cluster.Namespaces(ctx)
		if err != nil {
			return nil
		}
		return names
	}
	names := map[string]bool{}
	for record, err := range r.direct.Pods(ctx, client.Filter{}) {
		if err != nil || len(names) == maxSuggestions {
			break
		}
		names[record.Namespace] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (t *target) suggestNodes(ctx context.Context, getenv func(string) string) []string {
	r, err := t.open(AgentProgram, getenv)
	if err != nil || r.cluster == nil {
		return nil
	}
	defer r.close()
	there, err := r.cluster.Agents(ctx, "")
	if err != nil {
		return nil
	}
	var nodes []string
	for _, agent := range there {
		nodes = append(nodes, agent.Node)
	}
	return nodes
}
