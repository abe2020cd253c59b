package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/export"
)

func (a asker) runExplain(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c askConfig
	asking, rest, code, ok := a.begin("explain", "explain [flags] [[NAMESPACE/]POD]\n\n"+
		"Shows where the start-up time of a pod went, also of a deleted pod that an agent still remembers.\n"+
		"Without POD, lists all pods, one per line.",
		c.settings(), &c.target, args, 1, getenv, stdout, stderr)
	if !ok {
		return code
	}
	defer asking.close()
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	if len(rest) == 0 {
		return asking.explainAll(ctx, c)
	}
	pod, err := namedPod(rest[0], asking.namespace)
	if err != nil {
		return failUsageAs(stderr, a.program, "explain", err)
	}
	return asking.explainPod(ctx, c, pod)
}

func (a asking) explainPod(ctx context.Context, c askConfig, pod podName) int {
	record, failed, err := a.record(ctx, pod)
	if err != nil {
		return a.fail(err)
	}
	text, err := c.text(record, func() string { return export.Waterfall(record, c.page(a.stdout, a.getenv)) })
	if err != nil {
		return a.fail(err)
	}
	return a.print(text, failed)
}

// record asks the agent of the pod's node. Where that is not known any more all agents are asked, and the errors of those that did
// not answer are told of; of several start-ups the latest counts.
func (a asking) record(ctx context.Context, pod podName) (export.Record, []error, error) {
	node := a.target.node
	if a.cluster != nil && node == "" {
		var err error
		if node, err = a.cluster.NodeOf(ctx, pod.namespace, pod.name); err != nil && !mayBeGone(err) {
			return export.Record{}, nil, err
		}
	}
	found, err := a.agents(ctx, node)
	if err != nil {
		return export.Record{}, nil, err
	}
	answers := agents.Each(ctx, found, agentLimit, func(ctx context.Context, c client.Client) (export.Record, error) {
		return c.Pod(ctx, pod.namespace, pod.name)
	})
	if len(answers) == 1 {
		return answers[0].Value, nil, ofNode(answers[0].Agent, answers[0].Err)
	}
	var latest export.Record
	var failed []error
	known := false
	for _, answer := range answers {
		switch {
		case answer.Err == nil && (!known || answer.Value.CreatedAt.After(latest.CreatedAt.Time)):
			latest, known = answer.Value, true
		case answer.Err != nil && !unknownToAgent(answer.Err):
			failed = append(failed, ofNode(answer.Agent, answer.Err))
		}
	}
	switch {
	case known:
		return latest, failed, nil
	case len(failed) > 0:
		return export.Record{}, nil, fmt.Errorf("%d agents asked: %d did not answer, and the others do not know pod "+
			"%s/%s: %w",
			len(answers), len(failed), pod.namespace, pod.name, failed[0])
	}
	return export.Record{}, nil, fmt.Errorf("%w %s/%s (%d agents asked): check the name; agents remember only the "+
		"latest deleted pods, and no pod deleted before their own start", errUnknownPod, pod.namespace, pod.name, len(answers))
}

// mayBeGone says that there is no such pod, or that who asks may not know: an agent may know it all the same.
func mayBeGone(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusForbidden)
}

// unknownToAgent says that an agent answered that it does not know what it was asked for.
func unknownToAgent(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound && !refused.Kubernetes && refused.Reason != ""
}

// maxListed is how many start-ups of all nodes are listed.
const maxListed = 20_000

func (a asking) explainAll(ctx context.Context, c askConfig) int {
	filter := client.Filter{}
	if c.namespace != "" {
		filter.Namespaces = []string{c.namespace}
	}
	return a.list(ctx, c.output, filter, func(list listed) string {
		switch {
		case len(list.records) == 0 && c.namespace != "":
			return terminal.Clean("no known pods in namespace "+c.namespace) + "\n"
		case len(list.records) == 0:
			return "no known pods yet\n"
		}
		return export.Summary(list.records, a.several(), c.page(a.stdout, a.getenv))
	})
}

// listed is what several agents told.
type listed struct {
	records []export.Record
	failed  []error
}

// list prints what all agents know.
func (a asking) list(ctx context.Context, o output, filter client.Filter, table func(listed) string) int {
	list, err := a.ask(ctx, filter)
	if err != nil {
		return a.fail(err)
	}
	text, err := o.text(export.PodList{Items: list.records}, func() string { return table(list) })
	if err != nil {
		return a.fail(err)
	}
	return a.print(text, list.failed)
}

func (a asking) ask(ctx context.Context, filter client.Filter) (listed, error) {
	list := listed{records: []export.Record{}}
	answers, failed, err := ofAgents(ctx, a, func(ctx context.Context, c client.Client) ([]export.Record, error) {
		return all(ctx, c, filter)
	})
	if err != nil {
		return list, err
	}
	list.failed = failed
	for _, answer := range answers {
		list.records = append(list.records, answer.Value...)
	}
	if more := len(list.records) - maxListed; more > 0 {
		list.records = list.records[:maxListed]
		list.failed = append(list.failed, fmt.Errorf("%d more pods are not shown: select fewer with -n or --node", more))
	}
	return list, nil
}

// all walks through the pages of one agent.
func all(ctx context.Context, c client.Client, filter client.Filter) ([]export.Record, error) {
	var records []export.Record
	for record, err := range c.Pods(ctx, filter) {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// podName names one pod on the command line.
type podName struct{ namespace, name string }

// namedPod reads the name of a pod, for which the namespace may be known otherwise.
func namedPod(text, namespace string) (podName, error) {
	if !strings.Contains(text, "/") && namespace != "" {
		text = namespace + "/" + text
	}
	var pod podName
	err := pod.set(text)
	return pod, err
}

func (p *podName) set(value string) error {
	namespace, name, ok := strings.Cut(value, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return fmt.Errorf("invalid pod %q: must be NAMESPACE/POD", value)
	}
	*p = podName{namespace, name}
	return nil
}
