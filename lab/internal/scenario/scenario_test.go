package scenario

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

func TestRowLimit(t *testing.T) {
	row := Row{Truth: 2 * time.Second, Limit: 250 * time.Millisecond}
	for measured, want := range map[time.Duration]bool{
		2 * time.Second: true, 2250 * time.Millisecond: true, 1750 * time.Millisecond: true,
		2250*time.Millisecond + 1: false, 1750*time.Millisecond - 1: false, 0: false,
	} {
		row.Measured = measured
		if row.OK() != want {
			t.Errorf("measured %s: OK is %v", measured, row.OK())
		}
	}
	row.Measured, row.Missing = 2*time.Second, true
	if row.OK() {
		t.Error("a missing number passes")
	}
}

func TestEmptyVerdictFails(t *testing.T) {
	if v := (&Verdict{}); !v.Failed() {
		t.Error("a scenario that compared nothing passes")
	}
	v := &Verdict{Rows: []Row{{}}}
	if v.Failed() {
		t.Error("a correct row fails")
	}
	v.Problem("something")
	if !v.Failed() {
		t.Error("a problem passes")
	}
}

// start returns the instant at which the pods of the tests request their images.
func start() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }

// queue returns n pods with correct timelines. The pulls run one after the other, and each pull takes five seconds.
func queue(n int) []queuedPod {
	var pods []queuedPod
	for i := range n {
		from := start().Add(time.Duration(i) * 5 * time.Second)
		to := from.Add(5 * time.Second)
		pods = append(pods, queuedPod{
			name: fmt.Sprintf("pod-%d", i), requestedAt: start(), pull: bench.Span{StartAt: from, EndAt: to},
			timeline: agent.Timeline{Name: fmt.Sprintf("pod-%d", i), State: agent.Ready, CreatedAt: start(),
				SettledAt:    to,
				TotalSeconds: decimal(to.Sub(start())),
				Phases: []agent.Phase{
					{Phase: "pull_queue", StartAt: start(), EndAt: from, Seconds: decimal(from.Sub(start()))},
					{Phase: "pull", Container: "main", StartAt: from, EndAt: to, Seconds: "5"}},
				Pulls: []agent.Pull{{Container: "main", Outcome: "downloaded", QueueSeconds: decimal(from.Sub(start())),
					PullSeconds: "5"}}},
		})
	}
	return pods
}

func TestQueueVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		edit func([]queuedPod)
		want string // part of the expected output; empty if the verdict passes
	}{
		"unchanged":              {func([]queuedPod) {}, ""},
		"queue reported as pull": {func(p []queuedPod) { p[2].timeline.Pulls[0].PullSeconds = "15" }, "WRONG"},
		"no queue":               {func(p []queuedPod) { p[3].timeline.Pulls[0].QueueSeconds = "0" }, "WRONG"},
		"no pull": {func(p []queuedPod) { p[1].timeline.Pulls = nil },
			"no pull for container main"},
		"no pull time":                 {func(p []queuedPod) { p[1].timeline.Pulls[0].PullSeconds = "" }, "nothing"},
		"download reported as present": {func(p []queuedPod) { p[0].timeline.Pulls[0].Outcome = "present" }, "present"},
		"wrong total": {func(p []queuedPod) { p[0].timeline.TotalSeconds = "5.000000001" },
			"total_seconds"},
		"pod whose start-up is not over": {func(p []queuedPod) { p[0].timeline.State = agent.Starting }, "starting"},
		"overlapping pulls": {func(p []queuedPod) {
			p[1].pull.StartAt = p[1].pull.StartAt.Add(-100 * time.Millisecond)
		}, "overlap"},
	} {
		pods := queue(4)
		test.edit(pods)
		verdict := &Verdict{}
		judgeQueue(pods, nil, verdict)
		var out bytes.Buffer
		verdict.Print(&out)
		if verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, verdict.Failed(), out.String())
		}
	}
}

func TestPhaseRow(t *testing.T) {
	timeline := queue(2)[1].timeline
	verdict := &Verdict{}
	verdict.Phase(timeline, "pull", "main", 5*time.Second, 5100*time.Millisecond, limit)
	verdict.Phase(timeline, "network", "", 2*time.Second, 2*time.Second, limit)
	if rows := verdict.Rows; !rows[0].OK() || rows[0].Off() != -100*time.Millisecond || rows[1].OK() ||
		!rows[1].Missing {
		t.Errorf("rows %+v", verdict.Rows)
	}
}

func TestTable(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range Table() {
		if seen[s.Name] || s.Name == "" || s.Summary == "" || strings.Contains(s.Summary, "\n") || s.Run == nil {
			t.Errorf("row %+v", s)
		}
		seen[s.Name] = true
	}
}
