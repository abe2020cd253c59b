package record

import (
	"errors"
	"io"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// replayed is one pod of a recording.
type replayed struct {
	evidence *timeline.Evidence // nil once settled
	settled  timeline.Timeline
	again    bool // a static pod's start-up that another mirror has told of
}

// Replay folds a recording as package reconcile does: one evidence for each UID, from the first sight
// of its pod until its start-up is settled; the clock is the latest arrival so far. Pods that do not
// settle are folded as of the latest arrival in the recording. Timelines come in timeline.Sorted's order.
//
// An agent that started anew goes on with the evidence of the one before. A read error returns what
// was folded so far as well; it wraps ErrTruncated when only the end is missing.
func Replay(r *Reader) ([]timeline.Timeline, error) {
	pods, started := map[string]*replayed{}, map[string]bool{}
	var clocks timeline.Clocks
	var pulls timeline.PullLog
	var now time.Time
	for {
		o, err := r.Next()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return timelines(pods, now, clocks.Skew(), &pulls), err
		}
		if _, ofClock := o.(timeline.ClockSeen); ofClock {
			clocks.Observe(o)
			continue
		}
		if at := arrivedAt(o); at.After(now) {
			now = at // sources are recorded as they come, so that their arrivals may cross
		}
		clocks.Observe(o)
		p := pods[o.PodUID()]
		if p == nil {
			first, seen := o.(timeline.PodSeen)
			if !seen {
				continue // an answer about a pod that has left
			}
			id := first.Pod.StartUpID()
			p = &replayed{evidence: timeline.NewEvidence(r.Header().Scope), again: started[id]}
			pods[o.PodUID()], started[id] = p, true
		}
		if event, ok := o.(timeline.EventSeen); ok && p.evidence != nil {
			pulls.Observe(event, p.evidence.Pod())
		}
		p.observe(o, now, clocks.Skew(), &pulls)
	}
}

func (p *replayed) observe(o timeline.Observation, now time.Time, skew timeline.Skew, pulls *timeline.PullLog) {
	p.settle(now, skew, pulls) // as time alone does: what comes after is too late
	if p.evidence == nil {
		return
	}
	p.evidence.Apply(o)
	if _, gone := o.(timeline.PodGone); gone {
		p.end(now, skew, pulls)
		return
	}
	p.settle(now, skew, pulls)
}

func (p *replayed) settle(now time.Time, skew timeline.Skew, pulls *timeline.PullLog) {
	if p.evidence != nil && p.evidence.Settled(now) {
		p.end(now, skew, pulls)
	}
}

func (p *replayed) end(now time.Time, skew timeline.Skew, pulls *timeline.PullLog) {
	p.settled, _ = p.evidence.Timeline(now, skew)
	pulls.Complete(&p.settled)
	pulls.Settle(p.settled)
	p.evidence = nil
}

func timelines(pods map[string]*replayed, now time.Time, skew timeline.Skew, pulls *timeline.PullLog) []timeline.Timeline {
	all := make([]timeline.Timeline, 0, len(pods))
	for _, p := range pods {
		t := p.settled
		if p.evidence != nil {
			t, _ = p.evidence.Timeline(now, skew)
			t.Partial = true
		}
		t.Reconstructed = t.Reconstructed || p.again
		pulls.Complete(&t)
		all = append(all, t)
	}
	return timeline.Sorted(all)
}
