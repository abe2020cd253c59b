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
		launched: after(6980 * time.Millisecond), kubelet: after(7 * time.Second),
		registered: after(8 * time.Second), ready: after(30 * time.Second), workload: after(40 * time.Second),
		bound: after(37 * time.Second),
		taint: bench.Span{StartAt: after(36 * time.Second), EndAt: after(36 * time.Second)},
		pull:  bench.Span{StartAt: after(9 * time.Second), EndAt: after(17 * time.Second)}}
	report := agent.NodeStartUp{State: agent.Ready, Total: 40, TotalError: 0.5, Phases: []agent.NodePhase{
		{Phase: "machine", Seconds: 7}, {Phase: "kubelet_registration", Seconds: 1},
		{Phase: "network_plugin", Seconds: 1}, {Phase: "daemonset", Cause: "registry", Seconds: 8},
		{Phase: "network_plugin", Seconds: 13}, {Phase: "taint", Seconds: 6}, {Phase: "workload", Seconds: 3.5},
	}}
	for _, m := range []struct {
		name string
		at   time.Time
	}{{"booted", n.booted}, {"kubelet_started", n.kubelet}, {"registered", n.registered}, {"ready", n.ready},
		{"workload_ready", n.workload}} {
		report.Milestones = append(report.Milestones, agent.NodeMilestone{Milestone: m.name,
			Earliest: m.at.Add(-50 * time.Millisecond), Latest: m.at})
	}
	report.Taints = []agent.NodeTaint{{Key: startUpTaint, Owner: "Cilium", RemovedAt: n.taint.EndAt,
		Earliest: n.taint.EndAt.Add(-time.Second), Latest: n.taint.EndAt}}
	return n, report
}

func TestNodeStartUpVerdict(t *testing.T) {
	rename := func(from, to string) func(*agent.NodeStartUp) {
		return func(r *agent.NodeStartUp) {
			for i := range r.Phases {
				if r.Phases[i].Phase == from {
					r.Phases[i].Phase = to
				}
			}
		}
	}
	widen := func(milestone int, by time.Duration) func(*agent.NodeStartUp) {
		return func(r *agent.NodeStartUp) {
			r.Milestones[milestone].Earliest = r.Milestones[milestone].Earliest.Add(-by)
		}
	}
	for name, test := range map[string]struct {
		spoil func(*agent.NodeStartUp)
		want  string // part of an error; empty if the verdict passes
	}{
		"right":             {func(*agent.NodeStartUp) {}, ""},
		"no taint phase":    {func(r *agent.NodeStartUp) { r.Phases[5].Phase = "awaiting_pod" }, "taint"},
		"wrong pull":        {func(r *agent.NodeStartUp) { r.Phases[3].Seconds = 6 }, "pull of the DaemonSet's image"},
		"unattributed time": {func(r *agent.NodeStartUp) { r.Phases[0].Phase = "unattributed" }, "unattributed"},
		"wrong interval": {func(r *agent.NodeStartUp) {
			r.Taints[0].Earliest = after(36100 * time.Millisecond)
			r.Taints[0].Latest = after(37 * time.Second)
		}, "the removal of the taint was between"},
		"network blamed on the kubelet": {rename("network_plugin", "kubelet"), "kubelet and runtime, after"},
		"network blamed on the runtime": {rename("network_plugin", "runtime"), "network plugin with its DaemonSet"},
		"long registration":             {widen(2, 2*time.Second), "length of the interval of registered"},
		"long interval of the kubelet":  {widen(1, time.Second), "length of the interval of kubelet_started"},
		"long interval of the pod":      {widen(4, 2*time.Second), "length of the interval of workload_ready"},
		"long interval of the taint": {func(r *agent.NodeStartUp) {
			r.Taints[0].Earliest = after(30 * time.Second)
		}, "length of the interval of the removal of the taint"},
		"large error": {func(r *agent.NodeStartUp) { r.TotalError = 3.5 }, "error bound of the total"},
		"kubelet started before its process": {func(r *agent.NodeStartUp) {
			r.Milestones[1].Earliest = after(6850 * time.Millisecond)
			r.Milestones[1].Latest = after(6940 * time.Millisecond)
		}, "the lab started the kubelet's process at"},
		"missing milestone": {func(r *agent.NodeStartUp) { r.Milestones = r.Milestones[1:] }, "milestones, want 5"},
	} {
		n, report := bootReport()
		test.spoil(&report)
		n.judge(report)
		n.judgeErrors(report)
		wrong := strings.Join(n.verdict.Wrong(), "\n")
		if (wrong != "") != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, wrong, test.want)
		}
	}
}
