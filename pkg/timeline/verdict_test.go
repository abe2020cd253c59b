package timeline

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

var pullOfApp = []Pull{{Container: "app", Registry: "ghcr.io"}}

// pullOf returns a pull with a download rate of 1 MiB per second.
func pullOf(container, registry string, took time.Duration) Pull {
	return Pull{Container: container, Image: registry + "/" + container, Registry: registry, StartedAt: base,
		DownloadedAt: base.Add(took), Layers: []Layer{{Digest: container, SizeBytes: int64(took.Seconds()) << 20}}}
}

func TestVerdict(t *testing.T) {
	at := base
	span := func(p Phase, container string, d time.Duration) Span {
		at = at.Add(d)
		return Span{Phase: p, Container: container, StartAt: at.Add(-d), EndAt: at}
	}
	const s = time.Second
	severalPulls := []Pull{pullOf("a", "ghcr.io", 4*s), pullOf("b", "ghcr.io", 5*s), pullOf("c", "quay.io", 3*s)}
	severalPulls[0].BlockedBy = &Blocker{Image: "ghcr.io/a/b", Waited: 8 * time.Second}
	retried := pullOf("a", "ghcr.io", 4*time.Second)
	retried.Image, retried.Attempt = "ghcr.io/x", 1
	for want, timeline := range map[string]Timeline{
		"47.2 s to ready: 31.0 s in the node's pull queue, 9.1 s pulling from ghcr.io or its mirror, " +
			"4.0 s network; ±0.5 s": {
			State: StateReady, Total: 47200 * time.Millisecond, TotalError: 500 * time.Millisecond, Pulls: pullOfApp,
			Phases: []Span{span(PhaseNetwork, "", 4*time.Second), span(PhasePullQueue, "app", 31*time.Second),
				span(PhasePull, "app", 9100*time.Millisecond), span(PhaseContainerStart, "app", 3100*time.Millisecond)},
		},
		"42.0 s to ready: 31.0 s queued behind ghcr.io/a/b on this node, " +
			"10.0 s pulling from ghcr.io or its mirror at 12.3 MiB/s, 1.0 s unpacking; ±0.0 s": {
			State: StateReady, Total: 42 * time.Second,
			Pulls: []Pull{{Container: "app", Registry: "ghcr.io",
				BlockedBy: &Blocker{Image: "ghcr.io/a/b", Waited: 30 * time.Second},
				StartedAt: base, DownloadedAt: base.Add(10 * time.Second), Layers: []Layer{{SizeBytes: 123 << 20}}}},
			Phases: []Span{span(PhasePullQueue, "app", 31*time.Second), span(PhasePull, "app", 10*time.Second),
				span(PhaseUnpack, "app", time.Second)},
		},
		"deleted after 9.0 s, never ready: 8.0 s in failed runs of app; ±0.0 s": {
			State: StateDeleted, Total: 9 * time.Second,
			Phases: []Span{span(PhaseFailedRun, "app", 3*s), span(PhaseSandbox, "", s/100),
				span(PhaseFailedRun, "app", 5*s)},
		},
		// No evidence shows which container was the last.
		"5.0 s to ready: 5.0 s until the last container was ready; ±0.0 s": {
			State: StateReady, Total: 5 * time.Second, Phases: []Span{span(PhaseReadinessProbe, "", 5*time.Second)},
		},
		"6.0 s to ready: 4.0 s unpacking while io pressure was 80 %, 2.0 s waiting for the scheduler; ±0.0 s": {
			State: StateReady, Total: 6 * time.Second, Phases: []Span{
				pressed(span(PhaseScheduling, "", 2*time.Second), 0.9),
				pressed(span(PhaseUnpack, "app", 3*time.Second), 0.9),
				pressed(span(PhaseUnpack, "sidecar", time.Second), 0.5)},
		},
		"3.0 s to ready: 3.0 s network; ±0.0 s": {
			State: StateReady, Total: 3 * time.Second,
			Phases: []Span{pressed(span(PhaseNetwork, "", 3*time.Second), 0.4)},
		},
		// All pulls from one registry are one part. Only containers that waited in the queue count in the description
		// of the wait.
		"20.0 s to ready: 9.0 s pulling 2 images from ghcr.io or its mirror at 1.0 MiB/s, " +
			"8.0 s queued behind ghcr.io/a/b on this node, " +
			"3.0 s pulling from quay.io or its mirror at 1.0 MiB/s; ±0.0 s": {
			State: StateReady, Total: 20 * time.Second, Pulls: severalPulls,
			Phases: []Span{span(PhasePullQueue, "a", 8*time.Second), span(PhasePull, "a", 4*time.Second),
				span(PhasePullQueue, "b", 0), span(PhasePull, "b", 5*time.Second), span(PhasePull, "c", 3*time.Second)},
		},
		// The number of bytes of a failed attempt is unknown, so the verdict contains no rate for the two attempts.
		"14.0 s to ready: 14.0 s pulling from ghcr.io or its mirror; ±0.0 s": {
			State: StateReady, Total: 14 * time.Second,
			Pulls: []Pull{{Container: "a", Image: "ghcr.io/x", Registry: "ghcr.io", Outcome: imagepull.OutcomeFailed},
				retried},
			Phases: []Span{span(PhasePull, "a", 10*time.Second), func() Span {
				second := span(PhasePull, "a", 4*time.Second)
				second.Attempt = 1
				return second
			}()},
		},
		"5.0 s to ready: 4.0 s unattributed (in the node's pull queue or pulling 2 images from ghcr.io or its " +
			"mirror), 1.0 s network; ±0.0 s": {
			State: StateReady, Total: 5 * time.Second, Pulls: severalPulls,
			Phases: []Span{span(PhaseNetwork, "", time.Second),
				merged(span(PhaseUnattributed, "a", time.Second), PhasePullQueue, PhasePull),
				merged(span(PhaseUnattributed, "b", 3*time.Second), PhasePullQueue, PhasePull)},
		},
		"starting for 0.0 s; ±1.0 s": {State: StateStarting, TotalError: time.Second},
	} {
		if got := timeline.Verdict(); got != want {
			t.Errorf("verdict %q, want %q", got, want)
		}
	}
}

// TestVerdictWithoutRegistry checks that the verdict names no registry if the registry is unknown.
func TestVerdictWithoutRegistry(t *testing.T) {
	at := base
	span := func(p Phase, container string, d time.Duration) Span {
		at = at.Add(d)
		return Span{Phase: p, Container: container, StartAt: at.Add(-d), EndAt: at}
	}
	for want, timeline := range map[string]Timeline{
		"3.0 s to ready: 2.0 s pulling the image, " +
			"1.0 s unattributed (in the node's pull queue or pulling the image); ±0.0 s": {
			State: StateReady, Total: 3 * time.Second, Pulls: []Pull{{Container: "a", Registry: "unknown"}},
			Phases: []Span{span(PhasePull, "a", 2*time.Second), {Phase: PhaseUnattributed, Container: "a",
				StartAt: base, EndAt: base.Add(time.Second), MergedWith: []Phase{PhasePullQueue, PhasePull}}},
		},
		"3.0 s to ready: 3.0 s pulling 2 images; ±0.0 s": {
			State: StateReady, Total: 3 * time.Second,
			Phases: []Span{span(PhasePull, "a", 2*time.Second), span(PhasePull, "b", time.Second)},
		},
	} {
		if got := timeline.Verdict(); got != want {
			t.Errorf("verdict %q, want %q", got, want)
		}
	}
}

// TestVerdictOfWaitBehindPulls checks two rules. The verdict does not blame one pull for a wait that this pull explains
// only in part. The verdict names the registry if the other pull is of the same image.
func TestVerdictOfWaitBehindPulls(t *testing.T) {
	const wait, part = 17100 * time.Millisecond, 8300 * time.Millisecond
	for _, test := range []struct {
		image  string // of the other pull
		waited time.Duration
		ahead  int
		want   string
	}{
		{"ghcr.io/a/b", part, 2, "queued behind 2 pulls on this node (8.3 s behind ghcr.io/a/b)"},
		{"ghcr.io/a/b", part, 1, "queued on this node (8.3 s behind ghcr.io/a/b)"},
		{"ghcr.io/a/b", wait, 1, "queued behind ghcr.io/a/b on this node"},
		{"ghcr.io/app", wait, 1,
			"waiting for an image that another pod was already pulling from ghcr.io or its mirror"},
		{"ghcr.io/app:latest", wait, 1, // another reference to the same image
			"waiting for an image that another pod was already pulling from ghcr.io or its mirror"},
		{"ghcr.io/app:2", wait, 1, "queued behind ghcr.io/app:2 on this node"},
		{"ghcr.io/app", part, 2, "queued behind 2 pulls on this node " +
			"(8.3 s behind another pod's pull of the same image from ghcr.io or its mirror)"},
	} {
		pull := pullOf("app", "ghcr.io", time.Second)
		pull.BlockedBy, pull.Ahead = &Blocker{Image: test.image, Waited: test.waited}, test.ahead
		waiting := Timeline{
			State: StateReady, Total: wait, Pulls: []Pull{pullOf("init", "quay.io", time.Second), pull},
			Phases: []Span{{Phase: PhasePullQueue, Container: "init", StartAt: base, EndAt: base},
				{Phase: PhasePullQueue, Container: "app", StartAt: base, EndAt: base.Add(wait)}},
		}
		want := "17.1 s to ready: 17.1 s " + test.want + "; ±0.0 s"
		if got := waiting.Verdict(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestVerdictOfPodThatWaitsTwiceForOneImage checks two containers that waited for the same pull of another pod. Only
// one of the two containers has this image, so the verdict names the image and not the registry.
func TestVerdictOfPodThatWaitsTwiceForOneImage(t *testing.T) {
	a, b := pullOf("a", "ghcr.io", time.Second), pullOf("b", "quay.io", time.Second)
	a.BlockedBy = &Blocker{Image: "ghcr.io/a", Waited: 3 * time.Second}
	b.BlockedBy = &Blocker{Image: "ghcr.io/a", Waited: 2 * time.Second}
	waiting := Timeline{State: StateReady, Total: 5 * time.Second, Pulls: []Pull{a, b}, Phases: []Span{
		{Phase: PhasePullQueue, Container: "a", StartAt: base, EndAt: base.Add(3 * time.Second)},
		{Phase: PhasePullQueue, Container: "b", StartAt: base.Add(3 * time.Second), EndAt: base.Add(5 * time.Second)}}}
	const want = "5.0 s to ready: 5.0 s queued behind ghcr.io/a on this node; ±0.0 s"
	if got := waiting.Verdict(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func merged(s Span, phases ...Phase) Span {
	s.MergedWith = phases
	return s
}

func pressed(s Span, io float64) Span {
	s.Pressure, s.Cause = &Pressure{IO: io}, CauseOf(s.Phase)
	return s
}

func TestEveryPhaseHasVerdictText(t *testing.T) {
	for _, p := range Phases() {
		if row := rowOf(p); row.phase != p || row.text == "" || row.cause == "" {
			t.Errorf("row of %s: %+v", p, row)
		}
	}
}

// TestVerdictOfUnattributedTime checks the texts for every number of candidates.
func TestVerdictOfUnattributedTime(t *testing.T) {
	span := Span{Phase: PhaseUnattributed, Container: "app", StartAt: base, EndAt: base.Add(5 * time.Second)}
	for _, test := range []struct {
		startUp, termination []Phase
		want                 string
		wantTermination      string
	}{
		{nil, nil, "unattributed", "unattributed"},
		{[]Phase{PhaseStartupProbe}, []Phase{PhaseGrace}, "unattributed (possibly until app had started)",
			"unattributed (possibly until app stopped)"},
		{[]Phase{PhaseVolumes, PhaseNetwork}, []Phase{PhaseGrace, PhaseSandboxStop},
			"unattributed (volumes or network)", "unattributed (until app stopped or stopping the sandbox)"},
		{[]Phase{PhaseVolumes, PhaseNetwork, PhaseSandbox}, []Phase{PhaseGrace, PhaseKill, PhaseSandboxStop},
			"unattributed (volumes, network or sandbox)",
			"unattributed (until app stopped, killing app or stopping the sandbox)"},
	} {
		startUp := Timeline{State: StateReady, Total: 5 * time.Second, Phases: []Span{merged(span, test.startUp...)}}
		if got, want := startUp.Verdict(), "5.0 s to ready: 5.0 s "+test.want+"; ±0.0 s"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		end := Termination{Total: 5 * time.Second, GoneAt: base.Add(5 * time.Second),
			Phases: []Span{merged(span, test.termination...)}}
		if got, want := end.Verdict(), "gone after 5.0 s: 5.0 s "+test.wantTermination+"; ±0.0 s"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestVerdictContainsErrorOfUncertainPart checks that a verdict contains the error bound of a part whose length is
// uncertain.
func TestVerdictContainsErrorOfUncertainPart(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		length, error, total time.Duration
		want                 string
	}{
		{5 * s, 0, 0, "5.0 s"},
		{5 * s, 2500 * time.Millisecond, s, "5.0 s"},
		{5 * s, 2600 * time.Millisecond, s, "5.0 s ±2.6 s"},
		{5 * s, 5 * s, 400 * time.Millisecond, "5.0 s ±5.0 s"},
		{5 * s, 5 * s, 5 * s, "5.0 s"}, // the total's error bound says the same
		{5 * s, 5020 * time.Millisecond, 5 * s, "5.0 s"},
		{60 * time.Millisecond, 40 * time.Millisecond, 0, "0.1 s"}, // the error bound would print as 0.0 s
	} {
		span := func(phase Phase, from, length, error time.Duration) Span {
			return Span{Phase: phase, Container: "app", StartAt: base.Add(from), EndAt: base.Add(from + length),
				Error: error}
		}
		startUp := Timeline{State: StateReady, Total: test.length, TotalError: test.total,
			Phases: []Span{span(PhaseStartupProbe, 0, test.length, test.error)}}
		want := seconds(test.length) + " to ready: " + test.want + " until app had started; ±" + seconds(test.total)
		if got := startUp.Verdict(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		end := Termination{Total: test.length, TotalError: test.total, GoneAt: base.Add(test.length),
			Phases: []Span{span(PhaseGrace, 0, test.length, test.error)}}
		want = "gone after " + seconds(test.length) + ": " + test.want + " until app stopped; ±" + seconds(test.total)
		if got := end.Verdict(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	// The error bound of a part is the sum of the error bounds of its phases.
	two := Timeline{State: StateReady, Total: 4 * s, Phases: []Span{
		{Phase: PhaseFailedRun, Container: "app", StartAt: base, EndAt: base.Add(s), Error: s},
		{Phase: PhaseFailedRun, Container: "app", Attempt: 1, StartAt: base.Add(s), EndAt: base.Add(4 * s),
			Error: 2 * s}}}
	if got, want := two.Verdict(), "4.0 s to ready: 4.0 s ±3.0 s in failed runs of app; ±0.0 s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
