package factor_test

import (
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// startUp returns a start-up that ended at now minus ago. The durations of the phases are in milliseconds.
func startUp(name string, ago time.Duration, phases map[timeline.Phase]int, pulls ...timeline.Pull) timeline.Timeline {
	t := timeline.Timeline{
		Namespace: "shop", Name: name, UID: name, State: timeline.StateReady, SettledAt: now.Add(-ago), Pulls: pulls,
	}
	at := t.SettledAt.Add(-time.Hour)
	t.CreatedAt = at
	for _, phase := range slices.Sorted(maps.Keys(phases)) {
		end := at.Add(time.Duration(phases[phase]) * time.Millisecond)
		t.Phases = append(t.Phases, timeline.Span{
			Phase: phase, Cause: timeline.CauseOf(phase), StartAt: at, EndAt: end, Container: "app",
		})
		t.Total += end.Sub(at)
		at = end
	}
	return t
}

// download returns a pull of one layer. The durations are in milliseconds, and the size is in MiB.
func download(registry string, length, unpack, size int) timeline.Pull {
	began := now.Add(-30 * time.Minute)
	downloaded := began.Add(time.Duration(length-unpack/2) * time.Millisecond)
	return timeline.Pull{
		Container: "app", Kind: timeline.KindMain, Image: registry + "/web:1", Registry: registry, Confirmed: true,
		Outcome: imagepull.OutcomeDownloaded, Timed: true, Pull: time.Duration(length) * time.Millisecond,
		StartedAt: began, DownloadedAt: downloaded, FinishedAt: began.Add(time.Duration(length) * time.Millisecond),
		Layers: []timeline.Layer{{
			Digest: "sha256:aa", SizeBytes: int64(size) << 20, DownloadedAt: downloaded,
			UnpackedAt: downloaded.Add(time.Duration(unpack) * time.Millisecond),
		}},
	}
}

// undated returns the pull as it looks if the runtime cannot date a layer: without layers and bytes.
func undated(pull timeline.Pull) timeline.Pull {
	pull.Layers, pull.DownloadedAt = nil, time.Time{}
	return pull
}

// normal returns the phases of a normal start-up.
func normal() map[timeline.Phase]int {
	return map[timeline.Phase]int{
		timeline.PhaseScheduling: 300, timeline.PhaseKubeletPickup: 100, timeline.PhaseVolumes: 400,
		timeline.PhaseNetwork: 150, timeline.PhaseSandbox: 250, timeline.PhaseKubeletSync: 60, timeline.PhasePull: 2000,
		timeline.PhaseContainerCreate: 80, timeline.PhaseContainerStart: 170, timeline.PhaseReadinessProbe: 3000,
	}
}

// slow returns the phases of a start-up on a node with a slow network plugin.
func slow() map[timeline.Phase]int {
	phases := normal()
	phases[timeline.PhaseNetwork] = 4150
	return phases
}

// merged returns a start-up whose evidence does not separate volumes, network and sandbox. The argument "unreported"
// lists the milestones that the container runtime can never report.
func merged(name string, ago time.Duration, unreported ...string) timeline.Timeline {
	phases := normal()
	delete(phases, timeline.PhaseVolumes)
	delete(phases, timeline.PhaseNetwork)
	delete(phases, timeline.PhaseSandbox)
	phases[timeline.PhaseUnattributed] = 800
	t := startUp(name, ago, phases)
	t.Unreported = unreported
	for i := range t.Phases {
		if t.Phases[i].Phase == timeline.PhaseUnattributed {
			t.Phases[i].MergedWith = []timeline.Phase{
				timeline.PhaseVolumes,
				timeline.PhaseNetwork,
				timeline.PhaseSandbox,
			}
		}
	}
	return t
}

type nodes map[string][]timeline.Timeline

func times(n int, make func(i int) timeline.Timeline) (all []timeline.Timeline) {
	for i := range n {
		all = append(all, make(i))
	}
	return all
}
