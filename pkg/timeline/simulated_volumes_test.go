package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestSimulatedVolumes simulates pods with an image volume. Some pulls of the volume's image fail. Then the containers
// that mount the volume wait, and the kubelet starts the other containers. With the policy Always, the kubelet pulls
// the image again at each sync of the pod. The timeline must not charge the pulls to the kubelet or to another
// registry, whatever the sources lose.
func TestSimulatedVolumes(t *testing.T) {
	for _, s := range slices.Concat(sourceSets, weakSets) {
		wanted := []property{totalHeld, errorPossible, lossTrue, noConflict, noCauseOvercharge}
		if s.name == "some" || s.name == "no Events" || s.name == "no runtime" {
			wanted = wanted[:2] // observations are lost at random, so the other observations can hide a pull
		}
		t.Run(s.name, func(t *testing.T) {
			failed := uint64(0)
			for seed := *fromSeed; seed < *fromSeed+s.podCount(); seed++ {
				l := simulateChanged(rand.New(rand.NewPCG(seed, 18)), withVolume)
				breaches := checkObserved(t, s, seed, l)
				for _, property := range wanted {
					if breach := breaches[property]; breach != "" {
						t.Fatalf("%s: %s", property, breach)
					}
				}
				if _, first := l.milestones[trueMilestone{MilestonePullFailed, l.volume.Name, 0}]; first {
					failed++
				}
			}
			if *seeds >= 700 && failed < s.podCount()/7 {
				t.Errorf("only %d first pulls failed: the test proves nothing", failed)
			}
		})
	}
}

// withVolume adds an image volume to a simulated pod. At least one container mounts the volume. The pulls of containers
// do not fail, because a lost Event about them could hide a pull of the volume.
func withVolume(l *simulatedPod) {
	const image = "volume"
	l.volume = &simulatedContainer{wait: PhaseKubeletSync,
		Container: Container{Name: ImageName(image), Kind: KindImageVolume, Image: image, PullPolicy: PullIfNotPresent}}
	l.images[image] = &storedImage{present: l.chance(0.3)}
	if l.chance(0.5) {
		l.volume.PullPolicy = PullAlways
	}
	if l.chance(0.5) {
		l.volume.pullFailures = 1 + l.random.IntN(2)
	}
	for i, c := range l.containers {
		c.crashes, c.pullFailures = 0, 0
		c.mounts = l.chance(0.5) || i == len(l.containers)-1
	}
	l.containers = slices.Insert(l.containers, 0, l.volume)
	l.pod.Containers = slices.Insert(l.pod.Containers, 0, l.volume.Container)
}

// syncVolume simulates the beginning of a sync, in which the kubelet will work on the container c. The kubelet first
// pulls the image of the volume, unless the image is present or in back-off.
func (l *simulatedPod) syncVolume(c *simulatedContainer) {
	v := l.volume
	if v == nil || l.now.Before(v.due) {
		return
	}
	if v.PullPolicy != PullAlways && l.images[v.Image].at(l.now) {
		if v.pulls == 0 && !v.done {
			l.advance(v.wait, v, MilestonePullFinished, 0, l.randomLength(time.Millisecond, 100*time.Millisecond))
		}
		v.done = true
		l.findPresent(v)
		return
	}
	again := v.done
	if again {
		v.wait = c.wait
		if l.chance(0.2) {
			v.pullFailures = v.pulls + 1 // this pull fails
		}
	}
	switch v.done = l.pull(v); {
	case v.done:
		v.wait = PhaseKubeletSync
	case again:
		v.due = l.now.Add(l.randomLength(10*time.Second, 15*time.Second))
	}
}

// isSameSync reports whether the kubelet can work on a main container in the same sync as on the main container before.
func (l *simulatedPod) isSameSync(c *simulatedContainer) bool {
	return !l.now.Before(c.due) && c.attempt == 0 && c.pulls == 0 &&
		(l.volume == nil || l.volume.done || l.now.Before(l.volume.due))
}

// findsVolume reports whether the kubelet can start a container, because it does not mount the volume, or because the
// latest pull of the volume's image succeeded.
func (l *simulatedPod) findsVolume(c *simulatedContainer) bool {
	if l.volume == nil || !c.mounts || l.volume.done {
		return true
	}
	c.due = l.volume.due
	return false
}

// pullVolumeDuringRun pulls the image of the volume while an init container runs, because the kubelet syncs the pod
// after the start of the container. The results are the ends of the wait in the pull queue and of the pull, or zero if
// there is no pull.
func (l *simulatedPod) pullVolumeDuringRun() (started, ended time.Time) {
	v := l.volume
	if v == nil || v.PullPolicy != PullAlways || !v.done {
		return started, ended
	}
	const step = time.Millisecond
	requested := l.now.Add(l.randomLength(100*step, time.Second))
	started = requested.Add(l.randomLength(step, time.Second))
	ended = started.Add(l.randomLength(20*step, 10*time.Second))
	l.images[v.Image].pull(ended)
	l.events = append(l.events,
		occurrence{requested, "", "Pulling", fmt.Sprintf("Pulling image %q", v.Image)},
		occurrence{ended.Add(step), "", "Pulled", fmt.Sprintf(
			"Successfully pulled image %q in %s (%s including waiting). Image size: 5 bytes.", v.Image,
			ended.Sub(started).Truncate(step), ended.Sub(requested).Truncate(step))})
	v.pulls++
	return started, ended
}

// awaitVolume waits until the kubelet has pulled the image of the volume. Only then does the kubelet notice that the
// init container has ended.
func (l *simulatedPod) awaitVolume(started, ended time.Time) {
	wait := func(p Phase, m Milestone, until time.Time) {
		if until.After(l.now) {
			l.now = until
			l.record(p, l.volume.Name, until, trueMilestone{m, l.volume.Name, l.volume.pulls})
		}
	}
	wait(PhasePullQueue, MilestonePullStarted, started)
	wait(PhasePull, MilestonePullFinished, ended)
}

// volumeAt returns the status of the volume at the time t. The status reports the latest pull if this pull failed.
func (w *simulatedSources) volumeAt(v *simulatedContainer, t time.Time) Container {
	s, latest := v.Container, time.Time{}
	for n := range v.pulls {
		for _, m := range []Milestone{MilestonePullFailed, MilestonePullFinished} {
			if at := w.upTo(trueMilestone{m, v.Name, n}, t); at.After(latest) {
				latest, s.State, s.WaitingReason, s.PullFailure = at, StateUnknown, "", ""
				if m == MilestonePullFailed {
					s.State, s.WaitingReason, s.PullFailure = StateWaiting, "ImagePullBackOff", "other"
				}
			}
		}
	}
	return s
}

// isAbout reports whether an Event concerns a container or an image volume.
func (o occurrence) isAbout(name string) bool {
	image, volume := strings.CutPrefix(name, imagePrefix)
	return o.container == name || volume && o.container == "" && strings.Contains(o.message, fmt.Sprintf("%q", image))
}
