package startuptest

import (
	"fmt"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// After returns the creation time of the pods in this file, plus d.
func After(d time.Duration) time.Time {
	return time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC).Add(d)
}

// ColdStart returns the start-up of a pod with an init container and a main container. The node pulled the main
// container's image from a registry. The phases take:
//
//	0.5 s scheduling, 0.25 s pick-up, 2.25 s volumes+network+sandbox, 1 s queue, 5 s pull,
//	0.1 s create, 0.9 s start, 2.000000001 s readiness probe; 12.000000001 s in all
func ColdStart() timeline.Timeline {
	const ms = time.Millisecond
	watch, cri := timeline.SourcePodWatch, timeline.SourceCRI
	at := time.Duration(0)
	span := func(phase timeline.Phase, container string, length, bound time.Duration,
		sources ...timeline.Source) timeline.Span {
		s := timeline.Span{
			Phase: phase, Cause: timeline.CauseOf(phase), Container: container,
			StartAt: After(at), EndAt: After(at + length), Error: bound, Sources: sources,
		}
		at += length
		return s
	}
	t := timeline.Timeline{
		Namespace: "shop", Name: "web-0", UID: "0b1c", Node: "node-a",
		Owner: timeline.Owner{Kind: "StatefulSet", Name: "web"}, State: timeline.StateReady,
		CreatedAt: After(0), SettledAt: After(12*time.Second + 1),
		Total: 12*time.Second + 1, TotalError: time.Second,
		Reached: timeline.Reached{Containers: []timeline.ContainerReached{
			{Name: "setup", Image: "registry.example/tools:1", Kind: timeline.KindInit},
			{Name: "app", Image: "registry.example/web:2", Kind: timeline.KindMain, RunningAt: After(10 * time.Second)},
		}},
		Phases: []timeline.Span{
			span(timeline.PhaseScheduling, "", 500*ms, time.Second, watch),
			span(timeline.PhaseKubeletPickup, "", 250*ms, 250*ms, watch),
			span(timeline.PhaseVolumes, "", 2250*ms, 250*ms, cri),
			span(timeline.PhasePullQueue, "app", time.Second, 3*ms, timeline.SourceEventWatch),
			span(timeline.PhasePull, "app", 5*time.Second, ms, timeline.SourceEventWatch, timeline.SourceContainerd),
			span(timeline.PhaseContainerCreate, "app", 100*ms, 0, cri),
			span(timeline.PhaseContainerStart, "app", 900*ms, 0, cri),
			span(timeline.PhaseReadinessProbe, "app", 2*time.Second+1, 20*ms, watch),
		},
		Pulls: []timeline.Pull{
			{
				Container: "setup", Kind: timeline.KindInit, Image: "registry.example/tools:1",
				Registry: "registry.example",
				Outcome:  imagepull.OutcomePresent, Sources: []timeline.Source{timeline.SourceEventWatch},
			},
			{
				Container: "app", Kind: timeline.KindMain, Image: "registry.example/web:2",
				Registry: "registry.example", Digest: "sha256:aa", Outcome: imagepull.OutcomeDownloaded, Attempt: 1,
				RequestedAt: After(3 * time.Second), StartedAt: After(4 * time.Second),
				FinishedAt: After(9 * time.Second),
				Queue:      time.Second, Pull: 5 * time.Second, Timed: true, QueueTimed: true, Error: ms,
				SizeBytes: 20 << 20, Sources: []timeline.Source{timeline.SourceEventWatch, timeline.SourceContainerd},
			},
		},
		Milestones: []timeline.MilestoneEvidence{
			{Milestone: timeline.MilestoneCreated, Earliest: After(0), Latest: After(time.Second),
				Sources: []timeline.Source{watch}},
			{Milestone: timeline.MilestoneStarted, Container: "app", Latest: After(10 * time.Second),
				Sources: []timeline.Source{watch}},
		},
	}
	t.Phases[2].MergedWith = []timeline.Phase{timeline.PhaseNetwork, timeline.PhaseSandbox}
	return t
}

// All returns ColdStart, StillPulling and InTransition.
func All() []timeline.Timeline {
	return []timeline.Timeline{ColdStart(), StillPulling(), InTransition()}
}

// InTransition returns a start-up with all data that the records of package transition contain. Its timeline:
//
//	pod       scheduled after 0.5 s, ready at 22.000000001 s
//	setup     init container, runs from 2 s to 3.5 s
//	proxy     sidecar, runs from 4.25 s, ready at 4.75 s
//	app       pulled from 4.5 s (attempt 1 from 15 s) to 19 s
//	          runs from 20 s, started at 21.5 s, ready at 22.000000001 s
func InTransition() timeline.Timeline {
	const ms = time.Millisecond
	milestone := func(m timeline.Milestone, container string, at time.Duration) timeline.MilestoneEvidence {
		return timeline.MilestoneEvidence{Milestone: m, Container: container, Earliest: After(at), Latest: After(at)}
	}
	return timeline.Timeline{
		Namespace: "shop", Name: "web-5f4b7-x", UID: "0b1e", Node: "node-a", State: timeline.StateReady,
		Owner: timeline.Owner{Kind: "Deployment", Name: "web"},
		Traits: timeline.Traits{
			Controller: timeline.Owner{Kind: "ReplicaSet", Name: "web-5f4b7"},
			QOSClass:   "Burstable", PriorityClass: "high", RuntimeClass: "gvisor",
			App: timeline.AppLabels{
				Component: "front", Instance: "web-1", ManagedBy: "helm", Name: "web", PartOf: "shop", Version: "5.7",
			},
		},
		CreatedAt: After(0), SettledAt: After(22*time.Second + 1), Total: 22*time.Second + 1,
		Phases: []timeline.Span{{
			Phase: timeline.PhaseUnattributed, Cause: timeline.CauseUnknown, StartAt: After(0),
			EndAt: After(22*time.Second + 1),
		}},
		Reached: timeline.Reached{
			ScheduledAt: After(500 * ms), InitializedAt: After(4250 * ms), ReadyAt: After(22*time.Second + 1),
			Containers: []timeline.ContainerReached{
				{
					Name: "image:data:1", Image: "data:1", Kind: timeline.KindImageVolume,
				},
				{
					Name: "setup",
					Image: "registry.example:5000/tools/setup@sha256:" +
						"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
					Kind: timeline.KindInit, RunningAt: After(2 * time.Second), SucceededAt: After(3500 * ms),
				},
				{
					Name: "proxy", Image: "registry.example:5000/proxy:2", Kind: timeline.KindSidecar,
					RunningAt: After(4250 * ms), StartedAt: After(4250 * ms), ReadyAt: After(4750 * ms),
				},
				{
					Name: "app", Image: "web", Kind: timeline.KindMain,
					RunningAt: After(20 * time.Second), StartedAt: After(21500 * ms),
					ReadyAt: After(22*time.Second + 1),
				},
			},
		},
		Pulls: []timeline.Pull{
			{Container: "image:data:1", Kind: timeline.KindImageVolume, Image: "data:1",
				Outcome:     imagepull.OutcomeJoined,
				RequestedAt: After(time.Second), FinishedAt: After(1750 * ms)},
			// package transition creates no record for this pull, because all times of the pull are unknown
			{Container: "setup", Kind: timeline.KindInit, Image: "registry.example:5000/tools/setup@sha256:" +
				"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Outcome: imagepull.OutcomePresent},
			// FinishedAt is the time at which the kubelet found the image on the node
			{Container: "proxy", Kind: timeline.KindSidecar, Image: "registry.example:5000/proxy:2",
				Outcome:    imagepull.OutcomePresent,
				FinishedAt: After(4 * time.Second)},
			{Container: "app", Kind: timeline.KindMain, Image: "web", Outcome: imagepull.OutcomeFailed,
				RequestedAt: After(4500 * ms),
				FinishedAt:  After(5 * time.Second)},
			{
				Container: "app", Kind: timeline.KindMain, Image: "web", Outcome: imagepull.OutcomeDownloaded,
				Attempt: 1, RequestedAt: After(15 * time.Second),
				StartedAt: After(16 * time.Second), FinishedAt: After(19 * time.Second), Timed: true,
				QueueTimed: true, Queue: time.Second, Pull: 3 * time.Second,
			},
		},
		Milestones: []timeline.MilestoneEvidence{
			milestone(timeline.MilestoneScheduled, "", 500*ms),
			milestone(timeline.MilestoneReady, "", 22*time.Second+1),
			milestone(timeline.MilestoneRunning, "setup", 2*time.Second),
			milestone(timeline.MilestoneFinished, "setup", 3500*ms),
			milestone(timeline.MilestoneRunning, "proxy", 4250*ms),
			milestone(timeline.MilestoneContainerReady, "proxy", 4750*ms),
			milestone(timeline.MilestoneRunning, "app", 20*time.Second),
			milestone(timeline.MilestoneStarted, "app", 21500*ms),
			milestone(timeline.MilestoneContainerReady, "app", 22*time.Second+1),
		},
	}
}

// StillPulling returns the start-up of a pod without an owner. The first pull of the pod is in progress. Two sources
// disagree about one milestone (Conflicts), and two milestones lack evidence (Missing).
func StillPulling() timeline.Timeline {
	return timeline.Timeline{
		Namespace: "shop", Name: "batch", UID: "0b1d", Node: "node-a",
		State: timeline.StateStarting, CreatedAt: After(0), Total: 4 * time.Second, TotalError: time.Second,
		Phases: []timeline.Span{
			{
				Phase: timeline.PhaseUnattributed, Cause: timeline.CauseUnknown,
				StartAt: After(0), EndAt: After(time.Second), Error: time.Second,
			},
			{
				Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, Container: "job",
				StartAt: After(time.Second), EndAt: After(4 * time.Second), Open: true,
			},
		},
		Pulls: []timeline.Pull{{
			Container: "job", Image: "job:1", Registry: "docker.io", Outcome: imagepull.OutcomePulling,
			RequestedAt: After(time.Second),
		}},
		Conflicts: []timeline.Conflict{{
			Milestone: timeline.MilestoneRunning, Container: "job", Detail: "cri reports 3 s, pod_watch at least 5 s",
		}},
		Missing: []string{"scheduled", "sandbox_begun"},
	}
}

// Killed returns ColdStart with a termination that was requested 61 minutes after the pod's creation. The kubelet
// killed the pod's container 30 s after the deletion request.
func Killed() timeline.Timeline {
	t := ColdStart()
	from := After(time.Hour + time.Minute)
	stopped, gone := from.Add(30*time.Second), from.Add(31*time.Second)
	t.Termination = &timeline.Termination{
		RequestedAt: from, GoneAt: gone, Grace: 30 * time.Second, Total: 31 * time.Second,
		TotalError: 400 * time.Millisecond,
		Phases: []timeline.Span{
			{Phase: timeline.PhaseGrace, Cause: timeline.CauseApp, Container: "app", StartAt: from, EndAt: stopped},
			{Phase: timeline.PhaseObjectDeletion, Cause: timeline.CauseKubelet, StartAt: stopped, EndAt: gone},
		},
		Stops: []timeline.Stop{{
			Container: "app", Kind: timeline.KindMain, How: timeline.StopKilled, StoppedAt: stopped,
			Used:  30 * time.Second,
			Error: 10 * time.Millisecond, Timed: true, Exited: true, ExitCode: 137, Signal: 9, Reason: "Error",
		}},
	}
	return t
}

// Predictable returns ColdStart with more evidence. From this evidence, package whatif can predict how long the
// start-up would take without the pull.
func Predictable(name string) timeline.Timeline {
	t := ColdStart()
	t.Name, t.UID = name, name
	for _, container := range []string{"setup", "app"} {
		t.Milestones = append(t.Milestones, timeline.MilestoneEvidence{Milestone: timeline.MilestoneRunning,
			Container: container, Earliest: After(10 * time.Second), Latest: After(10 * time.Second)})
	}
	t.Probes = []timeline.Probe{{Container: "app", Kind: timeline.ProbeReadiness,
		ProbeTiming: timeline.ProbeTiming{Period: time.Second, Timeout: time.Second, Successes: 1}}}
	return t
}

// RolledOut returns four start-ups of each revision of the workload shop/StatefulSet/web. Each start-up is a variant of
// Predictable. The start-ups of each revision take five seconds longer than the start-ups of the previous revision.
func RolledOut(revisions ...string) []timeline.Timeline {
	var all []timeline.Timeline
	for i, revision := range revisions {
		for k := range 4 {
			t := Predictable(fmt.Sprintf("web-%s-%d", revision, k))
			later := time.Duration(i)*5*time.Second + time.Duration(k)*10*time.Millisecond
			last := &t.Phases[len(t.Phases)-1]
			last.EndAt, t.SettledAt, t.Total = last.EndAt.Add(later), t.SettledAt.Add(later), t.Total+later
			t.Revision, t.CreatedAt = revision, t.CreatedAt.Add(time.Duration(i)*time.Millisecond)
			all = append(all, t)
		}
	}
	return all
}
