package timeline

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
)

// simulatedStep is the length of a step of the simulation of parallel pulls.
const simulatedStep = 10 * time.Millisecond

func afterSteps(n int) time.Time { return base.Add(time.Duration(n) * simulatedStep) }

// lockedLayer is a layer that several simulated pulls can need. A time is 0 until the download or the unpacking begins.
type lockedLayer struct {
	fetch, unpack            int // how long the download and the unpacking take, in steps
	downloadedAt, unpackedAt int // the step in which they end
	locked                   bool
}

// lockingPull is a simulated pull of containerd. Its times are in steps.
type lockingPull struct {
	image  string
	layers []*lockedLayer
	// When the pull begins, when the index of the image arrives, and when the pull tries to lock its first layer.
	begins, resolved, locks int
	ends                    int // 0 while the pull runs
	next                    int // the layer that the pull needs next
	holds                   bool
	fetches                 bool // the pull has begun its downloads
	diskWaits               []int
}

// simulatedPulls returns several pulls whose images can have their lower layers in common.
func simulatedPulls(random *rand.Rand) (pulls []*lockingPull) {
	layer := func() *lockedLayer {
		return &lockedLayer{fetch: 1 + random.IntN(200), unpack: 1 + random.IntN(200)}
	}
	images := [][]*lockedLayer{{layer()}}
	for range random.IntN(5) {
		parent := images[random.IntN(len(images))]
		image := append([]*lockedLayer(nil), parent[:random.IntN(len(parent)+1)]...)
		for range 1 + random.IntN(3) {
			image = append(image, layer())
		}
		images = append(images, image)
	}
	for range 2 + random.IntN(5) {
		i, resolve := random.IntN(len(images)), 1+random.IntN(100)
		p := &lockingPull{image: fmt.Sprint("image-", i), layers: images[i], begins: 1 + random.IntN(300)}
		p.resolved = p.begins + resolve
		p.locks = p.resolved + random.IntN(resolve+1)
		pulls = append(pulls, p)
	}
	for t, running := 0, true; running; t++ {
		running = false
		for _, i := range random.Perm(len(pulls)) {
			pulls[i].step(t)
			running = running || pulls[i].ends == 0
		}
		for _, p := range pulls {
			p.noteDiskWait(t)
		}
	}
	return pulls
}

// step continues the pull in the step t (core/unpack/unpacker.go in containerd).
func (p *lockingPull) step(t int) {
	if t < p.locks || p.ends != 0 {
		return
	}
	for p.next < len(p.layers) {
		l := p.layers[p.next]
		unpacked := l.unpackedAt != 0 && l.unpackedAt <= t
		switch {
		case p.holds && !unpacked, !p.holds && l.locked:
			return
		case p.holds:
			p.holds, l.locked = false, false
			p.next++
		case unpacked:
			p.next++
		default:
			p.holds, l.locked = true, true
			for _, m := range p.layers[p.next:] {
				if !p.fetches && m.downloadedAt == 0 {
					m.downloadedAt = t + m.fetch
				}
			}
			p.fetches = true
			l.unpackedAt = max(t, l.downloadedAt) + l.unpack
		}
	}
	p.ends = t
}

// noteDiskWait records that only the disk delays the pull in the step t: the pull waits until the runtime has unpacked
// a layer for another pull, and no layer of the image is being downloaded.
func (p *lockingPull) noteDiskWait(t int) {
	if t < p.locks || p.ends != 0 || p.holds || t >= p.layers[p.next].unpackedAt {
		return
	}
	for _, l := range p.layers {
		if l.downloadedAt > t {
			return
		}
	}
	p.diskWaits = append(p.diskWaits, t)
}

// timeline returns the timeline of the pull's pod before PullLog.Complete. The result is nil if no layer arrived during
// the pull.
func (p *lockingPull) timeline(uid string) *Timeline {
	var layers []Layer
	for i, l := range p.layers {
		layers = append(layers, Layer{Digest: fmt.Sprint(i), SizeBytes: 9, DownloadedAt: afterSteps(l.downloadedAt),
			UnpackedAt: afterSteps(l.unpackedAt)})
	}
	began, ended := afterSteps(p.begins), afterSteps(p.ends)
	since := layersSince(layers, at(began))
	if len(since) == 0 {
		return nil
	}
	last := lastDownload(since)
	return &Timeline{
		UID: uid,
		Phases: []Span{{Phase: PhasePull, Container: "app", StartAt: began, EndAt: last},
			{Phase: PhaseUnpack, Container: "app", StartAt: last, EndAt: ended}},
		Pulls: []Pull{{Container: "app", Image: p.image, RequestedAt: began, StartedAt: began, DownloadedAt: last,
			FinishedAt: ended, Layers: since, imageLayers: layers, resolvedAt: at(afterSteps(p.resolved))}},
	}
}

// observe adds the pull to the log as it is in the step now. The runtime reports the layers of some images.
func (p *lockingPull) observe(log *PullLog, uid string, now int, random *rand.Rand) {
	seconds := func(steps int) float64 { return (time.Duration(steps) * simulatedStep).Seconds() }
	if p.begins > now {
		return
	}
	other := otherPodsPull{image: p.image, from: seconds(p.begins)}
	if p.ends <= now {
		other.until = seconds(p.ends)
	}
	if random.IntN(2) == 0 {
		for _, l := range p.layers {
			other.unpacked = append(other.unpacked, seconds(l.unpackedAt))
		}
	}
	other.observe(log, uid)
}

// TestSimulatedUnpackWaits checks that the phase pull contains no time in which only the disk delayed the pull.
func TestSimulatedUnpackWaits(t *testing.T) {
	waits := 0
	for seed := range uint64(3000) {
		random := rand.New(rand.NewPCG(seed, 1))
		pulls := simulatedPulls(random)
		for i, p := range pulls {
			tl := p.timeline(fmt.Sprint(i))
			if tl == nil {
				continue
			}
			var log PullLog
			now := p.ends + random.IntN(100)
			for j, other := range pulls {
				other.observe(&log, fmt.Sprint(j), now, random)
			}
			log.Complete(tl)
			for _, s := range tl.Phases {
				var disk time.Duration
				for _, step := range p.diskWaits {
					if at := afterSteps(step); s.Phase == PhasePull && !at.Before(s.StartAt) && at.Before(s.EndAt) {
						disk += simulatedStep
					}
				}
				if disk > s.Error+2*simulatedStep {
					t.Errorf("seed %d, pull %d: pull from %v to %v ± %v contains %v of the disk", seed, i,
						s.StartAt.Sub(base), s.EndAt.Sub(base), s.Error, disk)
				}
				if s.Phase == PhaseImagePull {
					waits++
				}
			}
		}
	}
	if waits < 100 {
		t.Errorf("only %d waits", waits)
	}
}
