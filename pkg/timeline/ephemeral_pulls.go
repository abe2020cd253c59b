package timeline

import (
	"slices"
	"time"
)

// EphemeralEvidence holds the evidence for the image pulls of ephemeral containers, which users add to a pod with
// kubectl debug. The pod's start-up does not include the pulls of ephemeral containers, and might have ended long
// before these pulls. EphemeralEvidence is not safe for concurrent use.
type EphemeralEvidence struct {
	evidence *Evidence
	reported []string // names of the ephemeral containers that the evidence leaves out
	clock    ClockLog
}

// NewEphemeralEvidence returns the evidence for the pod's ephemeral containers. The evidence leaves out the containers
// in the list "over". The evidence also leaves out containers that have already started, because the agent did not see
// their pulls. If no container remains, NewEphemeralEvidence returns nil.
func NewEphemeralEvidence(scope Scope, o PodSeen, over []string) *EphemeralEvidence {
	if !slices.ContainsFunc(o.Pod.Containers, func(c Container) bool {
		return c.Kind == KindEphemeral && !c.hasRun() && !slices.Contains(over, c.Name)
	}) {
		return nil
	}
	d := &EphemeralEvidence{reported: slices.Clone(over)}
	for _, c := range o.Pod.Containers {
		if c.Kind == KindEphemeral && c.hasRun() {
			d.reported = append(d.reported, c.Name)
		}
	}
	scope.Since = time.Time{}
	d.evidence = NewEvidence(scope)
	d.evidence.ignoreMessages = true
	d.Apply(o)
	return d
}

// Apply adds an observation about the pod and reports whether the evidence changed.
func (d *EphemeralEvidence) Apply(o Observation) (changed bool) {
	switch seen := o.(type) {
	case PodSeen:
		o = d.keepUnreported(seen)
	case ClockSet:
		return d.clock.Observe(seen) // not for d.evidence, because the pod can be much older than the pulls
	}
	return d.evidence.Apply(o)
}

// keepUnreported replaces the observed pod with a new pod. The new pod contains only the ephemeral containers whose
// pulls the agent still has to report. In the new pod, these containers are main containers. The new pod has the phase
// Pending until all its containers have started, and then Succeeded. So the agent can treat the pulls of ephemeral
// containers like the pulls of a start-up.
func (d *EphemeralEvidence) keepUnreported(o PodSeen) PodSeen {
	p := o.Pod
	d.evidence.otherRuns = max(d.evidence.otherRuns, d.otherRuns(o))
	o.Pod = Pod{
		UID: p.UID, RuntimeUID: p.RuntimeUID, Namespace: p.Namespace, Name: p.Name, Node: p.Node,
		CreatedAt: p.CreatedAt, DeletedAt: p.DeletedAt, Phase: "Succeeded", Containers: d.ephemeral(p),
	}
	for i := range o.Pod.Containers {
		o.Pod.Containers[i].Kind = KindMain
		if !o.Pod.Containers[i].hasRun() {
			o.Pod.Phase = "Pending"
		}
	}
	return o
}

// otherRuns returns the number of recent runs of the containers that EphemeralEvidence leaves out. The Events about
// these runs also count toward the kubelet's limit of Events for each pod.
func (d *EphemeralEvidence) otherRuns(o PodSeen) (runs int) {
	for i := range o.Pod.Containers {
		c := &o.Pod.Containers[i]
		if c.Kind != KindEphemeral || slices.Contains(d.reported, c.Name) {
			runs += c.recentRuns(o.ArrivedAt)
		}
	}
	return runs
}

func (d *EphemeralEvidence) ephemeral(p Pod) []Container {
	return slices.DeleteFunc(slices.Clone(p.Containers), func(c Container) bool {
		return c.Kind != KindEphemeral || slices.Contains(d.reported, c.Name)
	})
}

// hasRun reports whether a container has started.
func (c *Container) hasRun() bool { return c.State == StateRunning || c.State == StateTerminated }

// Requests returns the result of Evidence.Requests for the ephemeral containers.
func (d *EphemeralEvidence) Requests(now time.Time) Requests { return d.evidence.Requests(now) }

// Settled reports whether the agent can stop waiting for evidence about the pulls. Settled returns true under two
// conditions: all ephemeral containers have started or the pod is deleted, and the agent expects no more relevant
// evidence. If the agent gives up waiting for the ephemeral containers, Settled also returns true.
func (d *EphemeralEvidence) Settled(now time.Time) bool { return d.evidence.Settled(now) }

// Pod returns the pod from the latest PodSeen, with only the ephemeral containers that the evidence covers.
func (d *EphemeralEvidence) Pod() Pod { return d.evidence.Pod() }

// Over returns the names of all known ephemeral containers. After Settled returns true, the caller passes these names
// to NewEphemeralEvidence. Then the agent does not report the pulls of these containers again.
func (d *EphemeralEvidence) Over() []string {
	over := slices.Clone(d.reported)
	for _, c := range d.evidence.Pod().Containers {
		over = append(over, c.Name)
	}
	return over
}

// knownTimes returns the first and the last known time of a pull. While the pull has no end, the last time is "now".
func (p *Pull) knownTimes(now time.Time) (first, last time.Time) {
	first, last = now, p.FinishedAt
	for _, at := range [...]time.Time{p.FinishedAt, p.StartedAt, p.RequestedAt} {
		if !at.IsZero() {
			first = at
		}
	}
	if last.IsZero() {
		last = now
	}
	return first, last
}

// Pulls returns the attempts to pull the images of the ephemeral containers, up to the time "now".
func (d *EphemeralEvidence) Pulls(now time.Time, skew Skew) []Pull {
	t, _ := d.evidence.Timeline(now, skew)
	for i := range t.Pulls {
		p := &t.Pulls[i]
		p.Kind = KindEphemeral
		if by := d.clock.ChangedBetween(p.knownTimes(now)); by > 0 {
			p.clockChanged(by)
		}
	}
	return t.Pulls
}
