package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// property is a condition that must hold for the timeline of a simulated pod.
type property string

const (
	// These properties must hold for any losses:
	noConflict    property = "no conflict"    // true observations cause no conflicts
	milestoneHeld property = "milestone held" // the interval of every milestone contains its true instant
	totalHeld     property = "total held"     // the total differs from the truth by at most its error bound
	// noOvercharge says that the timeline gives no container more time in a phase than the true time plus the error
	// bounds.
	noOvercharge property = "nobody blamed"
	// noCauseOvercharge says that the timeline gives no cause more time than the true time plus the error bounds. The
	// kubelet and the runtime count as one cause.
	noCauseOvercharge property = "cause in bound"
	// outcomeTrue says that the timeline reports no pulled image as present, and no present image as pulled.
	outcomeTrue property = "outcome true"
	// probeNamed says that the candidates of unattributed time include a repeated startup probe that truly took a part
	// of this time, unless the part is within the error bound.
	probeNamed property = "probe named"
	lossTrue   property = "loss true" // the kubelet created every Event that the timeline reports as lost
	// errorPossible says that no error bound is longer than the life of the pod.
	errorPossible property = "error possible"
	// These properties must hold if nothing was lost:
	namesTrue   property = "names true"   // the phases are the true phases, except phases that are merged by definition
	lengthsTrue property = "lengths true" // each phase has its true duration, within its error bound
)

var properties = []property{
	noConflict,
	milestoneHeld,
	totalHeld,
	noOvercharge,
	noCauseOvercharge,
	outcomeTrue,
	lossTrue,
	errorPossible,
	namesTrue,
	lengthsTrue,
}

// propertyCheck compares a timeline with the truth.
type propertyCheck struct {
	*simulatedPod
	got      Timeline
	complete bool // the sources lost no observation
	now      time.Time
	broken   map[property]string
}

func (p *propertyCheck) breaks(property property, format string, args ...any) {
	if p.broken[property] == "" {
		p.broken[property] = fmt.Sprintf(format, args...)
	}
}

// check compares the timeline with the truth and returns the first violation of each property.
func (p *propertyCheck) check() map[property]string {
	p.broken = map[property]string{}
	for _, c := range p.got.Conflicts {
		p.breaks(noConflict, "%s %s: %s", c.Milestone, c.Container, c.Detail)
	}
	for _, m := range p.got.Milestones {
		p.checkMilestone(m)
	}
	p.checkOutcomes()
	p.checkLostEvents()
	p.checkCandidates()
	end := p.milestones[trueMilestone{milestone: MilestoneReady}]
	if p.got.State == StateStarting {
		end = p.now
	}
	if off := p.got.Total - end.Sub(
		p.milestones[trueMilestone{milestone: MilestoneCreated}]); off.Abs() > p.got.TotalError {
		p.breaks(totalHeld, "off by %s, stated ±%s", off, p.got.TotalError)
	}
	for _, s := range p.got.Phases {
		if life := p.now.Sub(p.got.CreatedAt) + 2*time.Second; s.Error > life {
			p.breaks(errorPossible, "%s %s ±%s in a life of %s", s.Phase, s.Container, s.Error, life)
		}
	}
	if p.got.State == StateStarting {
		return p.broken // the current phase depends on observations that have not arrived yet
	}
	p.checkBlame(noOvercharge, func(phase Phase, container string) string {
		if phase == PhaseReadinessGates {
			container = "" // this phase belongs to the whole pod
		}
		return string(phase) + " " + container
	})
	p.checkBlame(noCauseOvercharge, func(phase Phase, _ string) string { return string(partyOf(phase)) })
	p.checkRepeatedProbe()
	if p.complete && p.workIsSequential() {
		p.checkPhases()
	}
	return p.broken
}

// checkOutcomes compares the outcome of each container's last pull attempt with the truth: the container's first Pulled
// Event.
func (p *propertyCheck) checkOutcomes() {
	for i, pull := range p.got.Pulls {
		if i+1 < len(p.got.Pulls) && p.got.Pulls[i+1].Container == pull.Container {
			continue
		}
		n := slices.IndexFunc(p.events,
			func(o occurrence) bool { return o.reason == "Pulled" && o.isAbout(pull.Container) })
		present := strings.Contains(p.events[n].message, "already present")
		switch pull.Outcome {
		case imagepull.OutcomePresent:
			if !present {
				p.breaks(outcomeTrue, "%s of %s was pulled", pull.Outcome, pull.Container)
			}
		case imagepull.OutcomeDownloaded, imagepull.OutcomeVerified, imagepull.OutcomeJoined:
			if present {
				p.breaks(outcomeTrue, "%s of %s was present", pull.Outcome, pull.Container)
			}
		}
	}
}

// checkLostEvents checks that the kubelet created the Events that the timeline reports as lost.
func (p *propertyCheck) checkLostEvents() {
	for _, lost := range p.got.LostEvents {
		reason, container, _ := strings.Cut(lost, "/")
		if !slices.ContainsFunc(p.events, func(o occurrence) bool {
			return o.reason == reason && o.isAbout(container)
		}) {
			p.breaks(lossTrue, "%s was never made", lost)
		}
	}
}

// checkMilestone checks that the milestone's interval contains its true instant. If Events were lost, the evidence
// might not show to which of several pull attempts the milestone belongs.
func (p *propertyCheck) checkMilestone(m MilestoneEvidence) {
	anyAttempt := !p.complete && (m.Milestone == MilestonePullRequested || m.Milestone == MilestonePullStarted ||
		m.Milestone == MilestonePullResolved || m.Milestone == MilestonePullFinished ||
		m.Milestone == MilestonePullFailed || m.Milestone == MilestoneSandboxFailed)
	var truth []string
	for _, k := range p.inOrder() {
		if k.milestone != m.Milestone || k.container != m.Container || k.attempt != m.Attempt && !anyAttempt {
			continue
		}
		at := p.milestones[k]
		if !at.Before(m.Earliest) && (m.Latest.IsZero() || !at.After(m.Latest)) {
			return
		}
		truth = append(truth, sinceBase(at))
	}
	if m.Milestone == MilestoneRetryDue {
		return // this milestone is the time when the kubelet should retry, not the time when the kubelet retried
	}
	p.breaks(milestoneHeld, "%s %s#%d in [%s, %s], was at %s", m.Milestone, m.Container, m.Attempt,
		sinceBase(m.Earliest), sinceBase(m.Latest), truth)
}

// checkBlame checks that each responsible party truly worked at least as long as the timeline reports, minus the error
// bounds. The time of a merged span can belong to any of the span's parties.
func (p *propertyCheck) checkBlame(property property, who func(Phase, string) string) {
	type account struct {
		charged, tolerance time.Duration
		names              []string
	}
	accounts := map[string]*account{}
	var order []string // the names in the order of their first span, so that a seed always gives the same violation
	for _, s := range p.got.Phases {
		if s.Phase == PhaseUnattributed {
			continue
		}
		name := who(s.Phase, s.Container)
		if accounts[name] == nil {
			accounts[name] = &account{names: []string{name}}
			order = append(order, name)
		}
		a := accounts[name]
		a.charged, a.tolerance = a.charged+s.Duration(), a.tolerance+s.Error
		for _, merged := range s.MergedWith {
			a.names = append(a.names, who(merged, s.Container))
		}
	}
	for _, name := range order {
		a := accounts[name]
		var truth time.Duration
		for _, s := range p.truth {
			if slices.Contains(a.names, who(s.phase, s.container)) || slices.Contains(a.names, who(s.phase, "")) ||
				s.or != nil && slices.Contains(a.names, who(s.or.phases[0], s.or.container)) {
				truth += s.end.Sub(s.start)
			}
		}
		if a.charged > truth+a.tolerance {
			p.breaks(property, "%s for %s ±%s, in truth %s", name, a.charged, a.tolerance, truth)
		}
	}
}

// workIsSequential reports whether no work except the containers' runs happened in parallel with the kubelet's work. If
// the result is true, the evidence orders all phases.
func (p *propertyCheck) workIsSequential() bool {
	main := 0
	for _, c := range p.containers {
		if c.Kind == KindMain {
			main++
		}
	}
	return main == 1 || !slices.ContainsFunc(p.containers, func(c *simulatedContainer) bool {
		return c.Kind == KindMain && (c.crashes > 0 || c.pullFailures > 0)
	})
}

// checkPhases compares the reported phases with the true phases one by one. It accepts a missing phase
// PhaseKubeletSync, because this phase can be too short to be observed.
func (p *propertyCheck) checkPhases() {
	phases := p.got.Phases
	for _, s := range p.reportablePhases() {
		length := s.end.Sub(s.start)
		phases = p.joinLateRetry(phases, s)
		if len(phases) > 0 && isPhase(phases[0].Phase, s.phase) && phases[0].Container == s.container {
			if off := phases[0].Duration() - length; off.Abs() > phases[0].Error {
				p.breaks(lengthsTrue, "%s %s of %s reported as %s ±%s", s.phase, s.container, length,
					phases[0].Duration(), phases[0].Error)
			}
			phases = phases[1:]
			continue
		}
		if s.phase == PhaseKubeletSync {
			continue
		}
		if p.respondedLate {
			return // the fold can merge short phases around a late response
		}
		got := "nothing"
		if len(phases) > 0 {
			got = fmt.Sprintf("%s %s from %s", phases[0].Phase, phases[0].Container, sinceBase(phases[0].StartAt))
		}
		p.breaks(namesTrue, "%s %s from %s, got %s", s.phase, s.container, sinceBase(s.start), got)
		return
	}
	if len(phases) > 0 && !p.respondedLate {
		p.breaks(namesTrue, "nothing after %s, got %s", sinceBase(phases[0].StartAt), phases[0].Phase)
	}
}

// isPhase reports whether a reported phase is the true phase. A setup of the sandbox that lasts long can also contain
// work of the kubelet, so it can be unattributed.
func isPhase(reported, actual Phase) bool {
	return reported == actual || reported == PhaseUnattributed && actual == PhaseSandboxSetup
}

// reportablePhases returns the true phases in the form that complete evidence can show (docs/architecture.md). If no
// source reports the milestone at the end of a step, the step is merged with the next step. If several parties are
// responsible for its steps, the merged step is a group phase.
func (p *propertyCheck) reportablePhases() []stretch {
	var all, pending []stretch
	for _, s := range p.truth {
		pending = append(pending, s)
		if p.notReported(s.ends) {
			continue
		}
		s.start, s.phase, s.container = pending[0].start, pending[0].phase, pending[0].container
		if slices.ContainsFunc(pending, func(o stretch) bool { return partyOf(o.phase) != partyOf(s.phase) }) {
			var phases []Phase
			for _, o := range pending {
				phases = append(phases, o.phase)
			}
			s.phase = groupOf(phases)
		}
		all = append(all, s)
		pending = nil
	}
	return all
}

// notReported reports whether no source reports a milestone, even with complete evidence.
func (p *propertyCheck) notReported(m trueMilestone) bool {
	_, failed := p.milestones[trueMilestone{MilestonePullFailed, m.container, m.attempt}]
	ranAt, ran := p.milestones[trueMilestone{MilestoneRunning, m.container, 0}]
	restarted := ran && p.milestones[m].After(ranAt)
	switch m.milestone {
	case MilestoneSandboxBegun:
		return !p.stamped && !p.recorded() || m.attempt < 0
	case MilestoneNetworkReady:
		return !p.stamped && !p.recorded()
	case MilestoneSandboxRunning:
		return p.recorded()
	case MilestonePullStarted:
		return failed || restarted || p.wording == 0
	case MilestonePullResolved:
		// If an Event contains the pull's duration, the duration is more precise than the manifest. If there were
		// several pulls, the evidence does not show which pull brought the manifest.
		image := p.images[p.imageOf(m.container)]
		shared := slices.ContainsFunc(p.containers,
			func(c *simulatedContainer) bool { return c.Name != m.container && c.Image == p.imageOf(m.container) })
		again := slices.ContainsFunc(image.pulled[1:],
			func(t time.Time) bool {
				return t.Before(p.milestones[trueMilestone{milestone: MilestoneReady}].Add(2 * time.Second))
			})
		return restarted || p.wording != 0 || m.attempt > 0 || image.present || shared || again
	case MilestonePullRequested, MilestonePullFinished:
		return restarted
	}
	return false
}

func (p *propertyCheck) imageOf(container string) string {
	return p.containers[slices.IndexFunc(p.containers,
		func(c *simulatedContainer) bool { return c.Name == container })].Image
}

// partyOf returns the party that is responsible for a phase. The kubelet and the runtime are one party, because they
// work together.
func partyOf(p Phase) Cause {
	if c := CauseOf(p); c != CauseRuntime {
		return c
	}
	return CauseKubelet
}

// describePhases returns the phases of the timeline and the true phases as text for a test failure.
func (p *propertyCheck) describePhases() string {
	var out strings.Builder
	for _, s := range p.truth {
		fmt.Fprintf(&out, "true %s-%s %s %s\n", sinceBase(s.start), sinceBase(s.end), s.phase, s.container)
	}
	for _, s := range p.got.Phases {
		fmt.Fprintf(&out, "got   %s-%s ±%.9f %s %s %v\n", sinceBase(s.StartAt), sinceBase(s.EndAt), s.Error.Seconds(),
			s.Phase, s.Container, s.MergedWith)
	}
	return out.String()
}

// sinceBase returns an instant as seconds since base, in the format of the scripts.
func sinceBase(t time.Time) string {
	if t.IsZero() {
		return "…"
	}
	return fmt.Sprintf("%.9f", t.Sub(base).Seconds())
}
