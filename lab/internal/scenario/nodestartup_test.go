package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// bootReport returns the truth about a boot, and a report that agrees with it.
func bootReport() (*nodeBoot, agent.NodeStartUp) {
	n := &nodeBoot{Bench: &bench.Bench{Namespace: "n"}, verdict: &Verdict{}, booted: start(),
		kubelet:    after(7 * time.Second),
		registered: after(8 * time.Second), ready: after(30 * time.Second), workload: after(40 * time.Second),
		bound: after(37 * time.Second),
		taint: bench.Span{StartAt: after(36 * time.Second), EndAt: after(36 * time.Second)},
		pull:  bench.Span{StartAt: after(9 * time.Second), EndAt: after(17 * time.Second)}}
	report := agent.NodeStartUp{State: agent.Ready, Total: 40, TotalError: 0.5, Phases: []agent.NodePhase{
		{Phase: "machine", Seconds: 7}, {Phase: "kubelet_registration", Seconds: 1},
		{Phase: "network_plugin", Seconds: 1}, {Phase: "daemonset", Cause: "registry", Seconds: 8},
		{Phase: "network_plugin", Seconds: 13}, {Phase: "taint", Seconds: 6}, {Phase: "workload", Seconds: 3.5},
	}}
	for name, at := range map[string]time.Time{"booted": n.booted, "kubelet_started": n.kubelet,
		"registered": n.registered, "ready": n.ready, "workload_ready": n.workload} {
		report.Milestones = append(report.Milestones, agent.NodeMilestone{Milestone: name,
			Earliest: at.Add(-50 * time.Millisecond), Latest: at})
	}
	report.Taints = []agent.NodeTaint{{Key: startUpTaint, Owner: "Cilium", RemovedAt: n.taint.EndAt,
		Earliest: n.taint.EndAt.Add(-time.Second), Latest: n.taint.EndAt}}
	return n, report
}

func TestNodeStartUpVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		spoil func(*agent.NodeStartUp)
		want  string // part of the expected output; empty if the verdict passes
	}{
		"right":             {func(*agent.NodeStartUp) {}, ""},
		"no taint phase":    {func(r *agent.NodeStartUp) { r.Phases[5].Phase = "awaiting_pod" }, "taint"},
		"wrong pull":        {func(r *agent.NodeStartUp) { r.Phases[3].Seconds = 6 }, "pull of the DaemonSet's image"},
		"unattributed time": {func(r *agent.NodeStartUp) { r.Phases[0].Phase = "unattributed" }, "unattributed"},
		"wrong interval": {func(r *agent.NodeStartUp) {
			r.Taints[0].Earliest = after(36100 * time.Millisecond)
			r.Taints[0].Latest = after(37 * time.Second)
		}, "the removal of the taint was between"},
		"missing milestone": {func(r *agent.NodeStartUp) { r.Milestones = r.Milestones[1:] }, "milestones, want 5"},
	} {
		n, report := bootReport()
		test.spoil(&report)
		n.judge(report)
		n.judgeErrors(report)
		var out strings.Builder
		n.verdict.Print(&out)
		if n.verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, n.verdict.Failed(), out.String())
		}
	}
}
