package recording

import (
	"errors"
	"io"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// replayed is one pod of a recording.
type replayed struct {
	evidence *timeline.Evidence // evidence of the start-up; nil after the start-up is settled
	settled  timeline.Timeline
	again    bool // true if an earlier pod object belongs to the same start-up of a static pod

	termination *timeline.TerminationEvidence // evidence of the termination; nil until a client requests the deletion
}

// node contains the facts that all pods of a node share.
type node struct {
	clocks   timeline.Clocks
	pulls    timeline.PullLog
	silences timeline.SilenceLog
	pressure timeline.PressureLog
	clockLog timeline.ClockLog
	// restored is true if a change of the clock comes before all pods. A restarted agent first records the changes of
	// the clock from its state file, even if some other observations in the state file are older than these changes.
	restored bool
}

func (n *node) observe(o timeline.Observation) {
	n.clocks.Observe(o)
	n.silences.Observe(o)
	if response, ok := o.(timeline.RuntimeSeen); ok {
		n.pulls.ObserveRuntime(response)
	}
	n.pressure.Observe(o)
}

func (n *node) complete(t *timeline.Timeline) {
	n.pulls.Complete(t)
	n.silences.Complete(t)
	n.pressure.Complete(t)
}

// Replay computes a timeline for each pod of a recording, as package reconcile does in the agent. For each UID, Replay
// keeps one Evidence from the first pod object until Evidence.Settled returns true or the pod is gone. If the header
// states that the agent followed terminations, Replay also keeps one TerminationEvidence for each UID. Replay does not
// use the real time. Among the pods' observations so far, the latest arrival time counts as the current time. If a
// start-up is not settled at the end of the recording, its timeline ends at the latest arrival time. Replay sorts the
// timelines with timeline.Sorted.
//
// If the agent restarted during the recording, Replay also uses the observations from before the restart. After a read
// error, Replay also returns the timelines that it has computed from the observations before the error. The error wraps
// ErrTruncated if only the end of the recording is missing.
func Replay(r *Reader) ([]timeline.Timeline, error) {
	pods, started := map[string]*replayed{}, map[string]bool{}
	var node node
	var now time.Time
	for {
		o, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return timelines(pods, now, &node), err
		}
		if concernsNoPod(o) {
			node.observe(o)
			if set, ok := o.(timeline.ClockSet); ok && node.clockLog.Observe(set) {
				now = set.ArrivedAt
				node.observeClockSet(set, pods)
			}
			continue
		}
		if at := o.Arrived(); at.After(now) {
			now = at // several sources write concurrently, so arrival times can be out of order
		}
		node.observe(o)
		p := pods[o.PodUID()]
		if p == nil {
			first, seen := o.(timeline.PodSeen)
			if !seen {
				continue // the recording does not contain this pod's object yet
			}
			id := first.Pod.StartUpID()
			scope := r.Header().Scope
			if len(pods) == 0 {
				node.pulls.MissesPullsBefore(scope.Since)
			}
			p = &replayed{evidence: timeline.NewEvidence(scope), again: started[id]}
			node.clockLog.ApplyTo(p.evidence, node.asFirst(first))
			pods[o.PodUID()], started[id] = p, true
		}
		if event, ok := o.(timeline.EventSeen); ok && p.evidence != nil {
			node.pulls.Observe(event, p.evidence.Pod())
		}
		if r.Header().Terminations {
			p.follow(o, &node)
		}
		p.observe(o, now, &node)
	}
}

// observeClockSet applies a change of the node's clock to the evidence of all pods.
func (n *node) observeClockSet(set timeline.ClockSet, pods map[string]*replayed) {
	n.restored = n.restored || len(pods) == 0
	n.pulls.ObserveClockSet(set)
	for _, p := range pods {
		if p.evidence != nil {
			p.evidence.Apply(set)
		}
		if p.termination != nil {
			p.termination.Apply(set)
		}
	}
}

// asFirst prepares the first observation of a pod for ClockLog.ApplyTo: if n.restored is true, asFirst sets the field
// Live to false.
func (n *node) asFirst(o timeline.PodSeen) timeline.PodSeen {
	o.Live = o.Live && !n.restored
	return o
}

// follow applies an observation to the evidence of the pod's termination.
func (p *replayed) follow(o timeline.Observation, node *node) {
	if p.termination != nil {
		p.termination.Apply(o)
	} else if p.termination = timeline.NewTerminationEvidence(o); p.termination != nil {
		node.clockLog.ApplyTo(p.termination, node.asFirst(o.(timeline.PodSeen)))
	}
}

func (p *replayed) observe(o timeline.Observation, now time.Time, node *node) {
	p.settle(now, node) // the wait for evidence can end before this observation arrives
	if p.evidence == nil {
		return
	}
	p.evidence.Apply(o)
	if _, gone := o.(timeline.PodGone); gone {
		p.end(now, node)
		return
	}
	p.settle(now, node)
}

func (p *replayed) settle(now time.Time, node *node) {
	if p.evidence != nil && p.evidence.Settled(now) {
		p.end(now, node)
	}
}

func (p *replayed) end(now time.Time, node *node) {
	p.settled, _ = p.evidence.Timeline(now, node.clocks.Skew())
	node.complete(&p.settled)
	node.pulls.Settle(p.settled)
	p.evidence = nil
}

func timelines(pods map[string]*replayed, now time.Time, node *node) []timeline.Timeline {
	all := make([]timeline.Timeline, 0, len(pods))
	for _, p := range pods {
		t := p.settled
		if p.evidence != nil {
			t, _ = p.evidence.Timeline(now, node.clocks.Skew())
			t.Partial = true
			node.complete(&t)
		} else {
			node.pulls.Complete(&t)
		}
		t.Reconstructed = t.Reconstructed || p.again
		if p.termination != nil {
			t.Termination = new(p.termination.Termination(now, node.clocks.Skew()))
		}
		all = append(all, t)
	}
	return timeline.Sorted(all)
}
