package timeline

import (
	"slices"
	"time"
)

// Debug follows the pulls of the ephemeral containers that somebody adds to a pod (kubectl debug). They are no part of its
// start-up, which may be over long since, but the kubelet pulls their images like any other. Not safe for concurrent use.
type Debug struct {
	evidence *Evidence
	reported []string // names of ephemeral containers that have been told of
}

// NewDebug begins with a pod as it is now, of which all but the ephemeral containers in over are to be told of. It is nil if
// there is none, or if all have run already: nobody saw their pulls.
func NewDebug(scope Scope, o PodSeen, over []string) *Debug {
	if !slices.ContainsFunc(o.Pod.Containers, func(c Container) bool {
		return c.Kind == KindEphemeral && !c.ran() && !slices.Contains(over, c.Name)
	}) {
		return nil
	}
	d := &Debug{reported: slices.Clone(over)}
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

// Apply adds what an observation about the pod tells; it returns whether that was news.
func (d *Debug) Apply(o Observation) (changed bool) {
	if seen, ok := o.(PodSeen); ok {
		o = d.reduce(seen)
	}
	return d.evidence.Apply(o)
}

// reduce makes of a pod one that has nothing but its ephemeral containers, and that is done when all have run: what tells
// of the pulls of a start-up then tells of theirs.
func (d *Debug) reduce(o PodSeen) PodSeen {
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

func (d *Debug) ephemeral(p Pod) []Container {
	return slices.DeleteFunc(slices.Clone(p.Containers), func(c Container) bool {
		return c.Kind != KindEphemeral || slices.Contains(d.reported, c.Name)
	})
}

// ran says that a container has started, so that its image is there.
func (c *Container) ran() bool { return c.State == StateRunning || c.State == StateTerminated }

// Wants is as of an Evidence.
func (d *Debug) Wants(now time.Time) Wants { return d.evidence.Wants(now) }

// Settled is as of an Evidence: all have run, or the pod is deleted, and nothing more that matters will come.
func (d *Debug) Settled(now time.Time) bool { return d.evidence.Settled(now) }

// Pod is the pod with its ephemeral containers alone, as last seen.
func (d *Debug) Pod() Pod { return d.evidence.Pod() }

// Over are the names of all ephemeral containers that need not be told of again once this is settled.
func (d *Debug) Over() []string {
	over := slices.Clone(d.reported)
	for _, c := range d.evidence.Pod().Containers {
		over = append(over, c.Name)
	}
	return over
}

// Pulls are the attempts to get the images of the ephemeral containers so far.
func (d *Debug) Pulls(now time.Time, skew Skew) []Pull {
	t, _ := d.evidence.Timeline(now, skew)
	for i := range t.Pulls {
		t.Pulls[i].Kind = KindEphemeral
	}
	return t.Pulls
}
