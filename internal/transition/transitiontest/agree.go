package transitiontest

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/transition"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// agreement holds the timeline and the decoded transition records of one start-up.
type agreement struct {
	testing.TB
	want       timeline.Timeline
	pod        transition.Pod
	containers []transition.Metrics
	pulls      []transition.Metrics
}

// Agree compares transition records with the timeline of the same start-up. Times must lie within the bounds (earliest
// and latest time) of the timeline's milestones. Each duration must be the difference between its start time and its
// end time. If the timeline contains the same phase or pull, the durations must be equal. comparePhase and checkPull
// skip some phases and pulls.
func Agree(t testing.TB, tl timeline.Timeline, lines [][]byte, now time.Time) {
	t.Helper()
	a := &agreement{TB: t, want: tl}
	for i, line := range lines {
		var r transition.Record
		decoder := json.NewDecoder(bytes.NewReader(line))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&r); err != nil {
			t.Fatalf("%s%v", line, err)
		}
		m := r.Metrics
		if !r.Time.Equal(now) || m.Partial != tl.Partial || m.Namespace != tl.Namespace || m.PodName != tl.Name ||
			m.Node != tl.Node {
			t.Errorf("record %s does not belong to %s/%s at %s", line, tl.Namespace, tl.Name, now)
		}
		switch {
		case m.Pod != nil && i == 0:
			a.pod = *m.Pod
		case m.Container != nil && m.Type == "container":
			a.containers = append(a.containers, m)
		case m.ImagePull != nil && m.Type == "image_pull":
			a.pulls = append(a.pulls, m)
		default:
			t.Errorf("line %d has an unknown type: %s", i, line)
		}
	}
	a.checkPod()
	a.checkContainers()
	for _, m := range a.pulls {
		a.checkPull(m)
	}
	if t.Failed() {
		t.Fatalf("%s", bytes.Join(lines, nil))
	}
}

func (a *agreement) checkPod() {
	p := a.pod
	if !p.CreatedAt.Equal(a.want.CreatedAt) {
		a.Errorf("creation is %s, want %s as in the timeline", p.CreatedAt, a.want.CreatedAt)
	}
	a.checkWithin("scheduled", p.ScheduledAt, "", timeline.MilestoneScheduled)
	a.checkWithin("ready", p.ReadyAt, "", timeline.MilestoneReady)
	a.compareLength("creation to scheduled", p.CreationToScheduled, p.CreatedAt, p.ScheduledAt)
	a.compareLength("creation to initialized", p.CreationToInitialized, p.CreatedAt, p.InitializedAt)
	a.compareLength("scheduled to initialized", p.ScheduledToInitialized, p.ScheduledAt, p.InitializedAt)
	a.compareLength("creation to ready", p.CreationToReady, p.CreatedAt, p.ReadyAt)
	a.compareLength("initialized to ready", p.InitializedToReady, p.InitializedAt, p.ReadyAt)
	if a.want.State == timeline.StateReady &&
		(p.CreationToReady == nil || p.CreationToReady.Duration() != a.want.Total) &&
		len(a.want.Conflicts) == 0 && !a.want.ClockWasSet() {
		a.Errorf("ready after %v, want the total %s", p.CreationToReady, a.want.Total)
	}
	a.comparePhase(timeline.PhaseScheduling, "", p.CreationToScheduled)
}

// checkContainers checks the containers and their order. The containers that run before the main containers must come
// first, in spec order. The main containers must follow.
func (a *agreement) checkContainers() {
	var known []timeline.ContainerReached
	for _, c := range a.want.Containers {
		if c.Kind != timeline.KindImageVolume {
			known = append(known, c)
		}
	}
	if len(known) != len(a.containers) {
		a.Fatalf("got %d records, want one for each of %d containers", len(a.containers), len(known))
	}
	before := a.pod.CreatedAt // earliest time at which the kubelet can start the next container
	initialized := a.pod.InitializedAt
	for i, m := range a.containers {
		c, kind := m.Container, known[i].Kind
		isInit := kind == timeline.KindInit || kind == timeline.KindSidecar
		if m.ContainerName != known[i].Name || c.InitContainer != isInit {
			a.Errorf("container %d is %s, want the container of the timeline", i, m.ContainerName)
		}
		a.checkWithin("running", c.RunningAt, m.ContainerName, timeline.MilestoneRunning)
		a.checkWithin("started", c.StartedAt, m.ContainerName, timeline.MilestoneRunning, timeline.MilestonePostStarted,
			timeline.MilestoneStarted)
		ready := timeline.MilestoneContainerReady
		if kind == timeline.KindInit {
			ready = timeline.MilestoneFinished
		}
		a.checkWithin("ready", c.ReadyAt, m.ContainerName, ready)
		a.compareLength("running to started", c.RunningToStarted, c.RunningAt, c.StartedAt)
		a.compareLength("running to ready", c.RunningToReady, c.RunningAt, c.ReadyAt)
		a.compareLength("started to ready", c.StartedToReady, c.StartedAt, c.ReadyAt)
		switch {
		case !isInit:
			a.compareLength("initialized to running", c.InitializedToRunning, initialized, c.RunningAt)
			if c.PreviousToRunning != nil {
				a.Errorf("main container %s must not have a previous container", m.ContainerName)
			}
			continue
		case i == 0 && c.PreviousToRunning != nil, c.InitializedToRunning != nil, !c.StartedAt.IsZero(),
			c.RunningToStarted != nil, c.StartedToReady != nil:
			a.Errorf("init container %s has fields of other containers", m.ContainerName)
		case i > 0:
			a.compareLength("previous to running", c.PreviousToRunning, before, c.RunningAt)
		}
		before = c.ReadyAt
		if kind == timeline.KindSidecar {
			// The kubelet waits until a sidecar has started, but not until the sidecar is ready.
			before = api.Instant{Time: known[i].StartedAt}
		} else {
			a.comparePhase(timeline.PhaseInitRun, m.ContainerName, c.RunningToReady)
		}
		if before.IsZero() && !initialized.IsZero() || initialized.Before(before.Time) && !initialized.IsZero() {
			a.Errorf("initialized at %s, before %s completed at %s", initialized, m.ContainerName, before)
		}
	}
}

func (a *agreement) checkPull(m transition.Metrics) {
	p := m.ImagePull
	a.compareLength("pull", p.Duration, p.StartedAt, p.FinishedAt)
	var attempts []timeline.Pull
	for _, pull := range a.want.Pulls {
		name, tag := imagepull.SplitReference(pull.Image)
		isVolume := pull.Kind == timeline.KindImageVolume && name == m.ImageName && tag == m.ImageTag
		if pull.Container == m.ContainerName || m.ContainerName == "" && isVolume {
			attempts = append(attempts, pull)
		}
	}
	if len(attempts) == 0 {
		a.Fatalf("the timeline has no pull of %s", m.ContainerName)
	}
	last := attempts[len(attempts)-1]
	there := last.Outcome == imagepull.OutcomePresent || last.Outcome == imagepull.OutcomeVerified
	if p.AlreadyPresent != nil && *p.AlreadyPresent != there {
		a.Errorf("already_present is wrong: the outcome of the pull of %s is %s", m.ContainerName, last.Outcome)
	}
	if !p.FinishedAt.IsZero() && !p.FinishedAt.Equal(last.FinishedAt) {
		a.Errorf("pulled at %s, want %s as in the timeline", p.FinishedAt, last.FinishedAt)
	}
	if last.QueueTimed && len(attempts) == 1 && (p.Duration == nil || p.Duration.Duration() != last.Queue+last.Pull) &&
		!p.FinishedAt.IsZero() {
		a.Errorf("pulled for %v, want %s plus %s as in the timeline", p.Duration, last.Queue, last.Pull)
	}
}
