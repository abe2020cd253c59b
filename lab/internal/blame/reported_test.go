package blame

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

func TestReadShortensPhasesInProgress(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	phase := func(length time.Duration, open bool) agent.Phase {
		return agent.Phase{Phase: "readiness_probe", Cause: "app", StartAt: from, EndAt: from.Add(length), Error: "0",
			Open: open}
	}
	reported, err := Read(agent.Timeline{
		Phases: []agent.Phase{phase(3*time.Second, true), phase(3*time.Second, false), phase(time.Second/2, true)}})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []time.Duration{2 * time.Second, 3 * time.Second, 0} {
		if got := reported[i].Length(); got != want {
			t.Errorf("phase %d has length %s, want %s", i, got, want)
		}
	}
}
