package otlp

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const ms = time.Millisecond

var createdAt = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func after(d time.Duration) time.Time { return createdAt.Add(d) }

// coldStart is a pod with an init container that ran twice, and a main container whose image was pulled in two layers
// after a wait in the node's pull queue.
func coldStart() timeline.Timeline {
	cri, event := timeline.SourceCRI, timeline.SourceEventWatch
	milestone := func(m timeline.Milestone, container string, attempt int,
		at time.Duration) timeline.MilestoneEvidence {
		return timeline.MilestoneEvidence{
			Milestone: m, Container: container, Attempt: attempt, At: after(at), Earliest: after(at), Latest: after(at),
			Sources: []timeline.Source{cri},
		}
	}
	return timeline.Timeline{
		Namespace: "shop", Name: "web-7d4b-x", UID: "0b1c", Node: "node-a",
		Owner: timeline.Owner{Kind: "Deployment", Name: "web"}, Revision: "7d4b",
		State: timeline.StateReady, CreatedAt: createdAt, SettledAt: after(9*time.Second + 1), Total: 9*time.Second + 1,
		TotalError: 500 * ms,
		Phases: []timeline.Span{
			{
				Phase: timeline.PhaseVolumes, Cause: timeline.CauseVolumes, StartAt: createdAt,
				EndAt: after(time.Second), Error: 250 * ms, Sources: []timeline.Source{cri, event},
				MergedWith: []timeline.Phase{timeline.PhaseNetwork},
			},
			{Phase: timeline.PhaseKubeletSync, Cause: timeline.CauseKubelet, Container: "setup",
				StartAt: after(time.Second), EndAt: after(1100 * ms)},
			{Phase: timeline.PhaseKubeletSync, Cause: timeline.CauseKubelet, Container: "setup",
				StartAt: after(1100 * ms), EndAt: after(2 * time.Second),
				MergedWith: []timeline.Phase{timeline.PhaseContainerStart}, ImageLoading: true},
			{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, Container: "app", Attempt: 1,
				StartAt: after(2 * time.Second), EndAt: after(9*time.Second + 1)},
		},
		Pulls: []timeline.Pull{
			{
				Container: "setup", Image: "registry.example:5000/tools", Registry: "registry.example:5000",
				Outcome: imagepull.OutcomePresent, Sources: []timeline.Source{event},
			},
			{
				Container: "app", Image: "registry.example/web:2@sha256:ab", Registry: "registry.example",
				Outcome: imagepull.OutcomeFailed, Failure: "timeout", StartedAt: after(2 * time.Second),
				FinishedAt: after(2500 * ms),
			},
			{
				Container: "app", Image: "registry.example/web:2@sha256:ab", Registry: "registry.example",
				Digest:  "sha256:ab",
				Outcome: imagepull.OutcomeDownloaded, Attempt: 1, RequestedAt: after(3 * time.Second),
				StartedAt:    after(4 * time.Second),
				DownloadedAt: after(6 * time.Second), FinishedAt: after(7 * time.Second), Queue: time.Second,
				Pull: 3 * time.Second, Timed: true, QueueTimed: true, Error: 11 * ms, SizeBytes: 300,
				Layers: []timeline.Layer{
					{Digest: "sha256:01", SizeBytes: 100, DownloadedAt: after(5 * time.Second),
						UnpackedAt: after(5500 * ms)},
					{Digest: "sha256:02", SizeBytes: 200, DownloadedAt: after(6 * time.Second),
						UnpackedAt: after(6500 * ms)},
				},
				Sources: []timeline.Source{event},
				BlockedBy: &timeline.Blocker{Namespace: "shop", Pod: "big", Container: "app", Image: "big:1",
					Waited: 900 * ms},
				Ahead: 2, Beside: 7, Resumed: true, Lazy: true,
			},
		},
		Milestones: []timeline.MilestoneEvidence{
			milestone(timeline.MilestoneCreated, "", 0, 0),
			milestone(timeline.MilestoneContainerCreated, "app", 0, 7500*ms),
			milestone(timeline.MilestoneRunning, "app", 0, 8*time.Second),
			milestone(timeline.MilestoneContainerReady, "app", 0, 9*time.Second),
			milestone(timeline.MilestoneContainerCreated, "setup", 0, 1100*ms),
			milestone(timeline.MilestoneFinished, "setup", 0, 1200*ms),
			milestone(timeline.MilestoneContainerCreated, "setup", 1, 1300*ms),
			milestone(timeline.MilestoneFinished, "setup", 1, 1900*ms),
			milestone(timeline.MilestonePullFinished, "late", 0, time.Second),
		},
		Missing: []string{"acknowledged"},
		EventMessage: []timeline.EventMessage{
			{At: after(200 * ms), Reason: "FailedMount", Message: "no such \xff volume"},
			{At: after(3 * time.Second), Container: "app", Reason: "Pulling", Message: "Pulling image"},
		},
	}
}

// stuck is a pod without an owner that was given up during its second pull.
func stuck() timeline.Timeline {
	return timeline.Timeline{
		Namespace: "shop", Name: "batch", UID: "0b1d", Node: "node-a",
		State: timeline.StateGivenUp, CreatedAt: createdAt, SettledAt: after(time.Hour), Total: time.Hour,
		Pulls: []timeline.Pull{
			{
				Container: "job", Image: "job:1", Registry: "docker.io", Outcome: imagepull.OutcomePulling,
				RequestedAt: after(time.Second),
			},
			{
				Container: "job", Image: "job:1", Registry: "docker.io", Outcome: imagepull.OutcomeFailed,
				Failure: "not_found",
				Attempt: 1, RequestedAt: after(2 * time.Second), FinishedAt: after(3 * time.Second),
			},
		},
		Milestones: []timeline.MilestoneEvidence{
			{Milestone: timeline.MilestoneRunning, Container: "helper", At: after(time.Minute)},
		},
	}
}
