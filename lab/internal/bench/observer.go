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

// Observer reads the reports of one agent about the bench's pods. The reports are the responses of the agent's API and
// the records that the agent prints.
type Observer struct {
	Agent agent.Client

	namespace string
	report    *progress.Reporter
	output    func() (agent.Output, error)
}

// resident returns the Observer of the node's own agent.
func resident(n node.Node, namespace string) Observer {
	return Observer{Agent: agent.Client{Server: "http://" + layout.Address(layout.AgentPort)},
		namespace: namespace, report: n.Report, output: n.AgentOutput}
}

// ExtraAgent returns the Observer of an extra agent. Extra agents run in addition to the node's own agent, and are
// numbered from 0.
func (b *Bench) ExtraAgent(extra int) Observer {
	return Observer{Agent: b.Node.Extra(extra), namespace: b.Namespace, report: b.Node.Report,
		output: func() (agent.Output, error) { return agent.Output{File: b.Node.ExtraRecords(extra)}, nil }}
}

// AwaitSettled waits until the agent has reported a pod's start-up, and returns the report. After a pod becomes ready,
// the agent waits up to 15 s for late Events and then reports the start-up. Therefore, if the pod is already ready,
// AwaitSettled takes at most 15 s.
func (o Observer) AwaitSettled(ctx context.Context, name string) (agent.Timeline, error) {
	return awaitPrinted(ctx, o, "the agent to report pod "+name,
		func(r agent.Records) []agent.Timeline { return r.Timelines },
		func(t agent.Timeline) bool { return t.Name == name })
}

// AwaitTermination waits until the agent has reported the termination of a pod, and returns the report.
func (o Observer) AwaitTermination(ctx context.Context, name string) (agent.TerminationRecord, error) {
	return awaitPrinted(ctx, o, "the agent to report the termination of pod "+name,
		func(r agent.Records) []agent.TerminationRecord { return r.Terminations },
		func(e agent.TerminationRecord) bool { return e.Name == name })
}

// awaitPrinted waits for the first record that matches the condition.
func awaitPrinted[R any](ctx context.Context, o Observer, what string, of func(agent.Records) []R,
	is func(R) bool) (found R, err error) {
	err = o.report.Wait(ctx, what, 45*time.Second, 100*time.Millisecond, func(context.Context) error {
		records, err := o.Records()
		if err != nil {
			return err
		}
		all := of(records)
		i := slices.IndexFunc(all, is)
		if i < 0 {
			return errors.New("the agent has not printed the expected record yet")
		}
		found = all[i]
		return nil
	})
	return found, err
}

// Records returns all records that the agent has printed about the bench's pods, including records from before a
// restart of the agent.
func (o Observer) Records() (agent.Records, error) {
	output, err := o.output()
	if err != nil {
		return agent.Records{}, err
	}
	return agent.ReadRecords(output, o.namespace)
}
