package eventwatch

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nodeName = "node-a"

func at(second int) time.Time { return time.Date(2026, 8, 17, 12, 0, second, 0, time.UTC) }

// harness runs a source and collects what it says.
type harness struct {
	*kubeclienttest.Source
	t *testing.T
}

func newHarness(t *testing.T) *harness { return &harness{kubeclienttest.NewSource(t), t} }

func (h *harness) observe(ctx context.Context, o timeline.Observation) {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost:
		return // comes a second after each opening, and only if it lasted so long; the tests in a bubble look at it
	}
	h.Observe(ctx, o)
}

func (h *harness) runEvents(url string, limit int) *Source {
	events := New(Config{
		Client: clientFor(h.t, url), NodeName: nodeName, Limit: limit,
		Observe: h.observe, Report: h.Report, Now: h.Clock.Now, Registerer: prometheus.NewRegistry(),
	})
	h.Run(events.Run)
	return events
}

// stats is what the metrics of a source show.
type stats struct {
	Open, Waiting    int
	Opened, Received uint64
	OpenFor          time.Duration
	Refused          [3]uint64 // oversized, pod, host
}

func statsOf(s *Source) stats {
	count := func(c prometheus.Collector) uint64 { return uint64(testutil.ToFloat64(c)) }
	m := s.metrics
	return stats{
		Open: int(count(m.open)), Waiting: s.waiting(), Opened: count(m.opened), Received: count(m.received),
		OpenFor: s.openFor(),
		Refused: [3]uint64{count(m.refused.oversized), count(m.refused.pod), count(m.refused.host)},
	}
}

func (h *harness) nextEvent(reason string, live bool) timeline.EventSeen {
	h.t.Helper()
	o := h.Next()
	seen, ok := o.(timeline.EventSeen)
	if !ok || seen.Reason != reason || seen.Live != live {
		h.t.Fatalf("saw %+v, want event %s, live %t", o, reason, live)
	}
	return seen
}

func clientFor(t *testing.T, url string) rest.Interface {
	return kubeclienttest.Client(t, url, NewClient)
}
