package cli

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/resourcetype"
	"github.com/podlapse/podlapse/pkg/client"
)

// suggestResources suggests pods, nodes (after node/), namespaces and resource types. The argument "beginning" is the
// text that the user has typed. Some suggestions do not start with the typed text, so the caller must remove them.
// Usually, the API server provides the names of pods. If the command queries a single agent directly, as with --server,
// that agent provides the names. The agent's names include the names of deleted pods.
func suggestResources(ctx context.Context, call Call, beginning string) []string {
	var c explainConfig
	if _, err := c.table().Parse(call.Args, call.Getenv, 0); err != nil {
		return nil
	}
	r, err := c.open(call.Program.Name, call.Getenv)
	if err != nil {
		return nil
	}
	defer r.close()
	first, _, qualified := strings.Cut(beginning, "/")
	if !qualified {
		names := r.suggestPods(ctx, r.namespace, "")
		fits := func(name string) bool { return strings.HasPrefix(name, beginning) }
		if slices.ContainsFunc(names, fits) {
			return names
		}
		names = c.suggestNamespaces(ctx, call.Getenv)
		for _, t := range resourcetype.All() {
			names = append(names, t.Names[0])
		}
		for i := range names {
			names[i] += "/"
		}
		return names
	}
	switch kind, known := resourcetype.KindOf(first); {
	case kind == kindNode:
		return prefixed(first+"/", c.suggestNodes(ctx, call.Getenv))
	case kind == kindPod:
		return r.suggestPods(ctx, r.namespace, first+"/")
	case known:
		return nil // the RBAC role for podlapse users has no permission to list workloads
	}
	return r.suggestPods(ctx, first, first+"/")
}

// suggestNodeNames returns a function that lists the nodes with an agent. The function "newTable" returns the flags of
// a command, and the target that stores the values of these flags.
func suggestNodeNames(newTable func() (flags.Table, *target)) func(context.Context, Call, string) []string {
	return func(ctx context.Context, call Call, _ string) []string {
		table, t := newTable()
		if _, err := table.Parse(call.Args, call.Getenv, 0); err != nil {
			return nil
		}
		return t.suggestNodes(ctx, call.Getenv)
	}
}

func prefixed(prefix string, names []string) []string {
	for i := range names {
		names[i] = prefix + names[i]
	}
	return names
}

func (r agentAccess) suggestPods(ctx context.Context, namespace, prefix string) []string {
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
	return prefixed(prefix, names)
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
