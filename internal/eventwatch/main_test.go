package eventwatch

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const nodeName = "node-a"

func at(second int) time.Time { return time.Date(2026, 8, 17, 12, 0, second, 0, time.UTC) }

// harness runs a source and collects its observations.
type harness struct {
	*kubeclienttest.Source
	t *testing.T
}

func newHarness(t *testing.T) *harness { return &harness{kubeclienttest.NewSource(t), t} }

func (h *harness) observe(ctx context.Context, o timeline.Observation) {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost:
		return // these arrive one second after a watch opens; the tests in a bubble check them
	}
	h.Observe(ctx, o)
}

func (h *harness) runEvents(url string, limit int) *Source {
	events := New(Config{
		Client: clientFor(h.t, url), NodeName: nodeName, Limit: limit,
		Observe: h.observe, Report: h.Report, Now: h.Clock.Now, Registerer: prometheus.NewRegistry(),
	})
	events.jitter = 0
	h.Run(events.Run)
	return events
}

// stats are the values of a source's metrics.
type stats struct {
	Open, Waiting    int
	Opened, Received uint64
	OpenFor          time.Duration
	Refused          [3]uint64 // numbers of refused Events: oversized, pod, host
	Starts           [3]uint64 // numbers of started watches: revision, history, gap
	Samples, Expired uint64
	Unshared         uint64
	Unserved         uint64
}

// statsOf reads the metrics of a source.
func statsOf(s *Source) stats {
	families, err := s.config.Registerer.(*prometheus.Registry).Gather()
	if err != nil {
		panic(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := strings.TrimPrefix(family.GetName(), "podlapse_")
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	count := func(name string) uint64 { return uint64(values[name]) }
	return stats{
		Open: int(values["event_watches_open"]), Waiting: int(values["event_watch_waiting_pods"]),
		Opened: count("event_watches_opened_total"), Received: count("events_received_total"),
		OpenFor: time.Duration(values["event_watch_open_seconds_total"] * float64(time.Second)),
		Refused: [3]uint64{count("events_refused_total oversized"), count("events_refused_total pod"),
			count("events_refused_total host")},
		Starts: [3]uint64{count("event_watch_starts_total revision"), count("event_watch_starts_total history"),
			count("event_watch_starts_total gap")},
		Samples: count("event_revision_samples_total taken"), Expired: count("event_revisions_expired_total"),
		Unshared: count("event_watches_unshared_total"), Unserved: count("event_requests_unserved_total"),
	}
}

func (h *harness) nextEvent(reason string, live bool) timeline.EventSeen {
	h.t.Helper()
	o := h.Next()
	seen, ok := o.(timeline.EventSeen)
	if !ok || seen.Reason != reason || seen.Live != live {
		h.t.Fatalf("observed %+v, want event %s, live %t", o, reason, live)
	}
	return seen
}

func clientFor(t *testing.T, url string) rest.Interface {
	return kubeclienttest.Client(t, url, NewClient)
}
