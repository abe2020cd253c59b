package scenario

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// honestTimeline returns a timeline of a pod whose pull waits for another pod's pull.
func honestTimeline(block string, change func(*agent.Timeline)) agent.Timeline {
	timeline := agent.Timeline{State: agent.Ready,
		Phases: []agent.Phase{
			{Phase: "pull_queue", Cause: "pull_queue", Container: mainName, Seconds: "1.2", Error: "0.01"},
			{Phase: "pull", Cause: "registry", Container: mainName, Seconds: "2.1", Error: "0.01"},
		},
		Pulls: []agent.Pull{{Container: mainName, Image: "lab/behind-" + block + ":1", Registry: "lab",
			Outcome: agent.Downloaded, BlockedBy: &agent.Blocker{Pod: "cold-" + block,
				Image: "lab/cold-" + block + ":1"}}},
	}
	if change != nil {
		change(&timeline)
	}
	return timeline
}

// TestJudgeCounterparts edits the timeline of an honest pod in every way in which an attack could change the timeline.
func TestJudgeCounterparts(t *testing.T) {
	const queued = 1200 * time.Millisecond
	for what, test := range map[string]struct {
		change func(*agent.Timeline)
		found  bool
	}{
		"equal": {nil, false},
		"longer sandbox": {func(t *agent.Timeline) {
			t.Phases = append(t.Phases, agent.Phase{Phase: "sandbox", Seconds: "4", Error: "0"})
		}, false},
		"pull of 8 s": {func(t *agent.Timeline) { t.Phases[1].Seconds = "8" }, true},
		"pull of 0 s": {func(t *agent.Timeline) { t.Phases[1].Seconds = "0" }, true},
		"no pull":     {func(t *agent.Timeline) { t.Phases = t.Phases[:1] }, true},
		"unattributed pull": {func(t *agent.Timeline) {
			t.Phases[1].Phase, t.Phases[1].MergedWith = "unattributed", []string{"pull", "container_create"}
		}, false},
		"unattributed, and certainly no pull": {func(t *agent.Timeline) {
			t.Phases[1].Phase, t.Phases[1].MergedWith = "unattributed", []string{"sandbox", "container_create"}
		}, true},
		"other cause": {func(t *agent.Timeline) { t.Phases[1].Cause = "disk" }, true},
		"other state": {func(t *agent.Timeline) { t.State = "failed" }, true},
		"joined pull": {func(t *agent.Timeline) { t.Pulls[0].Outcome = agent.Joined }, true},
		"additional failed attempt": {func(t *agent.Timeline) {
			t.Pulls = append([]agent.Pull{{Outcome: agent.Failed, Failure: "rate_limited"}}, t.Pulls...)
		}, true},
		"no blocker":     {func(t *agent.Timeline) { t.Pulls[0].BlockedBy = nil }, true},
		"other blocker":  {func(t *agent.Timeline) { t.Pulls[0].BlockedBy.Pod = "bait-1" }, true},
		"other registry": {func(t *agent.Timeline) { t.Pulls[0].Registry = "registry-1.mallory.example" }, true},
	} {
		v := &Verdict{}
		r := &tenantRun{v: v, exam: &exam{},
			blocks: []honestBlock{{name: "alone1"}, {name: "alone2"}, {name: "attacked", attacked: true}}}
		for _, block := range r.blocks {
			change := test.change
			if !block.attacked {
				change = nil
			}
			r.exam.results = append(r.exam.results, examResult{stage: block.name, name: "behind-" + block.name,
				timeline: honestTimeline(block.name, change), truth: queuedFor(queued)})
		}
		r.judgeCounterparts()
		if v.Failed() != test.found {
			t.Errorf("%s: found %q", what, v.Problems)
		}
	}
}

// queuedFor returns the truth about a pod that waited for other pulls for the given time.
func queuedFor(length time.Duration) []blame.Stretch {
	from := time.Unix(1_000_000_000, 0)
	return []blame.Stretch{{Span: blame.Span{From: from, To: from.Add(length)}, Causes: []blame.Cause{blame.PullQueue}}}
}

// TestCounterpartsWithOtherTrueWait changes the wait for another pull, in the agent's report and in the truth. The
// agent's report is allowed to change only if the true wait changed.
func TestCounterpartsWithOtherTrueWait(t *testing.T) {
	noQueue := func(t *agent.Timeline) { t.Phases, t.Pulls[0].BlockedBy = t.Phases[1:], nil }
	for what, test := range map[string]struct {
		change func(*agent.Timeline)
		truth  time.Duration
		found  bool
	}{
		"no wait, and none reported": {noQueue, 0, false},
		"a wait, but none reported":  {noQueue, 5 * time.Second, true},
		"no wait, but another blocker reported": {func(t *agent.Timeline) { t.Pulls[0].BlockedBy.Pod = "bait-1" }, 0,
			true},
		"no wait, but a longer one reported": {func(t *agent.Timeline) {
			t.Phases[0].Seconds = "9"
		}, 0, true},
		"a longer wait, and reported": {func(t *agent.Timeline) { t.Phases[0].Seconds = "9" }, 9 * time.Second, false},
		"a longer wait, and a longer pull reported": {func(t *agent.Timeline) {
			t.Phases[0].Seconds, t.Phases[1].Seconds = "9", "9"
		}, 9 * time.Second, true},
	} {
		v := &Verdict{}
		r := &tenantRun{v: v, exam: &exam{},
			blocks: []honestBlock{{name: "alone1"}, {name: "alone2"}, {name: "attacked", attacked: true}}}
		for _, block := range r.blocks {
			change, truth := test.change, queuedFor(test.truth)
			if !block.attacked {
				change, truth = func(t *agent.Timeline) { t.Phases[0].Seconds = "5" }, queuedFor(5*time.Second)
			}
			r.exam.results = append(r.exam.results, examResult{stage: block.name, name: "behind-" + block.name,
				timeline: honestTimeline(block.name, change), truth: truth})
		}
		r.judgeCounterparts()
		if v.Failed() != test.found {
			t.Errorf("%s: found %q", what, v.Problems)
		}
	}
}

// TestJudgeMetricsOfAttack changes sums, names and the clock skew in the metrics, as an attack could do.
func TestJudgeMetricsOfAttack(t *testing.T) {
	text := func(pulls int, seconds, least float64, more string) string {
		const pull, label = "podlapse_image_pull_duration_seconds_", `{outcome="downloaded",registry="127.0.0.1:25000"}`
		const skew = "podlapse_clock_skew_seconds"
		return fmt.Sprintf("%scount%s %d\n%ssum%s %v\n", pull, label, pulls, pull, label, seconds) +
			fmt.Sprintf("%s{bound=\"least\"} %v\n%s{bound=\"most\"} 0.4\n", skew, least, skew) + more
	}
	for what, test := range map[string]struct {
		after string
		found bool
	}{
		"two pulls":               {text(2, 5, -0.1, ""), false},
		"sum of a year":           {text(3, 31536000, -0.1, ""), true},
		"no pull of the registry": {text(0, 0, -0.1, ""), true},
		"skew without zero":       {text(2, 5, 0.2, ""), true},
		"wider skew":              {text(2, 5, -3, ""), true},
		"invented registry": {text(2, 5, -0.1,
			`podlapse_image_pulls_failing{registry="r.mallory.example"} 1`+"\n"), true},
	} {
		v := &Verdict{}
		r := &tenantRun{v: v}
		now := time.Now()
		r.judgeMetrics(honestBlock{name: "attacked", attacked: true, from: now.Add(-time.Minute), to: now,
			before: text(0, 0, -0.1, ""), after: test.after})
		if v.Failed() != test.found {
			t.Errorf("%s: found %q", what, v.Problems)
		}
	}
}

// TestJudgeMemoryOfAttack tests too much memory, an agent that exited, missing samples, and failed scrapes.
func TestJudgeMemoryOfAttack(t *testing.T) {
	for what, test := range map[string]struct {
		memory memoryWatch
		found  bool
	}{
		"little":   {memoryWatch{most: process.Usage{Memory: 50 << 20}, peak: 59 << 20, samples: 10}, false},
		"too much": {memoryWatch{peak: 61 << 20, samples: 10}, true},
		"ended agent": {memoryWatch{most: process.Usage{Memory: 50 << 20}, samples: 10,
			err: fmt.Errorf("it has ended")}, true},
		"never sampled": {memoryWatch{}, true},
		"failed scrapes": {memoryWatch{most: process.Usage{Memory: 50 << 20}, samples: 10, failed: []string{"503"}},
			true},
	} {
		v := &Verdict{}
		test.memory.judge(v, "attacked")
		if v.Failed() != test.found {
			t.Errorf("%s: found %q", what, v.Problems)
		}
	}
}

// TestOutlives tests pulls that are shorter and longer than the pod's age of ten seconds.
func TestOutlives(t *testing.T) {
	now := time.Now()
	for length, found := range map[string]bool{"": false, "9.5": false, "10.9": false, "11.5": true, "31536000": true} {
		timeline := agent.Timeline{CreatedAt: now.Add(-10 * time.Second),
			Pulls: []agent.Pull{{PullSeconds: json.Number(length)}}}
		if got := longerThanAge(timeline, now); (len(got) > 0) != found {
			t.Errorf("a pull of %s s in a pod that is 10 s old: found %s", length, strings.Join(got, ", "))
		}
	}
}

// TestJudgeAlerts tests an additional alert, a missing alert, and an alert that does not fire in all runs without the
// attack.
func TestJudgeAlerts(t *testing.T) {
	always, sometimes := map[string]bool{"slow": true, "skew": true}, map[string]bool{"slow": true}
	for what, test := range map[string]struct {
		attacked map[string]bool
		found    int
	}{
		"equal":            {always, 0},
		"one of two":       {sometimes, 0},
		"missing alert":    {map[string]bool{"skew": true}, 1},
		"additional alert": {map[string]bool{"slow": true, "failing": true}, 1},
		"none":             {nil, 1},
	} {
		v := &Verdict{}
		judgeAlerts(v, what, []map[string]bool{always, sometimes}, test.attacked)
		if len(v.Problems) != test.found {
			t.Errorf("%s: %q", what, v.Problems)
		}
	}
	for alert, want := range map[string]bool{"PodlapsePodsStuckInPhase": true, "PodlapseRegistryFailing": true,
		"PodlapseNodeSlow": false, "PodlapseClockSkew": false} {
		if got := ofTenants(map[string]string{"alertname": alert, "registry": "mallory.example"}); got != want {
			t.Errorf("%s may be about the tenant's own pods: got %t", alert, got)
		}
	}
	if ofTenants(map[string]string{"alertname": "PodlapseRegistryFailing",
		"registry": layout.Address(layout.RegistryPort)}) {
		t.Error("an alert about the honest pods' registry counts as one about the tenant's own pods")
	}
}
