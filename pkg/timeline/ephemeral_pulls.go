package timeline

import (
	"slices"
	"time"
)

// EphemeralEvidence follows the pulls of the ephemeral containers that are added to a pod (kubectl debug). They are
// not part of its start-up, which may be long over, but the kubelet pulls their images like any other. Not safe for
// concurrent use.
type EphemeralEvidence struct {
	evidence *Evidence
	reported []string // names of ephemeral containers that are already reported
}

// NewEphemeralEvidence begins with a pod as it is now and ignores the ephemeral containers in over. It returns nil if
// there is no other ephemeral container, or if all of them have already run, because their pulls were not seen.
func NewEphemeralEvidence(scope Scope, o PodSeen, over []string) *EphemeralEvidence {
	if !slices.ContainsFunc(o.Pod.Containers, func(c Container) bool {
		return c.Kind == KindEphemeral && !c.ran() && !slices.Contains(over, c.Name)
	}) {
		return nil
	}
	d := &EphemeralEvidence{reported: slices.Clone(over)}
	for _, c := range o.Pod.Containers {
		if c.Kind == KindEphemeral && c.ran() {
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
	if seen, ok := o.(PodSeen); ok {
		o = d.reduce(seen)
	}
	return d.evidence.Apply(o)
}

// reduce returns a pod that has only the ephemeral containers, as main containers, and that succeeds when all of
// them have run. So the code for the pulls of a start-up also works for theirs.
func (d *EphemeralEvidence) reduce(o PodSeen) PodSeen {
	p := o.Pod
	o.Pod = Pod{
		UID: p.UID, RuntimeUID: p.RuntimeUID, Namespace: p.Namespace, Name: p.Name, Node: p.Node,
		CreatedAt: p.CreatedAt, DeletedAt: p.DeletedAt, Phase: "Succeeded", Containers: d.ephemeral(p),
	}
	for i := range o.Pod.Containers {
		o.Pod.Containers[i].Kind = KindMain
		if !o.Pod.Containers[i].ran() {
			o.Pod.Phase = "Pending"
		}
	}
	return o
}

func (d *EphemeralEvidence) ephemeral(p Pod) []Container {
	return slices.DeleteFunc(slices.Clone(p.Containers), func(c Container) bool {
		return c.Kind != KindEphemeral || slices.Contains(d.reported, c.Name)
	})
}

// ran reports whether a container has started, so that its image is present.
func (c *Container) ran() bool { return c.State == StateRunning || c.State == StateTerminated }

// Requests is Evidence.Requests for the ephemeral containers.
func (d *EphemeralEvidence) Requests(now time.Time) Requests { return d.evidence.Requests(now) }

// Settled is Evidence.Settled for the ephemeral containers: all of them have run, or the pod is deleted, and no more
// relevant evidence is expected.
func (d *EphemeralEvidence) Settled(now time.Time) bool { return d.evidence.Settled(now) }

// Pod is the pod as last seen, with its ephemeral containers only.
func (d *EphemeralEvidence) Pod() Pod { return d.evidence.Pod() }

// Over returns the names of all ephemeral containers that need no report once these pulls are settled.
func (d *EphemeralEvidence) Over() []string {
	over := slices.Clone(d.reported)
	for _, c := range d.evidence.Pod().Containers {
		over = append(over, c.Name)
	}
	return over
}

// Pulls returns the attempts to pull the images of the ephemeral containers so far.
func (d *EphemeralEvidence) Pulls(now time.Time, skew Skew) []Pull {
	t, _ := d.evidence.Timeline(now, skew)
	for i := range t.Pulls {
		t.Pulls[i].Kind = KindEphemeral
	}
	return t.Pulls
}
