package agent

import (
	"path"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
)

// compareLabels requires that every record names the same pod and the same owner as the timeline.
func (c *comparison) compareLabels() {
	t, first := c.timeline, c.timeline.Transitions[0].Metrics.TransitionLabels
	for i, record := range t.Transitions {
		m := record.Metrics
		if m.Namespace != t.Namespace || m.PodName != t.Name || m.Node != t.Node || m.Partial != t.Partial {
			c.problem("transition record %d must be about the timeline's pod, but is about %s/%s on node %s, "+
				"partial %t", i, m.Namespace, m.PodName, m.Node,
				m.Partial)
		}
		if m.TransitionLabels != first {
			c.problem("the labels of transition record %d differ from the pod's: %+v", i, m.TransitionLabels)
		}
		if m.Type == "pod" && m.Container+m.ShortImage+m.ImageName+m.ImageTag != "" {
			c.problem("the pod's transition record must have no container and no image")
		}
	}
	reported := TransitionLabels{OwnerKind: first.OwnerKind, OwnerName: first.OwnerName, CronJob: first.CronJob,
		DaemonSet:  first.DaemonSet,
		Deployment: first.Deployment, Job: first.Job, ReplicaSet: first.ReplicaSet, StatefulSet: first.StatefulSet,
		Service: first.Service}
	if want := t.Owner.transitionLabels(first.OwnerName); reported != want {
		c.problem("the owner's labels are %+v, want the labels of %s %s: %+v", reported, t.Owner.Kind, t.Owner.Name,
			want)
	}
	if made := t.Owner.Kind == "Deployment" ||
		t.Owner.Kind == "CronJob"; made && !strings.HasPrefix(first.OwnerName, t.Owner.Name+"-") {
		c.problem("the controller %s cannot belong to %s %s", first.OwnerName, t.Owner.Kind, t.Owner.Name)
	}
}

// transitionLabels returns the labels of a pod with this owner. If the owner is a Deployment, the argument "between"
// is the name of the pod's ReplicaSet. If the owner is a CronJob, "between" is the name of the pod's Job. The timeline
// does not contain these names.
func (o Owner) transitionLabels(between string) TransitionLabels {
	l := TransitionLabels{OwnerKind: strings.ToLower(o.Kind), OwnerName: o.Name}
	switch o.Kind {
	case "CronJob":
		return TransitionLabels{OwnerKind: "job", OwnerName: between, Job: between, CronJob: o.Name}
	case "Deployment":
		return TransitionLabels{OwnerKind: "replicaset", OwnerName: between, ReplicaSet: between, Deployment: o.Name}
	case "DaemonSet":
		l.DaemonSet = o.Name
	case "Job":
		l.Job = o.Name
	case "ReplicaSet":
		l.ReplicaSet = o.Name
	case "StatefulSet":
		l.StatefulSet = o.Name
	}
	return l
}

// compareImage requires that a record contains the image reference from the pod's specification.
func (c *comparison) compareImage(m TransitionMetrics, ref string) {
	repository, tag := splitReference(ref)
	short := ""
	if repository != "" {
		short = path.Base(repository)
	}
	if m.ImageName != repository || m.ImageTag != tag || m.ShortImage != short {
		c.problem("%s %s has the image name %s, tag %s and short image %s; for image %s, want name %s and tag %s",
			m.Type, m.Container, m.ImageName, m.ImageTag,
			m.ShortImage, ref, repository, tag)
	}
}

// splitReference splits an image reference into the repository (including the registry) and the tag. If the reference
// has no tag, splitReference returns the digest instead. If the reference is invalid, both results are empty.
func splitReference(ref string) (repository, tag string) {
	parsed, err := name.ParseReference(ref)
	if err != nil {
		return "", ""
	}
	tag = parsed.Identifier()
	if tagged, _, pinned := strings.Cut(ref, "@"); pinned && strings.Contains(path.Base(tagged), ":") {
		_, tag, _ = strings.Cut(path.Base(tagged), ":")
	}
	registry := parsed.Context().RegistryStr()
	if registry == name.DefaultRegistry {
		registry = "docker.io"
	}
	return registry + "/" + parsed.Context().RepositoryStr(), tag
}
