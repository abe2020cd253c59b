package nodestart

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// podObject holds the fields of a pod object that show how the pod got its node. Without a report of a scheduler,
// unschedulableAt is zero.
type podObject struct {
	createdAt, unschedulableAt, boundAt, readyAt time.Time
	generation                                   int64
	claims                                       bool // the pod claims volumes
	owner                                        timeline.Owner
	namespace, name                              string
}

// timeline computes the start-up in the way of the agent: with package timeline, from versions of the pod object that a
// watch delivers.
func (p podObject) timeline(t *testing.T, now time.Time) timeline.Timeline {
	t.Helper()
	e := timeline.NewEvidence(timeline.Scope{})
	version := timeline.Pod{UID: p.namespace + "/" + p.name, Namespace: p.namespace, Name: p.name, Owner: p.owner,
		CreatedAt: p.createdAt.Truncate(time.Second), Generation: p.generation, UnschedulableAt: p.unschedulableAt,
		FieldsManaged: true, VolumeClaims: p.claims, Phase: "Pending",
		Containers: []timeline.Container{{Name: "app", Kind: timeline.KindMain, State: timeline.StateWaiting}}}
	met := func(condition string, at time.Time) {
		version.Conditions = append(version.Conditions, timeline.Condition{Type: condition, True: true,
			TransitionAt: at.Truncate(time.Second)})
		e.Apply(timeline.PodSeen{ArrivedAt: at, Live: true, Pod: version})
	}
	met("PodScheduled", p.boundAt)
	if !p.readyAt.IsZero() {
		version.Phase, version.Containers = "Running", []timeline.Container{{Name: "app", Kind: timeline.KindMain,
			State: timeline.StateRunning, StartedAt: p.readyAt.Truncate(time.Second), Started: true, Ready: true}}
		met("Ready", p.readyAt)
	}
	got, ok := e.Timeline(now, timeline.Skew{})
	if !ok {
		t.Fatal("no timeline")
	}
	return got
}

func foldedPodOf(t *testing.T, now time.Time, words []string) timeline.Timeline {
	t.Helper()
	var p podObject
	p.owner.Kind, p.owner.Name, _ = strings.Cut(words[0], "/")
	p.namespace, p.name, _ = strings.Cut(words[1], "/")
	p.generation, _ = strconv.ParseInt(value(words, "generation"), 10, 64)
	for key, at := range map[string]*time.Time{"created": &p.createdAt, "unschedulable": &p.unschedulableAt,
		"bound": &p.boundAt, "ready": &p.readyAt} {
		if v := value(words, key); v != "" {
			*at = stamp(t, v)
		}
	}
	return p.timeline(t, now)
}
