package scenario

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// TestJudgeBlame tests reports about one pull. The pull waited 10 ms in the queue. Then the registry took 30 s for the
// manifest.
func TestJudgeBlame(t *testing.T) {
	truth := []bench.Attempt{{Pod: "pod", Container: mainName, RequestedAt: after(0),
		ReportedAt:   after(32 * time.Second),
		Call:         bench.PullCall{Span: span(10*time.Millisecond, 32*time.Second)},
		RegistryTime: span(20*time.Millisecond, 31*time.Second), ResolvedAt: after(30 * time.Second)}}
	unattributed := func(merged ...string) agent.Phase {
		phase := reported(agent.Unattributed, 0, 30*time.Second, 30*time.Second)
		phase.MergedWith = merged
		return phase
	}
	pull := reported("pull", 30*time.Second, 31*time.Second, 30*time.Second)
	full, withoutEvents := agentSources{events: true, runtime: true}, agentSources{runtime: true}
	for name, test := range map[string]struct {
		sources agentSources
		phases  []agent.Phase
		want    string // part of the expected output; empty if the verdict passes
	}{
		"unattributed with all candidates": {withoutEvents,
			[]agent.Phase{unattributed("kubelet_sync", "pull_queue", "pull"), pull}, ""},
		"queue blamed": {withoutEvents,
			[]agent.Phase{reported("pull_queue", 0, 30*time.Second, 30*time.Second), pull}, "reports 30"},
		"registry missing among the candidates": {withoutEvents,
			[]agent.Phase{unattributed("kubelet_sync", "pull_queue"), pull}, "must be among the candidates"},
		"exact": {full,
			[]agent.Phase{reported("pull_queue", 0, 10*time.Millisecond, 0),
				reported("pull", 10*time.Millisecond, 31*time.Second, 0)}, ""},
		"queue blamed, with all sources": {full,
			[]agent.Phase{reported("pull_queue", 0, 70*time.Millisecond, time.Second), pull}, "reports 0"},
	} {
		for i := range test.phases {
			test.phases[i].Container = mainName
		}
		j := &pullJudge{verdict: &Verdict{Compared: 1}, stack: currentStack(t), sources: test.sources}
		j.judgeBlame("pod", mainName, truth, agent.Timeline{Phases: test.phases})
		var out bytes.Buffer
		j.verdict.Print(&out)
		if j.verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, j.verdict.Failed(), out.String())
		}
	}
}
