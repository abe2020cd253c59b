package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"time"
)

// maxConflicts limits the conflicts of a timeline. A normal pod has at most two conflicts.
const maxConflicts = 32

// fold holds the intermediate results of the computation of one timeline.
type fold struct {
	e                  *Evidence
	asOf               instant
	skew               Skew
	constraints        []constraint   // the constraints of the evidence, and constraints derived from several Events
	pulls              []pullEvidence // the facts about each container's pulls, by container index
	bounds             bounds
	milestoneConflicts []milestoneConflict
	slowest            time.Duration // the result of slowestStart
	unclear            []bool        // the result of findUnclearChanges, by container index; nil if there are none

	containers []*Container // sorted in the order in which the kubelet starts the containers
	pod        chain
	sandboxes  []chain // the sandboxes after the first sandbox
	chains     []chain // one chain (list of steps) for each container
	ready      []chain // one or two chains: see readySteps
	// obstacleEvents holds the result of obstacleEventsWithRuntime.
	obstacleEvents []obstacleEvent
	laterObstacles []Phase              // the phases of obstacles after the first sandbox began
	laterFailures  []obstacleOccurrence // the failed sandboxes after the first sandbox began
	obstacles      []obstacleOccurrence // the obstacles before the sandbox, in order of time

	phases []Phase // the backing array for the phases of all boundaries
	open   *bound  // the milestone at which the current phase began; nil if unknown
}

// Timeline returns the timeline up to the time "now", which is on the agent's clock. The argument "skew" is the known
// difference between the control plane's clock and the node's clock. Timeline returns false if the evidence contains no
// pod object.
func (e *Evidence) Timeline(now time.Time, skew Skew) (Timeline, bool) {
	if !e.PodSeen() {
		return Timeline{}, false
	}
	if t, ok := e.cached.asOf(at(now), skew); ok {
		return t, true
	}
	t, until := e.fold(at(now), skew)
	e.cached = nil
	if until > at(now) {
		e.cached = &cachedTimeline{t.detachedCopy(), at(now), until}
	}
	return t, true
}

// fold computes the timeline. Before the instant "until", only the length of the current phase changes. From "until"
// on, or if new evidence arrives, the timeline must be computed again.
func (e *Evidence) fold(now instant, skew Skew) (t Timeline, until instant) {
	f := newFold(e, now, skew)
	sequences := f.milestonesInOrder()
	f.milestoneConflicts = append(f.milestoneConflicts, tighten(sequences)...)
	cut := f.bounds.capAt(f.asOf)
	f.bounds.biasToPickup(f.e.reachedNode())
	orderEstimates(sequences)
	t = f.assemble()
	until = f.validUntil(&t, cut)
	e.clock.complete(&t)
	return t, until
}

// newFold combines the constraints of each milestone and lists the steps of the pod and of each container.
func newFold(e *Evidence, asOf instant, skew Skew) *fold {
	f := &fold{e: e, asOf: asOf, skew: skew}
	f.containers = f.containersInOrder()
	f.gather()
	f.bounds, f.milestoneConflicts = intersect(f.constraints)

	f.chains = make([]chain, 0, len(f.containers))
	f.pod = f.podSteps()
	f.sandboxes = f.laterSandboxes()
	for _, c := range f.containers {
		f.chains = append(f.chains, f.containerSteps(c))
	}
	f.ready = f.readySteps()
	return f
}

// gather collects the evidence's constraints in sorted order. If the kubelet requested an image for a restart of a
// container, gather leaves out this request. If the pod's creator set the node, gather leaves out the binding. gather
// also adds the constraints that the fold derives from several Events.
func (f *fold) gather() {
	f.pulls = make([]pullEvidence, len(f.e.containers))
	for i := range f.pulls {
		f.pulls[i] = f.pullEvidence(int16(i))
	}
	f.constraints = make([]constraint, 0, len(f.e.constraints)+4*len(f.pulls))
	var checks []constraint
	for _, c := range f.e.constraints {
		if c.key.milestone == MilestonePullRequested || // pullEvidence.requests contains this request
			c.key.milestone == MilestoneScheduled && f.e.boundByCreator { // the kubelet wrote PodScheduled
			continue
		}
		if c.key.milestone == MilestoneInspectFailed || c.key.milestone == MilestoneNameRefused {
			if attempt, known := f.attemptOfCheck(c.key.container, c.origin, c.latest); known {
				c.key.attempt = attempt
				checks = append(checks, c)
			}
			continue
		}
		if c.origin == originControlPlane {
			c = f.skew.widen(c)
		}
		f.constraints = append(f.constraints, c)
	}
	f.addConstraints(checks...)
	for i := range f.pulls {
		f.pulls[i].runtimeEnd = f.pullEnd(int16(i))
		for _, c := range f.pulls[i].requests {
			if c.key.attempt <= f.pulls[i].finalAttempt && c.earliest <= f.pulls[i].until {
				f.addConstraints(c.constraint)
			}
		}
		f.addConstraints(f.checkConstraints(int16(i))...)
		f.addConstraints(pullConstraints(int16(i), f.pulls[i])...)
		f.addConstraints(f.createFailureConstraints(int16(i))...)
	}
	for i := range f.e.pod.Containers {
		f.addConstraints(f.layerConstraints(&f.e.pod.Containers[i])...)
	}
	f.addConstraints(f.failureConstraints()...)
	f.addConstraints(f.startConstraints()...)
	f.addConstraints(f.readyAgainConstraints()...)
	f.obstacles = f.obstacleOccurrences()
	f.addConstraints(f.obstacleConstraints()...)
}

// addConstraints inserts a few constraints in sorted order.
func (f *fold) addConstraints(constraints ...constraint) {
	for _, c := range constraints {
		i, _ := slices.BinarySearchFunc(f.constraints, c, compareConstraints)
		f.constraints = slices.Insert(f.constraints, i, c)
	}
}

// containersInOrder returns the pod's containers in the order in which the kubelet starts them. containersInOrder
// leaves out ephemeral containers, which are not part of the start-up. containersInOrder also leaves out containers
// beyond the limit maxContainers.
func (f *fold) containersInOrder() []*Container {
	known := make([]*Container, 0, len(f.e.pod.Containers))
	for i := range f.e.pod.Containers {
		if c := &f.e.pod.Containers[i]; c.Kind != KindEphemeral && f.index(c.Name) != podWide {
			known = append(known, c)
		}
	}
	return known
}

func (f *fold) index(container string) int16 { return f.e.indexOf(container) }

// assemble uses the steps from newFold to compute the timeline from the pod's creation to the end of the start-up.
func (f *fold) assemble() Timeline {
	pod := f.e.pod
	t := Timeline{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Node: pod.Node, Owner: pod.Owner, Reason: pod.Reason,
		Reconstructed: f.e.Reconstructed(), Skew: f.skew,
	}
	if !pod.ReadAt.IsZero() {
		t.StaticUID, t.ReadAt = pod.RuntimeUID, pod.ReadAt
	}
	f.findUnclearChanges()
	t.Pulls = make([]Pull, 0, len(f.containers))
	for _, c := range f.containers {
		t.Pulls = f.appendPulls(t.Pulls, c)
	}
	f.slowest = f.slowestStart()
	f.phases = make([]Phase, 0, 2*len(f.bounds))
	path := f.boundaries()
	start := f.bounds.find(podMilestone(MilestoneCreated))
	state, end := f.endOfStartUp(path)
	t.State = state
	switch state {
	case StateStarting, StateDeleted, StateGivenUp:
		t.Reason = cmp.Or(t.Reason, f.e.waiting.reason)
	case StateFailed:
		t.Reason = cmp.Or(t.Reason, pod.endReason())
	}
	t.CreatedAt = start.estimate().time()
	t.Phases = f.spansBetween(path, start, end, state)
	f.blurChanges(&t)
	f.markLoading(t.Phases)
	if len(t.Phases) > 0 {
		t.Total = t.Phases[len(t.Phases)-1].EndAt.Sub(t.CreatedAt)
	}
	if state != StateStarting {
		t.SettledAt = t.CreatedAt.Add(t.Total)
	}
	t.TotalError = f.spanError(start, end)
	t.Reached = f.reached()
	t.LostEvents = f.lostEvents()
	t.Milestones = f.milestones()
	t.Conflicts = f.uniqueConflicts()
	t.Missing, t.Unreported = f.missingMilestones()
	t.Incomplete = len(t.Missing) > 0 || f.lacksEvents(t.LostEvents, t.Phases)
	t.EventMessage = f.e.messagesUntil(end.estimate().time())
	t.Probes = probesOf(f.containers)
	t.Revision, t.TraceParent, t.Labels = pod.Revision, pod.TraceParent, pod.Labels
	if pod.Traits != nil {
		t.Traits = *pod.Traits
	}
	return t
}

// milestones returns the evidence of every milestone. The pod's own milestones come first. The milestones of containers
// follow, sorted by container name.
func (f *fold) milestones() []MilestoneEvidence {
	containers := make([]int16, 0, len(f.e.containers))
	for i := range f.e.containers {
		containers = append(containers, int16(i))
	}
	slices.SortFunc(containers, func(a, b int16) int {
		return cmp.Compare(f.e.containers[a].name, f.e.containers[b].name)
	})
	milestones := f.appendMilestones(make([]MilestoneEvidence, 0, len(f.bounds)), podWide)
	for _, c := range containers {
		milestones = f.appendMilestones(milestones, c)
	}
	return milestones
}

func (f *fold) appendMilestones(milestones []MilestoneEvidence, container int16) []MilestoneEvidence {
	for _, b := range f.bounds.ofContainer(container) {
		milestones = append(milestones, MilestoneEvidence{
			Milestone: b.key.milestone, Container: f.name(b.key), Attempt: int(b.key.attempt),
			At: b.estimate().time(), Earliest: b.earliest.time(), Latest: b.latest.time(), Sources: b.origins.sources(),
		})
	}
	return milestones
}

// uniqueConflicts returns the conflicts without duplicates. The fold can find the same conflict more than once.
func (f *fold) uniqueConflicts() []Conflict {
	var all []Conflict
	for _, d := range f.allConflicts() {
		all = append(all, Conflict{d.key.milestone, f.name(d.key), d.detail})
	}
	slices.SortFunc(all, func(a, b Conflict) int {
		return cmp.Or(
			cmp.Compare(a.Container, b.Container),
			cmp.Compare(a.Milestone, b.Milestone),
			cmp.Compare(a.Detail, b.Detail),
		)
	})
	all = slices.Compact(all)
	return all[:min(len(all), maxConflicts)]
}

func (f *fold) allConflicts() []milestoneConflict {
	all := f.milestoneConflicts
	for i := range f.e.containers {
		if f.pulls[i].refuted {
			all = append(all, f.refutedImageEvents(int16(i))...)
		}
	}
	return all
}

func (f *fold) name(k milestoneKey) string {
	if k.container == podWide {
		return ""
	}
	return f.e.containers[k.container].name
}

// missingMilestones lists the milestones that the pod has passed, but for which there is no evidence. The list
// "unreported" contains the milestones that the runtime can never report. The list "missing" contains the other
// milestones. The list "missing" leaves out optional milestones, and milestones whose Event the kubelet's client might
// have dropped. The list "missing" also contains a text about dropped evidence, and the result of missingEvents.
func (f *fold) missingMilestones() (missing, unreported []string) {
	for _, c := range append([]chain{f.pod}, f.chains...) {
		lastKnown := -1
		for i, s := range c.steps {
			if f.bounds.find(s.key) != nil {
				lastKnown = i
			}
		}
		for _, s := range c.steps[:lastKnown+1] {
			switch {
			case s.key.milestone == MilestoneSandboxRunning && f.e.imageFirst.has(s.key.attempt):
				// containerd 1.x reports when the network was set up, but not when the sandbox started
				unreported = append(unreported, label(s.key, c.container))
			case s.optional || f.bounds.find(s.key) != nil || f.isBeyondEventLimit(s.key):
			case f.neverReported(s.key):
				unreported = append(unreported, label(s.key, c.container))
			default:
				missing = append(missing, label(s.key, c.container))
			}
		}
	}
	if f.e.overflow {
		missing = append(missing, "attempts beyond those kept")
	}
	return append(missing, f.missingEvents()...), unreported
}

// isBeyondEventLimit reports whether a milestone needs an Event that the kubelet's client might have dropped. Dropped
// Events are common for pods that recover from a registry outage. The field LostEvents can list the dropped Event.
func (f *fold) isBeyondEventLimit(k milestoneKey) bool {
	switch k.milestone {
	case MilestonePullRequested, MilestonePullStarted, MilestonePullFinished, MilestonePullFailed:
		return f.e.watchesEvents() && f.e.eventLimitReached()
	}
	return false
}

// missingEvents lists the agent's limits that might be the reason for missing Events about the pod. If the timeline
// needs no further Events, missingEvents returns nil.
func (f *fold) missingEvents() (limits []string) {
	if !f.e.requestsEvents(true) && !f.e.requestsSandboxEvents(f.asOf.time()) {
		return nil
	}
	if f.e.watchesLimited() {
		limits = append(limits, "Events beyond the agent's limits for Event watches")
	}
	if f.e.historyLimited && f.e.eventsMissedUntil() != 0 {
		limits = append(limits, "earlier Events beyond the number that the agent reads per namespace")
	}
	return limits
}

// neverReported reports whether the runtime can never report a milestone of a sandbox.
func (f *fold) neverReported(k milestoneKey) bool {
	switch k.milestone {
	case MilestoneSandboxBegun, MilestoneNetworkReady, MilestoneSandboxRunning:
		return f.e.unstamped.has(k.attempt)
	}
	return false
}

func label(k milestoneKey, container string) string {
	text := k.milestone.String()
	if container != "" {
		text += "/" + container
	}
	if k.attempt > 0 {
		text += "#" + strconv.Itoa(int(k.attempt))
	}
	return text
}
