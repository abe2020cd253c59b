package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// cluster creates the observations of a control plane whose clock is ahead of the node's clock.
type cluster struct {
	ahead  time.Duration
	now    time.Time // the time on the node's clock
	random *rand.Rand
	pods   int
}

func (c *cluster) stamp() time.Time { return c.now.Add(c.ahead).Truncate(time.Second) }

func (c *cluster) pass() { c.now = c.now.Add(time.Duration(c.random.Int64N(int64(7 * time.Second)))) }

func (c *cluster) response() ClockSeen {
	c.pass()
	sent, stamp := c.now, c.now.Add(2*time.Millisecond).Add(c.ahead).Truncate(time.Second)
	c.now = c.now.Add(5 * time.Millisecond)
	return ClockSeen{SentAt: sent, ArrivedAt: c.now, ControlPlaneAt: stamp}
}

func (c *cluster) bound() PodSeen {
	c.pass()
	c.pods++
	stamp := c.stamp()
	c.now = c.now.Add(10 * time.Millisecond)
	return PodSeen{ArrivedAt: c.now, Live: true, Pod: Pod{UID: fmt.Sprint("pod-", c.pods),
		Conditions: []Condition{{Type: "PodScheduled", True: true, TransitionAt: stamp}}}}
}

func (c *cluster) event() EventSeen {
	c.pass()
	c.pods++
	named := c.now
	c.now = c.now.Add(8 * time.Millisecond)
	o := EventSeen{UID: fmt.Sprint("pod-", c.pods), NamedAt: named, StoredAt: c.stamp(), Live: true}
	c.now = c.now.Add(8 * time.Millisecond)
	o.ArrivedAt = c.now
	return o
}

func TestSkewContainsTruthAndNarrows(t *testing.T) {
	for _, ahead := range []time.Duration{0, 300 * time.Millisecond, -300 * time.Millisecond, 3 * time.Second,
		-7500 * time.Millisecond, time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			c := &cluster{ahead, base, rand.New(rand.NewPCG(1, uint64(ahead))), 0}
			var clocks Clocks
			for i := range 20 {
				clocks.Observe(c.response())
				clocks.Observe(c.bound())
				clocks.Observe(c.event())
				s := clocks.Skew()
				if s.Known() && (s.Least > ahead || s.Most < ahead) {
					t.Fatalf("after %d rounds the skew is from %s to %s", i+1, s.Least, s.Most)
				}
			}
			if s := clocks.Skew(); !s.Known() || s.Most-s.Least > 500*time.Millisecond {
				t.Errorf("the skew is from %s to %s", s.Least, s.Most)
			}
		})
	}
}

func TestOneWrongPairDoesNotChangeSkew(t *testing.T) {
	for name, bad := range map[string]func(c *cluster) []Observation{
		"timestamps in the future": func(c *cluster) []Observation {
			o := c.bound()
			o.Pod.Conditions[0].TransitionAt = c.now.Add(time.Hour)
			return []Observation{o, o, o} // repeated observations must change nothing
		},
		"an Event in the past": func(c *cluster) []Observation {
			o := c.event()
			o.StoredAt = c.now.Add(-time.Hour)
			return []Observation{o, o}
		},
		"names of Events in the past and the future": func(c *cluster) []Observation {
			var forged []Observation
			for i := range 40 {
				o := c.event()
				o.NamedAt = o.ArrivedAt.Add(time.Duration(i-20) * time.Minute)
				forged = append(forged, o)
				late := c.event()
				late.Live, late.ArrivedAt = false, late.ArrivedAt.Add(time.Hour)
				late.NamedAt = late.ArrivedAt
				forged = append(forged, late)
			}
			return forged
		},
		"a response with another clock": func(c *cluster) []Observation {
			o := c.response()
			o.ControlPlaneAt = c.now.Add(time.Hour)
			return []Observation{o}
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cluster{0, base, rand.New(rand.NewPCG(2, 2)), 0}
			var clocks Clocks
			for range 5 {
				clocks.Observe(c.response())
				clocks.Observe(c.bound())
			}
			for _, o := range bad(c) {
				clocks.Observe(o)
			}
			if s := clocks.Skew(); !s.Known() || s.Least > 0 || s.Most < 0 {
				t.Errorf("the skew is from %s to %s", s.Least, s.Most)
			}
		})
	}
}

func TestSkewFollowsAClockThatIsSet(t *testing.T) {
	c := &cluster{0, base, rand.New(rand.NewPCG(3, 3)), 0}
	var clocks Clocks
	for range 40 {
		clocks.Observe(c.response())
	}
	c.ahead = -5 * time.Second
	for range 10 {
		clocks.Observe(c.response())
	}
	if s := clocks.Skew(); !s.Known() || s.Least > c.ahead || s.Most < c.ahead {
		t.Errorf("the skew is from %s to %s", s.Least, s.Most)
	}
}

// TestSkewNeedsBothBounds observes only pods. Pods give a lower bound of the skew, but no upper bound.
func TestSkewNeedsBothBounds(t *testing.T) {
	c := &cluster{time.Hour, base, rand.New(rand.NewPCG(4, 4)), 0}
	var clocks Clocks
	for range 40 {
		clocks.Observe(c.bound())
	}
	if s := clocks.Skew(); s.Known() {
		t.Errorf("the skew is from %s to %s", s.Least, s.Most)
	}
	if len(clocks.least) > maxLimits {
		t.Errorf("%d readings kept", len(clocks.least))
	}
}
