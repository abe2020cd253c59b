package scenario

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// In this test, tasks waited for 90 % of four seconds. The agent must report this share for the phase.
func TestPressureVerdict(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	sampler := func(resource string) *pressureSampler {
		w := &pressureSampler{resource: resource, measured: true}
		for i := range 5 {
			w.at, w.stalled = append(w.at, at.Add(time.Duration(i)*time.Second)),
				append(w.stalled, time.Duration(i)*900*time.Millisecond)
		}
		return w
	}
	reported := func(phase, verdict string, p *agent.Pressure) agent.Timeline {
		return agent.Timeline{Verdict: verdict,
			Phases: []agent.Phase{{Phase: phase, StartAt: at, EndAt: at.Add(4 * time.Second), Pressure: p}}}
	}
	for name, test := range map[string]struct {
		resource string
		reported agent.Timeline
		problems int
	}{
		"correct": {"io", reported("unpack", "4.0 s unpacking while io pressure was 90 %",
			&agent.Pressure{IO: 0.9}), 0},
		"correct, for cpu": {"cpu", reported("unpack", "while cpu pressure was 90 %", &agent.Pressure{CPU: 0.9}),
			0},
		"other resource":       {"io", reported("unpack", "while cpu pressure was 90 %", &agent.Pressure{CPU: 0.9}), 2},
		"too little":           {"io", reported("unpack", "while io pressure was 70 %", &agent.Pressure{IO: 0.7}), 2},
		"none":                 {"io", reported("unpack", "4.0 s unpacking", nil), 2},
		"other phase":          {"io", reported("pull", "while io pressure was 90 %", &agent.Pressure{IO: 0.9}), 1},
		"not in the verdict":   {"io", reported("unpack", "4.0 s unpacking", &agent.Pressure{IO: 0.9}), 1},
		"no phase of a second": {"io", agent.Timeline{Verdict: "while io pressure was 90 %"}, 1},
	} {
		var v Verdict
		sampler(test.resource).judge(test.reported, &v, "unpack")
		if len(v.Problems) != test.problems || v.Compared == 0 {
			t.Errorf("%s: %q", name, v.Problems)
		}
	}
}

// In this test, tasks wait for 20 ms of each 100 ms from 1 s to 2 s. Before and after this second, no task waits.
func TestWaitsNearEndsOfPhase(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	after := at.Add
	w := &pressureSampler{resource: "cpu", measured: true}
	for i := range 40 {
		w.at = append(w.at, after(time.Duration(i)*100*time.Millisecond))
		w.stalled = append(w.stalled, time.Duration(min(max(i, 10), 20)-10)*20*time.Millisecond)
	}
	for name, test := range map[string]struct {
		from, to, want time.Duration
	}{
		"quiet":             {0, 800 * time.Millisecond, 0},
		"one end":           {0, 1500 * time.Millisecond, 60 * time.Millisecond},
		"both ends":         {1200 * time.Millisecond, 1800 * time.Millisecond, 120 * time.Millisecond},
		"short":             {1500 * time.Millisecond, 1510 * time.Millisecond, 60 * time.Millisecond},
		"busy in between":   {200 * time.Millisecond, 2500 * time.Millisecond, 0},
		"after the samples": {5 * time.Second, 6 * time.Second, 0},
	} {
		if got := (waitSamplers{w}).waitedNear(bench.Span{StartAt: after(test.from),
			EndAt: after(test.to)}); got != test.want {
			t.Errorf("%s: tasks waited %s, want %s", name, got, test.want)
		}
	}
	span := bench.Span{StartAt: after(1200 * time.Millisecond), EndAt: after(1800 * time.Millisecond)}
	if got := (waitSamplers{w, w}).waitedNear(span); got != longestWait {
		t.Errorf("two samplers: tasks waited %s, want %s", got, longestWait)
	}
	if got := (waitSamplers)(nil).waitedNear(span); got != 0 {
		t.Errorf("no sampler: tasks waited %s", got)
	}
}

func TestBusyDisk(t *testing.T) {
	dir := t.TempDir()
	rest, err := busyDisk(dir, 2)
	if err != nil && strings.Contains(err.Error(), "invalid argument") {
		t.Skip("this file system does not support direct reads")
	}
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * time.Millisecond)
	if err := rest(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("remaining files %v, %v", left, err)
	}
}
