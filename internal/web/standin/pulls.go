package main

import (
	"time"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// pullsSince returns four pulls that never finish. The runtime unpacks the first image and has downloaded a quarter of
// the second image. The third image waits in the queue. No pod on the node requested the fourth image.
func pullsSince(began time.Time) func() livepull.Snapshot {
	const registry, mebibyte = "registry.example", 1 << 20
	var starting []timeline.Timeline
	for i, name := range []string{"unpacked", "half-way", "waiting"} {
		starting = append(starting, timeline.Timeline{
			Namespace: "queue", Name: name, UID: name, State: timeline.StateStarting, CreatedAt: began,
			Pulls: []timeline.Pull{{
				Container: "app", Kind: timeline.KindMain, Image: registry + "/team/" + name + ":1", Registry: registry,
				Outcome: imagepull.OutcomePulling, RequestedAt: began.Add(-time.Duration(30-i) * time.Second),
			}},
		})
	}
	download := func(repository string, done int64) imagepull.Download {
		return imagepull.Download{
			Registry: registry, Repository: "team/" + repository, Digest: "sha256:" + repository,
			DoneBytes: done * mebibyte, TotalBytes: 20 * mebibyte,
			StartedAt: began.Add(-28 * time.Second), Blobs: 1,
		}
	}
	unpacked := download("unpacked", 20)
	unpacked.Complete, unpacked.Blobs = true, 0
	halfWay := download("half-way", 5)
	halfWay.BytesPerSecond = 4000 // the rest of the download needs 1 h 5 m 32 s
	downloads := []imagepull.Download{unpacked, halfWay, download("preloaded", 10)}
	return func() livepull.Snapshot {
		return livepull.Snapshot{Starting: starting, Downloads: downloads, Now: time.Now()}
	}
}

// hostilePulls returns the pulls of hostileStartUps. hostilePulls marks all pulls as pulls in progress.
func hostilePulls() func() livepull.Snapshot {
	starting := hostileStartUps()
	for i := range starting {
		for j := range starting[i].Pulls {
			starting[i].Pulls[j].Outcome = imagepull.OutcomePulling
		}
	}
	return func() livepull.Snapshot {
		return livepull.Snapshot{Starting: starting, Downloads: []imagepull.Download{}, Now: time.Now()}
	}
}
