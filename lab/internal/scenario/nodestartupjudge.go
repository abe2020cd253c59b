package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// judge compares the reported phases with the true times.
func (n *nodeBoot) judge(report agent.NodeStartUp) {
	n.verdict.Note("%s", report.Verdict)
	for _, p := range report.Phases {
		n.verdict.Note("%-22s %-18s %8.3f s ±%.3f s  %s %s %s", p.Phase, p.Step, p.Seconds, p.Error, p.Cause, p.Taint,
			strings.Join(p.Candidates, " or "))
	}
	of := func(names ...string) func(agent.NodePhase) bool {
		return func(p agent.NodePhase) bool { return slices.Contains(names, p.Phase) }
	}
	compare := func(what string, injected, truth, limit time.Duration, match func(agent.NodePhase) bool) {
		measured, _ := report.Sum(match)
		n.verdict.Compare(what, injected, truth, measured, slices.ContainsFunc(report.Phases, match), limit)
	}
	total, bound := report.TotalLength()
	n.verdict.Compare("total", 0, n.workload.Sub(n.booted), total, true, planeLimit)
	n.verdict.Compare("error bound of the total", 0, 0, bound, true, totalErrorLimit)
	compare("machine", beforeRuntime+beforeKubelet, n.kubelet.Sub(n.booted), planeLimit, of("machine"))
	compare("registration", 0, n.registered.Sub(n.kubelet), planeLimit, of("kubelet_registration"))
	compare("network plugin with its DaemonSet", beforeNetwork, n.ready.Sub(n.registered), planeLimit,
		of("network_plugin", "daemonset"))
	others, _ := report.Sum(of("kubelet", "runtime"))
	n.verdict.Compare("kubelet and runtime, after the registration", 0, 0, others, true, planeLimit)
	compare("pull of the DaemonSet's image", startUpLayer/startUpRate*time.Second, n.pull.Length(), ownLimit,
		func(p agent.NodePhase) bool { return p.Phase == "daemonset" && p.Cause == "registry" })
	compare("taint", beforeTaint, n.taint.EndAt.Sub(n.ready), planeLimit, of("taint"))
	compare("workload", startUpReady, n.workload.Sub(n.bound), planeLimit, of("workload"))
	unattributed, _ := report.Sum(of("unattributed"))
	n.verdict.Compare("unattributed", 0, 0, unattributed, true, planeLimit)
}

// startUpTruth describes one milestone of the start-up. The milestone really happened within the embedded Span. The
// agent also reports an interval for the milestone. The field "width" is the largest accepted length of this interval.
type startUpTruth struct {
	bench.Span
	width time.Duration
}

// truths returns the true times of the milestones. The constant "late" is the longest assumed delay until pollNode sees
// a change of the node.
func (n *nodeBoot) truths() map[string]startUpTruth {
	const late = 100 * time.Millisecond
	before := func(at time.Time, most, width time.Duration) startUpTruth {
		return startUpTruth{bench.Span{StartAt: at.Add(-most), EndAt: at}, width}
	}
	return map[string]startUpTruth{
		"booted":          before(n.booted, 0, planeWidth),
		"registered":      before(n.registered, late, planeWidth),
		"kubelet_started": before(n.kubelet, late, ownLimit),   // the kubelet logs the start a little late
		"ready":           before(n.ready, 5*late, planeWidth), // the kubelet's status update takes time
		"workload_ready":  before(n.workload, time.Second, planeWidth),
	}
}

// judgeErrors requires that the agent's intervals are short and overlap the true intervals. The reported start of the
// kubelet must lie between the start of the kubelet's process and the registration of the node.
func (n *nodeBoot) judgeErrors(report agent.NodeStartUp) {
	truths := n.truths()
	for _, m := range report.Milestones {
		truth := truths[m.Milestone]
		n.judgeInterval(m.Milestone, truth.Span, truth.width, m.Earliest, m.Latest)
		if m.Milestone != "kubelet_started" {
			continue
		}
		if m.Latest.Sub(n.kubelet).Abs() > ownLimit {
			n.verdict.Problem("the kubelet started at %s, the agent reports %s", n.kubelet, m.Latest)
		}
		if n.verdict.Compared++; m.Latest.Before(n.launched) || m.Latest.After(n.registered) {
			n.verdict.Problem("the lab started the kubelet's process at %s, and the node was registered at %s; the "+
				"agent reports that the kubelet started at %s", n.launched, n.registered, m.Latest)
		}
	}
	if found := len(report.Milestones); found != len(truths) {
		n.verdict.Problem("the agent reports %d milestones, want %d; missing: %v", found, len(truths), report.Missing)
	}
	i := slices.IndexFunc(report.Taints, func(t agent.NodeTaint) bool { return t.Key == startUpTaint })
	if i < 0 {
		n.verdict.Problem("the agent reports no taint %s", startUpTaint)
		return
	}
	taint := report.Taints[i]
	n.judgeInterval("the removal of the taint", n.taint, planeWidth, taint.Earliest, taint.Latest)
	if taint.Owner != "Cilium" {
		n.verdict.Problem("the owner of the taint is %q, want Cilium", taint.Owner)
	}
}

// judgeInterval requires that the agent's interval overlaps the true interval, and is not longer than the given width.
func (n *nodeBoot) judgeInterval(what string, truth bench.Span, width time.Duration, earliest, latest time.Time) {
	n.verdict.Compare("length of the interval of "+what, 0, 0, latest.Sub(earliest), true, width)
	n.verdict.Compared++
	if truth.EndAt.Before(earliest) || truth.StartAt.After(latest) {
		n.verdict.Problem("%s was between %s and %s, the agent reports between %s and %s", what,
			truth.StartAt.Format(time.StampMilli), truth.EndAt.Format(time.StampMilli),
			earliest.Format(time.StampMilli), latest.Format(time.StampMilli))
	}
}
