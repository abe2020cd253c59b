package bench

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/progress"
)

// Observer is an agent that watches the bench's pods: it can be asked, and has printed records about them.
type Observer struct {
	Agent agent.Client

	namespace string
	report    *progress.Reporter
	output    func() (agent.Output, error)
}

// resident is the node's own agent.
func resident(n node.Node, namespace string) Observer {
	return Observer{Agent: agent.Client{Server: "http://" + layout.Address(layout.AgentPort)},
		namespace: namespace, report: n.Report, output: n.AgentOutput}
}

// Beside is one of the agents that run beside the node's own, counted from 0.
func (b *Bench) Beside(extra int) Observer {
	return Observer{Agent: b.Node.Extra(extra), namespace: b.Namespace, report: b.Node.Report,
		output: func() (agent.Output, error) { return agent.Output{File: b.Node.ExtraRecords(extra)}, nil }}
}

// AwaitSettled waits until the agent has reported a pod's start-up and returns what it reported. The pod is
// ready, so the agent has seen all there is, but for Events that are late or lost: it waits 15 s for those.
func (o Observer) AwaitSettled(ctx context.Context, name string) (agent.Timeline, error) {
	return awaitPrinted(ctx, o, "the agent to report pod "+name, func(r agent.Records) []agent.Timeline { return r.Timelines },
		func(t agent.Timeline) bool { return t.Name == name })
}

// AwaitEnd waits until the agent has reported the end of a pod and returns what it reported.
func (o Observer) AwaitEnd(ctx context.Context, name string) (agent.End, error) {
	return awaitPrinted(ctx, o, "the agent to report the end of pod "+name, func(r agent.Records) []agent.End { return r.Ends },
		func(e agent.End) bool { return e.Name == name })
}

// awaitPrinted waits for the first record of a kind that is the one.
func awaitPrinted[R any](ctx context.Context, o Observer, what string, of func(agent.Records) []R, is func(R) bool) (found R, err error) {
	err = o.report.Wait(ctx, what, 45*time.Second, 100*time.Millisecond, func(context.Context) error {
		records, err := o.Records()
		if err != nil {
			return err
		}
		all := of(records)
		i := slices.IndexFunc(all, is)
		if i < 0 {
			return errors.New("it has not printed that")
		}
		found = all[i]
		return nil
	})
	return found, err
}

// Records are what the agent so far printed about the bench's pods, before and after restarts.
func (o Observer) Records() (agent.Records, error) {
	output, err := o.output()
	if err != nil {
		return agent.Records{}, err
	}
	return agent.ReadRecords(output, o.namespace)
}
