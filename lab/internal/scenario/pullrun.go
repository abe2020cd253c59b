package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// pullRun is one run of a scenario about pulls. Several agents with different sources observe the same pulls.
type pullRun struct {
	bench     *bench.Bench
	collector *bench.PullCollector
	judges    []*pullJudge // one element for each agent; the first element is for the node's own agent
	startedAt time.Time    // time when the last agent started
	waits     waitSamplers
}

// pullJudge compares an agent's reports about pulls with the truth.
type pullJudge struct {
	bench     *bench.Bench
	collector *bench.PullCollector
	agent     bench.Observer
	stack     stack.Stack
	sources   agentSources
	waits     waitSamplers

	mu      sync.Mutex
	verdict *Verdict
	going   []realPull // the true pulls; this data does not come from the agent
	unseen  []unseenPull
}

// watchPulls starts two additional agents. The first additional agent receives no Events. The second additional agent
// has no access to the container runtime. The node's own agent has all sources. checkAgents stops the additional
// agents.
func watchPulls(ctx context.Context, b *bench.Bench) (*pullRun, error) {
	collector, err := b.CollectPulls()
	if err != nil {
		return nil, err
	}
	waits, err := sampleWaits()
	if err != nil {
		return nil, err
	}
	p := &pullRun{bench: b, collector: collector, waits: waits}
	p.watchedBy(b.Observer, agentSources{events: true, runtime: true})
	neighbors := []agentSources{{runtime: true}, {events: true}}
	var flags [][]string
	for extra, s := range neighbors {
		flags = append(flags, s.flags())
		p.watchedBy(b.ExtraAgent(extra), s)
	}
	if err := b.Node.StartExtraAgentsOnNode(ctx, flags...); err != nil {
		waits.stop()
		return nil, err
	}
	p.startedAt = time.Now()
	return p, nil
}

func (p *pullRun) watchedBy(o bench.Observer, s agentSources) {
	p.judges = append(p.judges, &pullJudge{bench: p.bench, collector: p.collector, agent: o, stack: p.bench.Node.Stack,
		sources: s, waits: p.waits, verdict: &Verdict{}})
}

// awaitAgents waits until all agents have run for five seconds.
func (p *pullRun) awaitAgents(ctx context.Context) error {
	return awaitAge(ctx, time.Since(p.startedAt))
}

// checkAgents checks the records of the additional agents and stops these agents. checkAgents also adds the results
// for each agent to the verdict. The function Play checks the records of the node's own agent.
func (p *pullRun) checkAgents(v *Verdict) error {
	p.waits.stop()
	for i, j := range p.judges {
		if i > 0 {
			if err := judgeRecords(j.agent, j.verdict); err != nil {
				return err
			}
		}
		v.Include(j.sources.String(), j.verdict)
	}
	return errors.Join(p.judgeSecrecy(v), p.bench.Node.StopExtraAgents())
}

// settledTimeline waits until the agent has reported a pod's start-up, and returns the timeline.
func (j *pullJudge) settledTimeline(ctx context.Context, pod string) (agent.Timeline, error) {
	timeline, err := j.agent.AwaitSettled(ctx, pod)
	if err != nil {
		return timeline, fmt.Errorf("%s: %w", j.sources, err)
	}
	return timeline, j.saveTimeline(timeline)
}

// saveTimeline writes a timeline to a file for developers.
func (j *pullJudge) saveTimeline(timeline agent.Timeline) error {
	return saveTimelineAs(j.bench, timeline.Name+j.sources.suffix(), timeline)
}

func (j *pullJudge) wasPulled(g realPull) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.going = append(j.going, g)
}
