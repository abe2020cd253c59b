package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// outage simulates the kubelet while the registry of a pod's only image does not respond. The simulation follows
// pod_workers.go, image_manager.go and tools/record: a sync reports the result of the previous sync, and then tries to
// pull the image if the back-off is over. After 25 Events, the client sends one Event every five minutes.
type outage struct {
	random  *rand.Rand
	now     time.Time
	attempt func() time.Duration // the duration of a failed pull
	// lateStatuses is true if the API server is busy, so that some statuses arrive late.
	lateStatuses bool
	errors       int // the number of different errors of the registry

	observations []Observation
	backoffs     [][2]time.Time // the true back-offs
	tokens       float64        // the number of Events that the client can send
	tokensAt     time.Time
	sent         map[string]EventSeen // by message
	reason       string               // the result of the previous sync, which the next sync reports
}

func (o *outage) between(least, most time.Duration) time.Duration {
	return least + time.Duration(o.random.Int64N(int64(most-least)+1))
}

func (o *outage) status() {
	c := Container{Name: "app", Kind: KindMain, Image: "cold", State: StateWaiting, WaitingReason: o.reason}
	if o.reason != "ContainerCreating" {
		c.PullFailure = imagepull.FailureConnectionRefused
	}
	delay := 300 * time.Millisecond
	if o.lateStatuses && o.random.IntN(10) == 0 {
		delay = 4 * time.Second
	}
	arrived := o.now.Add(o.between(time.Millisecond, delay))
	o.observations = append(o.observations, PodSeen{ArrivedAt: arrived, Live: true,
		Pod: Pod{UID: "u", CreatedAt: base, AcknowledgedAt: base, Containers: []Container{c}}})
}

// sendEvent sends an Event. The kubelet's client counts equal Events in one object, and also counts the Events that it
// drops (tools/record).
func (o *outage) sendEvent(reason, message string) {
	o.now = o.now.Add(time.Microsecond)
	event, known := o.sent[message]
	if !known {
		event = EventSeen{UID: "u", Container: "app", Reason: reason, Message: message, NamedAt: o.now,
			FirstAt: o.now.Truncate(time.Second), StoredAt: o.now.Truncate(time.Second)}
	}
	event.Count++
	event.ArrivedAt, event.Live, event.LastAt = o.now.Add(20*time.Millisecond), true, o.now.Truncate(time.Second)
	o.sent[message] = event
	o.tokens = min(spamLimit, o.tokens+float64(o.now.Sub(o.tokensAt))/float64(spamInterval))
	o.tokensAt = o.now
	if o.tokens >= 1 {
		o.tokens--
		o.observations = append(o.observations, event)
	}
}

// simulate simulates the kubelet until the instant "end". The kubelet restarts once if restartAt is not zero.
func (o *outage) simulate(end, restartAt time.Time) {
	failures, due, reported := 0, o.now, ""
	o.tokens, o.tokensAt = spamLimit, o.now
	o.reason = "ContainerCreating"
	for o.now.Before(end) {
		if !restartAt.IsZero() && o.now.After(restartAt) {
			restartAt, failures, due, o.reason = time.Time{}, 0, o.now, "ContainerCreating"
			clear(o.sent)
			o.tokens = spamLimit
		}
		if o.reason != reported {
			o.status()
			reported = o.reason
		}
		if o.now.Before(due) {
			o.sendEvent("BackOff", "Back-off pulling image \"cold\"")
			o.sendEvent("Failed", "Error: ImagePullBackOff")
			o.reason = imageBackOff
		} else {
			if n := len(o.backoffs); n > 0 {
				o.backoffs[n-1][1] = o.now
			}
			o.sendEvent("Pulling", "Pulling image \"cold\"")
			o.now = o.now.Add(o.attempt())
			failures++
			due = o.now.Add(imagepull.Backoff(failures))
			o.sendEvent("Failed", fmt.Sprintf("Failed to pull image \"cold\": error %d", o.random.IntN(o.errors)))
			o.sendEvent("Failed", "Error: ErrImagePull")
			o.reason = "ErrImagePull"
			o.backoffs = append(o.backoffs, [2]time.Time{o.now, end})
		}
		o.now = o.now.Add(o.between(10*time.Second, 15*time.Second))
	}
}

func (o *outage) trueBackoff(until time.Time) (total time.Duration) {
	for _, b := range o.backoffs {
		if b[0].Before(until) {
			to := b[1]
			if to.After(until) {
				to = until
			}
			total += to.Sub(b[0])
		}
	}
	return total
}

// TestOutageOfRegistry checks the timelines of a pod whose registry does not respond for up to an hour. The kubelet's
// client drops most Events of such a pod. At every instant, the true back-off must lie within the error bound, apart
// from the time that the timeline calls unattributed. If the pulls fail immediately, little time may be unattributed.
func TestOutageOfRegistry(t *testing.T) {
	const length = 50 * time.Minute
	for seed := range uint64(60) {
		o := &outage{random: rand.New(rand.NewPCG(seed, 1)), now: base.Add(50 * time.Millisecond),
			sent: map[string]EventSeen{}}
		o.lateStatuses = seed%5 == 0
		o.errors = 1 + int(seed%2)*3
		fast := seed%3 != 0
		o.attempt = func() time.Duration { return o.between(time.Millisecond, 20*time.Millisecond) }
		if !fast {
			slowest := o.between(time.Second, 2*time.Minute)
			o.attempt = func() time.Duration { return o.between(time.Millisecond, slowest) }
		}
		var restart time.Time
		if seed%4 == 3 {
			restart = base.Add(o.between(5*time.Minute, length)) // when the client already drops Events
		}
		o.simulate(base.Add(length), restart)
		slices.SortStableFunc(o.observations, func(a, b Observation) int {
			return observedAt(a).Compare(observedAt(b))
		})
		t.Run(fmt.Sprintf("seed %d, fast %t, restart %s", seed, fast, restart.Format(time.TimeOnly)),
			func(t *testing.T) { checkOutage(t, o, length, fast, restart) })
	}
}

func checkOutage(t *testing.T, o *outage, length time.Duration, fast bool, restart time.Time) {
	e := NewEvidence(Scope{Events: true})
	e.Apply(PodSeen{ArrivedAt: base, Live: true, Pod: Pod{UID: "u", CreatedAt: base,
		Containers: []Container{{Name: "app", Kind: KindMain, Image: "cold"}}}})
	e.Apply(EventsWatched{UID: "u", ArrivedAt: base, OpenedAt: base})
	next := 0
	for at := base.Add(time.Minute); at.Before(base.Add(length)); at = at.Add(o.between(time.Second, 40*time.Second)) {
		for ; next < len(o.observations) && observedAt(o.observations[next]).Before(at); next++ {
			e.Apply(o.observations[next])
		}
		tl, ok := e.Timeline(at, Skew{})
		if !ok {
			t.Fatal("no timeline")
		}
		var backoff, uncertain, unattributed time.Duration
		for _, s := range tl.Phases {
			switch s.Phase {
			case PhaseImageBackoff:
				backoff, uncertain = backoff+s.Duration(), uncertain+s.Error
			case PhaseUnattributed:
				unattributed, uncertain = unattributed+s.Duration(), uncertain+s.Error
			}
		}
		truth := o.trueBackoff(at)
		if backoff-uncertain > truth || truth > backoff+uncertain+unattributed {
			t.Errorf("at %s: back-off %s ±%s, unattributed %s, truth %s%s", at.Sub(base), backoff, uncertain,
				unattributed, truth, spansText(tl))
			return
		}
		if fast && !o.lateStatuses && restart.IsZero() && unattributed > truth/10 {
			t.Errorf("at %s: %s of %s unattributed%s", at.Sub(base), unattributed, truth, spansText(tl))
			return
		}
	}
}

func spansText(tl Timeline) (text string) {
	for _, s := range tl.Phases {
		text += fmt.Sprintf("\n%s %s-%s ±%s %d %s", s.Phase, s.StartAt.Sub(base), s.EndAt.Sub(base), s.Error,
			s.Attempt, s.MergedWith)
	}
	return text
}

func observedAt(o Observation) time.Time {
	switch o := o.(type) {
	case PodSeen:
		return o.ArrivedAt
	case EventSeen:
		return o.ArrivedAt
	}
	return time.Time{}
}
