package startuptest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// New returns a start-up of typical size. Each value of n gives a different start-up. The pod has an init container, a
// sidecar, and a container whose image came from a registry. Each start-up has its own timestamps, UID and digests.
// With equal values, the start-ups would compress better than real start-ups.
func New(n int) timeline.Timeline {
	s := &startUp{random: rand.New(rand.NewPCG(uint64(n), 1)),
		at: time.Date(2026, time.March, 1, 12, 0, 0, n, time.UTC)}
	deployment := fmt.Sprintf("web-%d", n/20)
	s.t = timeline.Timeline{
		Namespace: fmt.Sprintf("team-%d", n%7), Name: fmt.Sprintf("%s-%s-%05x", deployment, s.hex(9), n), UID: s.uid(),
		Node:  "node-1",
		Owner: timeline.Owner{Kind: "Deployment", Name: deployment}, Labels: fmt.Sprintf(
			"app.kubernetes.io/instance=%s,app.kubernetes.io/name=web,app=%s,pod-template-hash=%s,tier=front",
			deployment, deployment, s.hex(9)),
		State: timeline.StateReady, CreatedAt: s.at, TotalError: 620 * time.Millisecond,
	}
	s.phase(timeline.PhaseScheduling, "", timeline.MilestoneScheduled, timeline.SourcePodWatch)
	s.phase(timeline.PhaseKubeletPickup, "", timeline.MilestoneAcknowledged, timeline.SourcePodWatch)
	s.phase(timeline.PhaseVolumes, "", timeline.MilestoneSandboxBegun, timeline.SourceContainerd)
	s.phase(timeline.PhaseNetwork, "", timeline.MilestoneNetworkReady, timeline.SourceCRI, timeline.SourceContainerd)
	s.phase(timeline.PhaseSandbox, "", timeline.MilestoneSandboxRunning, timeline.SourceCRI)
	for _, container := range []string{"migrate", "proxy", "shop"} {
		s.phase(timeline.PhaseKubeletSync, container, timeline.MilestonePullRequested, timeline.SourceEventWatch)
		s.pull(container)
		s.phase(timeline.PhaseContainerCreate, container, timeline.MilestoneContainerCreated, timeline.SourceCRI)
		s.phase(timeline.PhaseContainerStart, container, timeline.MilestoneRunning, timeline.SourceCRI)
		if container == "migrate" {
			s.phase(timeline.PhaseInitRun, container, timeline.MilestoneFinished, timeline.SourceCRI)
		}
	}
	s.phase(timeline.PhaseReadinessProbe, "shop", timeline.MilestoneReady, timeline.SourcePodWatch)
	s.t.SettledAt, s.t.Total = s.at, s.at.Sub(s.t.CreatedAt)
	return s.t
}

type startUp struct {
	random *rand.Rand
	at     time.Time
	t      timeline.Timeline
}

func (s *startUp) hex(digits int) string {
	return fmt.Sprintf("%016x%016x%016x%016x", s.random.Uint64(), s.random.Uint64(), s.random.Uint64(),
		s.random.Uint64())[:digits]
}

func (s *startUp) uid() string {
	h := s.hex(32)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// phase adds a phase and the milestone at the end of the phase. The phase has a random length of up to two seconds.
func (s *startUp) phase(
	phase timeline.Phase,
	container string,
	milestone timeline.Milestone,
	sources ...timeline.Source,
) {
	from := s.at
	s.at = s.at.Add(time.Duration(s.random.Int64N(int64(2 * time.Second))))
	bound := time.Duration(s.random.Int64N(int64(100 * time.Millisecond)))
	s.t.Phases = append(s.t.Phases, timeline.Span{
		Phase: phase, Cause: timeline.CauseOf(phase), Container: container, StartAt: from, EndAt: s.at, Error: bound,
		Sources: sources,
	})
	s.t.Milestones = append(s.t.Milestones, timeline.MilestoneEvidence{
		Milestone: milestone, Container: container, At: s.at, Earliest: s.at.Add(-bound), Latest: s.at.Add(bound),
		Sources: sources,
	})
}

func (s *startUp) pull(container string) {
	const registry = "registry.example:5000"
	p := timeline.Pull{
		Container: container, Image: registry + "/team/" + container + ":" + s.hex(8), Registry: registry,
		Outcome: imagepull.OutcomePresent, RequestedAt: s.at, Sources: []timeline.Source{timeline.SourceEventWatch},
		SizeBytes: 1_000_000 + s.random.Int64N(1<<26),
	}
	if container != "shop" {
		s.t.Pulls = append(s.t.Pulls, p)
		return
	}
	s.phase(timeline.PhasePullQueue, container, timeline.MilestonePullStarted, timeline.SourceEventWatch)
	p.StartedAt = s.at
	s.phase(timeline.PhasePull, container, timeline.MilestonePullDownloaded, timeline.SourceContainerd)
	p.DownloadedAt = s.at
	s.phase(timeline.PhaseUnpack, container, timeline.MilestonePullFinished, timeline.SourceContainerd)
	p.FinishedAt, p.Outcome, p.Digest = s.at, imagepull.OutcomeDownloaded, "sha256:"+s.hex(64)
	p.Timed, p.QueueTimed, p.Queue, p.Pull, p.Error = true, true, p.StartedAt.Sub(p.RequestedAt),
		p.FinishedAt.Sub(p.StartedAt), 4*time.Millisecond
	for i := range 4 {
		p.Layers = append(p.Layers, timeline.Layer{
			Digest: "sha256:" + s.hex(64), SizeBytes: s.random.Int64N(1 << 24),
			DownloadedAt: p.StartedAt.Add(time.Duration(i+1) * time.Millisecond),
			UnpackedAt:   p.StartedAt.Add(time.Duration(i+2) * time.Millisecond),
		})
	}
	s.t.Pulls = append(s.t.Pulls, p)
}

// Changed returns a copy of the start-up with the state StateStarting and another total time. The copy looks like the
// start-up after a new observation.
func Changed(t timeline.Timeline, n int) timeline.Timeline {
	h := fnv.New64a()
	fmt.Fprint(h, t.UID, n)
	t.State, t.Partial = timeline.StateStarting, true
	t.Total += time.Duration(h.Sum64() % uint64(time.Second))
	return t
}
