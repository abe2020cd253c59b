package eventwatch

import (
	"context"
	"testing"
	"time"

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
		Observe: h.observe, Report: h.Report, Now: h.Clock.Now,
	})
	h.Run(events.Run)
	return events
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
