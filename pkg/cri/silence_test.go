package cri_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// nextSilence waits for the observation of a silence of the runtime.
func (h *harness) nextSilence() timeline.RuntimeSilent {
	h.t.Helper()
	select {
	case silent := <-h.silences:
		return silent
	case <-time.After(patience):
		h.t.Fatal("no silence was observed")
	}
	return timeline.RuntimeSilent{}
}

func TestSilences(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, critest.Options{})
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(true, "containerd")
	h.source.Watch(true)

	// The runtime responds slowly.
	began := time.Now()
	fake.Fault(func(ctx context.Context, _ string) error {
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return nil
	})
	late := h.nextSilence()
	fake.Fault(nil)
	if late.From.After(began.Add(time.Second)) || late.Until.Sub(late.From) < time.Second ||
		late.ArrivedAt != late.Until {
		t.Errorf("a call took a second from %s on, but the silence is from %s until %s", began, late.From, late.Until)
	}

	// The runtime restarts.
	fake.Stop()
	stopped := time.Now()
	h.awaitReport(false, "")
	fake = critest.Start(t, path, critest.Options{})
	restarted := time.Now()
	gone := h.nextSilence()
	if gone.From.After(stopped) || gone.Until.Before(restarted) {
		t.Errorf("stopped from %s until %s, but the silence is from %s until %s", stopped, restarted, gone.From,
			gone.Until)
	}

	// The source does not report silences while no pod starts.
	h.source.Watch(false)
	fake.Stop()
	h.source.Request(timeline.RuntimeRequest{UID: "u", RuntimeUID: "u"}) // the source detects the stop by this request
	h.awaitReport(false, "")
	critest.Start(t, path, critest.Options{})
	h.awaitReport(true, "containerd")
	select {
	case silent := <-h.silences:
		t.Errorf("silent from %s until %s although no pod starts", silent.From, silent.Until)
	default:
	}
}
