package scenario

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// agentsUsage contains the resource usage of all agents of a run. The fields "cpu", "requests" and "podBytes" are sums
// over the agents. The fields "bareWatch" and "floor" describe two other clients, for comparison with the agents.
type agentsUsage struct {
	cpu       time.Duration
	memory    int64         // largest resident memory of an agent at the end of the run, in bytes
	requests  float64       // number of requests to the API server
	podBytes  float64       // number of bytes that pod watches received
	bareWatch float64       // number of bytes that a pod watch without an agent received
	floor     time.Duration // CPU time of a client-go reflector that follows the same pods
}

func (u agentsUsage) minus(before agentsUsage) agentsUsage {
	return agentsUsage{u.cpu - before.cpu, u.memory, u.requests - before.requests, u.podBytes - before.podBytes,
		u.bareWatch - before.bareWatch, u.floor - before.floor}
}

func (u agentsUsage) plus(other agentsUsage) agentsUsage {
	return agentsUsage{u.cpu + other.cpu, max(u.memory, other.memory), u.requests + other.requests,
		u.podBytes + other.podBytes, u.bareWatch + other.bareWatch, u.floor + other.floor}
}

func (c *costRun) agentsUsage(ctx context.Context) (u agentsUsage, err error) {
	for extra := range c.kind.agents {
		text, err := c.bench.Node.Extra(extra).Metrics(ctx)
		if err != nil {
			return u, err
		}
		requests, err := metrics.Sum(text, "podlapse_apiserver_requests_total")
		if err != nil {
			return u, err
		}
		bytes, err := metrics.Sum(text, "podlapse_apiserver_received_bytes_total", `resource="pods"`, `verb="watch"`)
		if err != nil {
			return u, err
		}
		used, err := c.bench.Node.ExtraUsage(extra)
		if err != nil {
			return u, err
		}
		u = u.plus(agentsUsage{cpu: used.CPU, memory: used.Memory, requests: requests, podBytes: bytes})
	}
	u.bareWatch = float64(c.bareWatch.Load())
	floor, err := c.bench.Node.FloorUsage()
	u.floor = floor.CPU
	return u, err
}

// countWatches adds up the Event watches of all agents.
func (c *costRun) countWatches(ctx context.Context) (all watchCounts, err error) {
	for extra := range c.kind.agents {
		one, err := countWatches(ctx, c.bench, c.bench.Node.Extra(extra))
		if err != nil {
			return watchCounts{}, err
		}
		one.opened, one.agentOpen, one.openSeconds = one.opened+all.opened, one.agentOpen+all.agentOpen,
			one.openSeconds+all.openSeconds
		one.received, one.itUsed = one.received+all.received, one.itUsed+all.itUsed
		all = one
	}
	return all, nil
}

// judgeAgents checks the requests that the agents sent, and the watches that they opened, while pods started on their
// node. The parameter "events" is the number of Events about these pods, except the Events Created and Started.
func (c *costRun) judgeAgents(u agentsUsage, w watchCounts, events int) error {
	v, kind := c.verdict, c.kind
	pods := float64(kind.pairs * kind.pods * kind.agents)
	agentCPU, floorCPU := milliseconds(u.cpu)/pods, milliseconds(u.floor)/float64(kind.pairs*kind.pods)
	v.Note("%s: an agent used %.2f ms of CPU per start, and a bare client-go reflector %.2f ms, so the agent used "+
		"%.1f times as much", kind.name(), agentCPU, floorCPU, agentCPU/floorCPU)
	v.Note("%s: an agent used at most %d MiB; %d agents opened %v Event watches (the API server counts %v) for "+
		"%.1f s, and sent %v requests in total; each agent received %v of %d Events; all agents together used %v",
		kind.name(), u.memory>>20, kind.agents, w.opened, w.openedWatches(), w.openSeconds, u.requests,
		w.received/float64(kind.agents), events, w.itUsed)
	if kind.cold {
		v.Compared += 2
		if w.received > 2*w.itUsed {
			v.Problem("%s: the agents received %v Events and used %v, want at most two received Events for each used "+
				"Event", kind.name(), w.received, w.itUsed)
		}
		if w.received < float64(events*kind.agents) {
			v.Problem("%s: %d Events other than Created and Started were created, and %d agents received %v Events in "+
				"total, want every such Event at every agent", kind.name(), events, kind.agents, w.received)
		}
		return nil
	}
	v.Compared += 3
	if w.openedWatches() > 0 {
		v.Problem("%s: the API server served %v Event watches for pods whose images are present, want 0", kind.name(),
			w.openedWatches())
	}
	if u.requests > 0 {
		v.Problem("%s: the agent sent %v requests while pods started, want only its pod watch", kind.name(),
			u.requests)
	}
	const bookmarks = 0.01 // allowed relative difference; one watch can receive more bookmarks than the other
	if one := u.podBytes / float64(kind.agents); one == 0 || math.Abs(one-u.bareWatch) > bookmarks*one {
		v.Problem("%s: the agent's pod watch received %.0f bytes and the bare pod watch %.0f, want the same number",
			kind.name(), one, u.bareWatch)
	}
	return nil
}

// judgeReported requires that each agent reported the start-up of every started pod.
func (c *costRun) judgeReported(ctx context.Context, started []synthetic.Started) error {
	for extra := range c.kind.agents {
		reported, err := c.awaitRecords(ctx, extra, started)
		if err != nil {
			c.verdict.Problem("%v", err)
		}
		for _, s := range started {
			before := len(c.verdict.Problems)
			if c.judgePod(s, reported); len(c.verdict.Problems) > before && reported[s.Name].Raw != nil {
				if err := saveTimeline(c.bench, reported[s.Name]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// awaitRecords waits until an agent has recorded the start-ups of all started pods. If an agent lacks Events about a
// pod, the agent delays the record by at most 15 s.
func (c *costRun) awaitRecords(ctx context.Context, extra int,
	started []synthetic.Started) (reported map[string]agent.Timeline, err error) {
	err = c.bench.Node.Report.Wait(ctx, "the records of "+c.namespace, 40*time.Second, 500*time.Millisecond,
		func(context.Context) error {
			records, err := agent.ReadRecords(agent.Output{File: c.bench.Node.ExtraRecords(extra)}, c.namespace)
			if err != nil {
				return err
			}
			reported = make(map[string]agent.Timeline)
			for _, timeline := range records.Timelines {
				reported[timeline.Name] = timeline
			}
			missing := 0
			for _, s := range started {
				if _, there := reported[s.Name]; !there {
					missing++
				}
			}
			if missing > 0 {
				return fmt.Errorf("the agent has not reported %d of %d pods yet", missing, len(started))
			}
			return nil
		})
	return reported, err
}

// judgePod checks what an agent reported about the images of a pod. For each container, the agent must report whether
// the node pulled the image. If the node pulled the image, the agent must also report the correct duration of the pull.
// For the duration, the agent needs all Events about the pull. The agent must not report lost Events.
func (c *costRun) judgePod(s synthetic.Started, reported map[string]agent.Timeline) {
	v := c.verdict
	v.Compared++
	timeline, there := reported[s.Name]
	if !there {
		return // the caller has already reported the missing pod
	}
	want := agent.Downloaded
	if s.Pulls == nil {
		want = agent.Present
	}
	for i := range costContainers {
		container := fmt.Sprintf("c%d", i+1)
		pull, there := timeline.PullOf(container)
		if !there || pull.Outcome != want {
			v.Problem("%s %s: want pull outcome %s, but the agent reports %q", s.Name, container, want, pull.Outcome)
			continue
		}
		if s.Pulls == nil {
			continue
		}
		length, err := agent.Nanoseconds(pull.PullSeconds)
		if off := length - s.Pulls[i]; err != nil || off.Abs() > exact {
			v.Problem("%s %s: want a pull of %s s, but the agent reports %q s", s.Name, container,
				seconds(s.Pulls[i]),
				pull.PullSeconds)
		}
	}
	if len(timeline.LostEvents) > 0 {
		v.Problem("%s: no Event was lost, but the agent reports the lost Events %q", s.Name, timeline.LostEvents)
	}
}
