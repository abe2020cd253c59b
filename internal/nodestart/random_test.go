package nodestart

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

var boots = flag.Uint64("boots", 1000, "number of random boots")

// TestRandomBoots simulates boots and agents that come early or late. Every stated interval must contain the truth, the
// phases must partition the start-up, and a phase must not contain more wrong time than its error bound.
func TestRandomBoots(t *testing.T) {
	named, all := time.Duration(0), time.Duration(0)
	for seed := range *boots {
		w := newWorld(seed)
		e := w.observe()
		got, ok := e.Timeline(at(w.workloadReady() + 3))
		if !ok || got.State != StateReady {
			t.Fatalf("seed %d: state %s", seed, got.State)
		}
		checkPartition(t, got, got.SettledAt)
		for _, wrong := range w.judge(got) {
			t.Errorf("seed %d: %s", seed, wrong)
		}
		if t.Failed() {
			t.Fatalf("seed %d: %+v\n%s", seed, *w, printed(got))
		}
		for _, s := range got.Phases {
			all += s.Duration()
			if s.Phase != PhaseUnattributed {
				named += s.Duration()
			}
		}
	}
	share := named.Seconds() / all.Seconds()
	t.Logf("%.0f %% of the time has a name", 100*share)
	if share < 0.5 {
		t.Errorf("only %.0f %% of the time has a name", 100*share)
	}
}

// observe sends what an agent sees to an Evidence.
func (w *world) observe() *Evidence {
	var e Evidence
	from := w.between(w.registered+0.01, w.ready+20)
	if w.chance(0.4) {
		from = w.between(w.kubelet, w.registered+3)
	}
	e.Observe(Booted{ArrivedAt: at(from), At: floor(w.boot), Resolution: second, BootID: "new"})
	type arrival struct {
		at float64
		NodeSeen
	}
	var arrivals []arrival
	poll := w.between(0.5, 5)
	for asked := from; asked < w.workloadReady()+2; asked += poll { // lists
		took := w.between(0.002, 0.2)
		o := NodeSeen{}
		if i := w.posted(asked + took/2); i >= 0 {
			o = w.object(i)
		}
		o.RequestedAt = at(asked)
		arrivals = append(arrivals, arrival{asked + took, o})
		if w.chance(0.02) {
			break // the API server refuses lists
		}
	}
	last := from
	for i, p := range w.posts { // the watch
		if p.at > from {
			last = max(last, p.at+w.between(0.001, 0.1))
			if w.chance(0.05) {
				last += w.between(0, 5)
			}
			arrivals = append(arrivals, arrival{last, w.object(i)})
		}
	}
	lost := never // the API server is unreachable from this time on
	if w.chance(0.05) {
		lost = w.between(from, w.workloadReady())
	}
	arrivals = slices.DeleteFunc(arrivals, func(a arrival) bool { return a.at > lost })
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return at(a.at).Compare(at(b.at)) })
	for _, a := range arrivals {
		a.ArrivedAt = at(a.at)
		e.Observe(a.NodeSeen)
		e.Observe(a.NodeSeen)
	}
	if w.skew != 0 {
		bound := func(d float64) time.Duration { return time.Duration((w.skew + d) * 1e9) }
		e.Observe(SkewSeen{timeline.Skew{Least: bound(-0.05), Most: bound(0.05)}})
	}
	if w.chance(0.7) {
		w.events(&e)
	}
	if w.daemonSet != nil {
		e.Observe(StartUpSeen{podTimeline("cilium-x", timeline.Owner{Kind: "DaemonSet", Name: "cilium"},
			w.daemonSet[0], w.daemonSet[1:])})
	}
	e.Observe(StartUpSeen{podTimeline("other-x", timeline.Owner{Kind: "DaemonSet", Name: "other"}, w.registered,
		[]float64{w.registered + 1, w.ready + 30, w.ready + 31, w.ready + 32})})
	web := podTimeline("web", timeline.Owner{Kind: "ReplicaSet", Name: "web"}, w.created, w.steps)
	if !w.tolerates && w.bound > w.created+3 { // the scheduler has reported that no node fits
		web.Phases[0].Phase, web.Phases[0].Cause = timeline.PhaseUnschedulable, timeline.CausePlacement
	}
	e.Observe(StartUpSeen{web})
	return &e
}

// events adds the kubelet's Events, also those of an earlier boot and of a later restart of the kubelet.
func (w *world) events(e *Evidence) {
	late := func(seconds float64) time.Time { return at(seconds + w.between(0, 0.09)) }
	list := EventsListed{ArrivedAt: at(w.workloadReady()), Events: []Event{
		{ReasonStarting, at(w.boot - 500)}, {ReasonReady, at(w.boot - 490)}, {ReasonStarting, late(w.kubelet)}}}
	if w.again {
		list.Events = append(list.Events, Event{ReasonRebooted, late(w.registered - 0.1)})
	}
	if slices.ContainsFunc(w.posts, func(p post) bool { return p.ofBoot && p.status == "False" && p.at < w.ready }) {
		list.Events = append(list.Events, Event{ReasonReady, late(w.ready)})
	}
	if w.lostFrom > 0 {
		list.Events = append(list.Events, Event{ReasonStarting, at(w.lostFrom)}, Event{ReasonNotReady, at(w.lostFrom)},
			Event{ReasonReady, late(w.lostUntil)})
	}
	if w.lostFrom > 0 && w.chance(0.3) { // the kubelet stopped before it had sent its Events
		list.Events = slices.DeleteFunc(list.Events, func(e Event) bool {
			first := e.Reason == ReasonReady && e.At.Before(at(w.lostFrom)) && e.At.After(at(w.boot))
			return first || e.Reason == ReasonNotReady
		})
	}
	slices.Reverse(list.Events)
	e.Observe(list)
}

// judge compares a timeline with the truth.
func (w *world) judge(got Timeline) (wrong []string) {
	inside := func(what string, truth float64, earliest, latest time.Time) {
		const rounding = time.Microsecond
		if at(truth).Before(earliest.Add(-rounding)) || at(truth).After(latest.Add(rounding)) {
			wrong = append(wrong, fmt.Sprintf("%s at %s is not between %s and %s", what, at(truth), earliest, latest))
		}
	}
	truths := map[string]float64{"booted": w.boot, "kubelet_started": w.kubelet, "registered": w.registered,
		"ready": w.ready, "network_available": w.available, "workload_ready": w.workloadReady()}
	for _, m := range got.Milestones {
		if width := m.Latest.Sub(m.Earliest); m.Name == "workload_ready" && width > second {
			wrong = append(wrong, fmt.Sprintf("%s has an interval of %s", m.Name, width))
		}
		if m.Name == "network_available" && !w.turnedFalse() {
			wrong = append(wrong, "the condition NetworkUnavailable did not become false")
			continue
		}
		inside(m.Name, truths[m.Name], m.Earliest, m.Latest)
	}
	for _, s := range got.Taints {
		i := slices.IndexFunc(w.taints, func(t worldTaint) bool { return t.key == s.Key })
		if !s.Present {
			inside(s.Key, w.taints[i].removed, s.Earliest.Time, s.Latest.Time)
		}
	}
	if err := got.Total - at(w.workloadReady()).Sub(at(w.boot)); err.Abs() > got.TotalError {
		wrong = append(wrong, fmt.Sprintf("the total differs by %s", err))
	}
	for _, s := range got.Phases {
		if mistaken := w.mistaken(s); mistaken > s.Error+2*judgeStep {
			wrong = append(wrong, fmt.Sprintf("%s %s has %s of other parties", s.Phase, s.Taint, mistaken))
		}
	}
	return wrong
}

// judgeStep is the resolution of the comparison with the truth.
const judgeStep = 10 * time.Millisecond

// mistaken returns the part of a phase that certainly belongs to another party.
func (w *world) mistaken(s Span) (sum time.Duration) {
	for from := s.StartAt; from.Before(s.EndAt); from = from.Add(judgeStep) {
		to := earlier(from.Add(judgeStep), s.EndAt)
		if !w.allows(float64(from.UnixNano())/1e9, s) {
			sum += to.Sub(from)
		}
	}
	return sum
}

// allows reports whether a phase can be right at a time.
func (w *world) allows(at float64, s Span) bool {
	parties := w.parties(at)
	if s.Phase == PhaseUnattributed {
		return slices.ContainsFunc(s.Candidates, func(p Phase) bool { return slices.Contains(parties, string(p)) })
	}
	name := string(s.Phase)
	switch s.Phase {
	case PhaseTaint:
		name += " " + s.Taint
	case PhaseDaemonSet:
		name = strings.TrimSpace(name + " " + s.Taint)
	}
	return slices.Contains(parties, name)
}

// parties lists the phases that are right at a time, also in the short form that candidates have.
func (w *world) parties(at float64) (all []string) {
	starting := w.daemonSet != nil && at >= w.daemonSet[0] && at < w.daemonSet[3]
	switch {
	case at < w.boot || at >= w.workloadReady():
		return nil
	case at < w.kubelet:
		return []string{string(PhaseMachine)}
	case at < min(w.registered, w.bound):
		return []string{string(PhaseRegistration)}
	case at >= w.bound:
		return []string{string(PhaseWorkload)}
	case at < w.ready:
		problems := w.problems(at)
		if problems == 0 { // the kubelet has not noticed yet
			problems = reasonKubelet
		}
		for _, p := range problems.phases() {
			all = append(all, string(p))
		}
		if starting && problems&reasonNetwork != 0 {
			all = append(all, string(PhaseDaemonSet))
		}
		return all
	}
	held := w.heldBy(at)
	if w.tolerates { // a taint that still exists when the pod is bound did not keep the pod from the node
		held = slices.DeleteFunc(held, func(key string) bool { return slices.Contains(w.heldBy(w.bound), key) })
	}
	for _, key := range held {
		all = append(all, string(PhaseTaint), string(PhaseTaint)+" "+key)
		if starting && key == "node.cilium.io/agent-not-ready" {
			all = append(all, string(PhaseDaemonSet)+" "+key)
		}
	}
	if len(all) == 0 || w.created > at {
		all = append(all, string(PhaseAwaitingPod))
	}
	if len(held) == 0 && at >= w.created {
		all = append(all, string(PhaseWorkload))
	}
	return all
}
