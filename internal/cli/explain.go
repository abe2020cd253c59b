package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

func runExplain(ctx context.Context, call Call) int {
	var c askConfig
	asking, rest, code, ok := begin(call, "explain [flags] [[NAMESPACE/]POD]\n\n"+
		"Shows where the start-up time of a pod went, also of a deleted pod that an agent still remembers.\n"+
		"Without POD, lists all pods, one per line.",
		c.table(), &c.target, 1)
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
		return call.FailUsage(err)
	}
	return asking.explainPod(ctx, c, pod)
}

func (a asking) explainPod(ctx context.Context, c askConfig, pod podName) int {
	record, failed, err := a.record(ctx, pod)
	if err != nil {
		return a.fail(err)
	}
	text, err := c.text(record, func() string { return render.Waterfall(record, c.page(a.Stdout, a.Getenv)) })
	if err != nil {
		return a.fail(err)
	}
	return a.print(text, failed)
}

// record queries the agent of the pod's node. If the node is no longer known, it queries all agents and also returns
// the errors of those that did not answer. It returns the latest of several start-ups.
func (a asking) record(ctx context.Context, pod podName) (api.Record, []error, error) {
	node := a.target.node
	if a.cluster != nil && node == "" {
		var err error
		if node, err = a.cluster.NodeOf(ctx, pod.namespace, pod.name); err != nil && !mayBeGone(err) {
			return api.Record{}, nil, err
		}
	}
	found, err := a.agents(ctx, node)
	if err != nil {
		return api.Record{}, nil, err
	}
	answers := agents.Each(ctx, found, agentLimit, func(ctx context.Context, c client.Client) (api.Record, error) {
		return c.Pod(ctx, pod.namespace, pod.name)
	})
	if len(answers) == 1 {
		return answers[0].Value, nil, ofNode(answers[0].Agent, answers[0].Err)
	}
	var latest api.Record
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
		return api.Record{}, nil, fmt.Errorf("%d agents asked: %d did not answer, and the others do not know pod "+
			"%s/%s: %w",
			len(answers), len(failed), pod.namespace, pod.name, failed[0])
	}
	return api.Record{}, nil, fmt.Errorf("%w %s/%s (%d agents asked): check the name; agents remember only the "+
		"latest deleted pods, and no pod deleted before their own start", errUnknownPod, pod.namespace, pod.name,
		len(answers))
}

// mayBeGone reports whether an error means that the pod does not exist, or that the query is not allowed. An agent may
// still know it.
func mayBeGone(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && (refused.Status == http.StatusNotFound || refused.Status == http.StatusForbidden)
}

// unknownToAgent reports whether an agent answered that it does not know the pod.
func unknownToAgent(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusNotFound && !refused.Kubernetes &&
		refused.Reason != ""
}

// maxListed is how many start-ups a list of all nodes has at most.
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
		return render.Summary(list.records, a.several(), c.page(a.Stdout, a.Getenv))
	})
}

// listed is the answers of several agents.
type listed struct {
	records []api.Record
	failed  []error
}

// list prints the start-ups that the agents know.
func (a asking) list(ctx context.Context, o output, filter client.Filter, table func(listed) string) int {
	list, err := a.ask(ctx, filter)
	if err != nil {
		return a.fail(err)
	}
	text, err := o.text(api.PodList{Items: list.records}, func() string { return table(list) })
	if err != nil {
		return a.fail(err)
	}
	return a.print(text, list.failed)
}

func (a asking) ask(ctx context.Context, filter client.Filter) (listed, error) {
	list := listed{records: []api.Record{}}
	answers, failed, err := ofAgents(ctx, a, func(ctx context.Context, c client.Client) ([]api.Record, error) {
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
		list.failed = append(list.failed,
			fmt.Errorf("%d more pods are not shown: select fewer with -n or --node", more))
	}
	return list, nil
}

// all reads all pages of the list of one agent.
func all(ctx context.Context, c client.Client, filter client.Filter) ([]api.Record, error) {
	var records []api.Record
	for record, err := range c.Pods(ctx, filter) {
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// podName is the name of a pod on the command line.
type podName struct{ namespace, name string }

// namedPod reads the name of a pod. The namespace, if not empty, is for names without one.
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
