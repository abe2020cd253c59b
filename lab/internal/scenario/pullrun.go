package scenario

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// pullRun is one run of a scenario about pulls, of which several agents tell, each of which sees something else.
type pullRun struct {
	bench     *bench.Bench
	witness   *bench.PullWitness
	judges    []*pullJudge // the first is that of the node's own agent
	startedAt time.Time    // the last of the agents
}

// pullJudge compares what one agent tells of pulls with the truth.
type pullJudge struct {
	bench   *bench.Bench
	witness *bench.PullWitness
	agent   bench.Observer
	view    view

	mu      sync.Mutex
	verdict *Verdict
	going   []goingOn // when which image was really pulled
	unseen  []unseen
}

// watchPulls has the node's own agent, which sees everything, joined by one without Events and one without the container runtime.
// End it with tell.
func watchPulls(ctx context.Context, b *bench.Bench) (*pullRun, error) {
	witness, err := b.WitnessPulls()
	if err != nil {
		return nil, err
	}
	p := &pullRun{bench: b, witness: witness}
	p.watchedBy(b.Observer, view{events: true, runtime: true})
	neighbors := []view{{runtime: true}, {events: true}}
	var flags [][]string
	for extra, s := range neighbors {
		flags = append(flags, s.flags())
		p.watchedBy(b.Beside(extra), s)
	}
	if err := b.Node.StartBeside(ctx, flags...); err != nil {
		return nil, err
	}
	p.startedAt = time.Now()
	return p, nil
}

func (p *pullRun) watchedBy(o bench.Observer, s view) {
	p.judges = append(p.judges, &pullJudge{bench: p.bench, witness: p.witness, agent: o, view: s, verdict: &Verdict{}})
}

// settle waits until all agents have settled.
func (p *pullRun) settle(ctx context.Context) error { return settle(ctx, time.Since(p.startedAt)) }

// tell adds what was found about each agent, and ends those that joined. Of the node's own agent's records others judge.
func (p *pullRun) report(v *Verdict) error {
	for i, j := range p.judges {
		if i > 0 {
			if err := judgeRecords(j.agent, j.verdict); err != nil {
				return err
			}
		}
		v.Include(j.view.String(), j.verdict)
	}
	return p.bench.Node.StopExtraAgents()
}

// settled is what the agent told of a pod once it had started.
func (j *pullJudge) settled(ctx context.Context, pod string) (agent.Timeline, error) {
	timeline, err := j.agent.AwaitSettled(ctx, pod)
	if err != nil {
		return timeline, fmt.Errorf("%s: %w", j.view, err)
	}
	return timeline, j.keep(timeline)
}

// keep is for who looks for the reason of a disagreement.
func (j *pullJudge) keep(timeline agent.Timeline) error {
	return keepAs(j.bench, timeline.Name+j.view.suffix(), timeline)
}

func (j *pullJudge) wasPulled(g goingOn) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.going = append(j.going, g)
}
