package timeline

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// No Event watch was open, so the limit of the kubelet's client explains nothing: the milestones of the pulls are
// missing, however many containers the pod has.
func TestMissingPullsWithoutEventWatch(t *testing.T) {
	for _, sources := range []string{"available runtime", "available runtime events"} {
		for _, n := range []int{12, 13} {
			var b strings.Builder
			fmt.Fprintln(&b, sources)
			status := ""
			for i := range n {
				fmt.Fprintf(&b, "spec main c%d image%d Always\n", i, i)
				status += fmt.Sprintf(" | c%d running@5 started ready", i)
			}
			fmt.Fprintln(&b, "0.200 pod listed scheduled@0\n0.220 pod acknowledged@0")
			fmt.Fprintln(&b, "9.000 pod phase=Running containers_ready@8 ready@8"+status)
			s := parseScript(t, []byte(b.String()))
			e := s.evidence()
			tl, _ := e.Timeline(base.Add(10*time.Minute), Skew{})
			if got := strings.Join(tl.Missing, " "); !strings.Contains(got, "pull_requested/c0") {
				t.Errorf("%s, %d containers: missing %q", sources, n, got)
			}
		}
	}
}

// A container restarted 13 times some days ago. Its Events no longer count for the kubelet's client.
func TestOldRestartsDoNotCountTowardEventLimit(t *testing.T) {
	s := parseScript(t, []byte("available runtime events\nspec main app base\nspec main side base\n"+
		"259200.0 pod listed scheduled@0 acknowledged@0 phase=Running | "+
		"side running@3600 attempt=12 started ready | app waiting\n"+
		"259200.6 watched\n"))
	if e := s.evidence(); e.eventLimitReached() {
		t.Error("the limit is reached by runs of days ago, without any Event")
	}
}

// After the evidence has kept maxAttempts attempts of a container, further restarts do not count as news. The state
// file keeps at most 256 new observations of a pod.
func TestRestartsBeyondLimitAreNoNews(t *testing.T) {
	e := NewEvidence(Scope{Runtime: true, Events: true})
	news := 0
	for attempt := range 300 {
		at := base.Add(time.Duration(attempt+1) * 10 * time.Second)
		pod := Pod{UID: "u", RuntimeUID: "u", CreatedAt: base, AcknowledgedAt: base, Phase: "Running"}
		pod.Containers = []Container{
			{Name: "app", Kind: KindMain, Image: "i", Attempt: attempt, State: StateRunning, StartedAt: at,
				LastRun: &Run{StartedAt: at.Add(-9 * time.Second), FinishedAt: at.Add(-time.Second), ExitCode: 1}}}
		if e.Apply(PodSeen{ArrivedAt: at, Live: true, Pod: pod}) && attempt > maxAttempts+1 {
			news++
		}
	}
	if news > 0 {
		t.Errorf("%d observations are news", news)
	}
}
