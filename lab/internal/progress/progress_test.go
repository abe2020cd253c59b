package progress

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestWaitReportsLastError(t *testing.T) {
	var out bytes.Buffer
	err := New(&out).Wait(t.Context(), "the moon", 20*time.Millisecond, time.Millisecond,
		func(context.Context) error { return errors.New("still below the horizon") })
	if err == nil || !strings.Contains(err.Error(), "the moon") || !strings.Contains(err.Error(), "horizon") {
		t.Errorf("error %v", err)
	}
}

func TestWaitStopsAtHopelessError(t *testing.T) {
	calls := 0
	died := errors.New("it died")
	err := New(&bytes.Buffer{}).Wait(t.Context(), "it", time.Minute, time.Millisecond,
		func(context.Context) error { calls++; return Permanent(died) })
	if calls != 1 || !errors.Is(err, died) {
		t.Errorf("%d calls, error %v", calls, err)
	}
}

func TestWaitSucceeds(t *testing.T) {
	calls := 0
	err := New(&bytes.Buffer{}).Wait(t.Context(), "it", time.Minute, time.Millisecond, func(context.Context) error {
		if calls++; calls < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if calls != 3 || err != nil {
		t.Errorf("%d calls, error %v", calls, err)
	}
}
