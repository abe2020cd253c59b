package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// simulatedPod is the true start-up of one simulated pod. It contains the time and the name of each step of the
// kubelet. The simulation shares no code with the fold. The fold must derive the same timeline from the reports of the
// sources (simulated_sources_test.go).
type simulatedPod struct {
	random *rand.Rand
	now    time.Time
	from   time.Time // the start of the current stretch
	held   time.Time // the kubelet writes an Event until this time and cannot finish its next step earlier

	pod        Pod // the spec
	containers []*simulatedContainer
	crashing   []*simulatedContainer // running containers that will crash
	// respondedLate reports whether the kubelet received a response about a pull late, so that short phases before and
	// after this response can be merged.
	respondedLate bool
	// credentials reports whether the kubelet might run a credential plugin before it requests a pull.
	credentials   bool
	accessChecked bool // the kubelet checks whether the pod has access to present images
	oldKubelet    bool // the kubelet looks up credentials after it has requested a pull (before version 1.33)
	images        map[string]*storedImage
	wording       int       // the format of a pull's durations in this kubelet
	stamped       bool      // the runtime has all timestamps of a sandbox (containerd 2)
	nodeSet       bool      // the pod's creator set the node, so no scheduler was involved
	coldSandbox   bool      // the runtime pulls the sandbox image, and then fails to create the sandbox
	sandboxStored time.Time // the end of the pull of the sandbox image; zero if the image was on the node

	milestones map[trueMilestone]time.Time
	truth      []stretch // the true phases as docs/architecture.md defines phases
	events     []occurrence
	exits      map[trueMilestone]int // exit codes, by MilestoneFinished of each run
	// backedOff contains the MilestoneFinished of each run after which the kubelet waited for a back-off.
	backedOff map[trueMilestone]bool
	kills     bool // the node and other parties might kill containers
	// sidecarsFail reports whether sidecars might fail after they had started.
	sidecarsFail bool
	losesSandbox bool
	lostAt       time.Time // when the sandbox died
	// lostInBackoff reports whether the sandbox died during a back-off.
	lostInBackoff  bool
	losesReadiness bool            // a readiness probe might fail again
	losses         []readinessLoss // the times of the failing readiness probes
	restarts       bool            // the kubelet might restart once
	downAt         time.Time       // the kubelet stopped at downAt and started again at upAt; zero if it did not
	upAt           time.Time
	probesAgain    bool // a kubelet before 1.35: after a restart, it waits for a sidecar's startup probe again
	slowLists      bool // the kubelet needs seconds to list the containers
	detectedAt     map[trueMilestone]time.Time
	reasons        map[trueMilestone]string
	volume         *simulatedContainer // the pod's image volume; nil without an image volume
}

// trueMilestone identifies a milestone of the simulated pod. container is empty for the pod's own milestones.
type trueMilestone struct {
	milestone Milestone
	container string
	attempt   int
}

// stretch is a true phase and the milestone at its end.
type stretch struct {
	phase      Phase
	container  string
	start, end time.Time
	ends       trueMilestone
	or         *phaseCandidates // another party that is equally responsible, or nil
	repeated   bool             // a restarted kubelet waited for a startup probe that had succeeded before
}

// simulatedContainer is one container of a simulated pod, with its future failures and its progress.
type simulatedContainer struct {
	Container
	pullFailures int // failed pulls before the first success
	crashes      int // failed runs before the first success
	pulls        int // the number of pull attempts so far, in all runs
	attempt      int // the number of the current run, from 0
	backoffs     int // the number of restarts for which the kubelet remembers a back-off
	done         bool
	due          time.Time // when the kubelet next works on the container
	wait         Phase     // the phase until the time "due"
	endsAt       time.Time // the end of a run that will crash
	mounts       bool      // the container mounts the image volume
}

// occurrence is one occurrence of an Event.
type occurrence struct {
	at                         time.Time
	container, reason, message string
}

// simulate creates a random pod and runs its start-up until the pod is ready.
func simulate(random *rand.Rand) *simulatedPod {
	return simulateChanged(random, func(*simulatedPod) {})
}

// simulateChanged does the same as simulate, but first changes the properties of the pod.
func simulateChanged(random *rand.Rand, change func(*simulatedPod)) *simulatedPod {
	l := &simulatedPod{random: random, milestones: map[trueMilestone]time.Time{}, exits: map[trueMilestone]int{},
		images: map[string]*storedImage{}, reasons: map[trueMilestone]string{}, backedOff: map[trueMilestone]bool{}}
	l.now = base.Add(time.Duration(random.Int64N(int64(time.Second))))
	l.from = l.now
	l.wording, l.stamped = random.IntN(10), l.chance(0.8)
	l.draw()
	change(l)
	l.milestone(trueMilestone{milestone: MilestoneCreated}, l.now)
	waits := l.randomLength(time.Millisecond, 5*time.Second)
	if l.nodeSet = l.now.Nanosecond()%8 == 0; l.nodeSet { // not a random number, so that other choices do not change
		l.now = l.now.Add(waits)
	} else {
		l.advance(PhaseScheduling, nil, MilestoneScheduled, 0, waits)
	}
	l.advance(PhaseKubeletPickup, nil, MilestoneAcknowledged, 0, l.randomLength(2*time.Millisecond, time.Second))
	l.runSandbox()
	for _, c := range l.containers {
		if c.Kind == KindInit || c.Kind == KindSidecar {
			l.initialize(c)
		}
	}
	if l.losesSandbox {
		l.loseSandbox(l.containers[0])
	}
	l.runMain()
	l.becomeReady()
	return l
}

// draw chooses the properties of the pod.
func (l *simulatedPod) draw() {
	l.pod = Pod{UID: "uid-1", RuntimeUID: "uid-1", Namespace: "ns", Name: "pod", Node: "node-1", Generation: 1,
		KubeletGeneration: 1, FieldsManaged: true, RemoteVolumes: true,
		CreatedAt: l.now.Truncate(time.Second), Phase: "Pending", ReadinessGates: l.chance(0.2)}
	for i := range 4 {
		s := &storedImage{present: l.chance(0.5)}
		if l.chance(0.15) { // another pod pulls the image during or after the start-up
			ends := l.now.Add(l.randomLength(time.Second, 60*time.Second))
			s.pull(ends)
			s.receiveManifest(ends.Add(-anyPart(ends, time.Second)))
		}
		l.images[fmt.Sprintf("image%d", i)] = s
	}
	add := func(kind ContainerKind, n int) {
		for i := range n {
			c := &simulatedContainer{Container: Container{Name: fmt.Sprintf("%s%d", kind, i), Kind: kind,
				Image: fmt.Sprintf("image%d", l.random.IntN(4)), PullPolicy: PullIfNotPresent}, wait: PhaseKubeletSync}
			if l.chance(0.2) {
				c.PullPolicy = PullAlways
			}
			if kind != KindInit {
				c.StartupProbe, c.ReadinessProbe = l.chance(0.25), l.chance(0.4)
			}
			if l.chance(0.15) {
				c.pullFailures = 1 + l.random.IntN(2)
			}
			if kind != KindSidecar && l.chance(0.15) {
				c.crashes = 1 + l.random.IntN(3)
			}
			l.containers = append(l.containers, c)
			l.pod.Containers = append(l.pod.Containers, c.Container)
		}
	}
	add(KindInit, l.random.IntN(3))
	add(KindSidecar, l.random.IntN(3))
	add(KindMain, 1+l.random.IntN(3))
}

// runSandbox simulates the time until the sandbox runs, possibly after failed sandboxes. The time between a failed
// sandbox and the next attempt belongs to the phase of the failure.
func (l *simulatedPod) runSandbox() {
	phase, message := PhaseNetwork, `rpc error: failed to setup network for sandbox "%d"`
	switch {
	case l.coldSandbox && l.chance(0.5):
		phase, message = PhasePodConfig, `rpc error: failed to get sandbox runtime: no runtime for "%d" is configured`
	case l.coldSandbox:
	case !l.chance(0.3):
	case l.wording%3 == 0:
		phase, message = PhasePodConfig, `rpc error: failed to start sandbox "%d": OOM-killed (memory limit too low?)`
	default:
		phase, message = PhaseSandbox, `rpc error: failed to start sandbox "%d": no space left on device`
	}
	wait, longest := PhaseVolumes, 8*time.Second
	failures := l.random.IntN(3) * l.random.IntN(2) * l.random.IntN(2)
	if l.coldSandbox {
		failures = 1 + failures/2
	}
	for i := range failures {
		length := min(l.randomLength(5*time.Millisecond, 4*time.Second), longest)
		l.advance(wait, nil, MilestoneSandboxBegun, -1-i, length)
		longest = 500 * time.Millisecond // the volumes are already mounted
		l.pullSandboxImage()
		length = l.randomLength(5*time.Millisecond, 3*time.Second)
		if l.coldSandbox && phase == PhasePodConfig {
			length /= 100 // the runtime only looks for the handler
		}
		l.advance(phase, nil, MilestoneSandboxFailed, i, length)
		l.createEvent("", "FailedCreatePodSandBox", fmt.Sprintf(message, i*l.wording))
		l.now = l.now.Add(l.randomLength(10*time.Second, 16*time.Second))
		wait = phase
	}
	l.advance(wait, nil, MilestoneSandboxBegun, 0, min(l.randomLength(5*time.Millisecond, 8*time.Second), longest))
	l.advance(PhaseNetwork, nil, MilestoneNetworkReady, 0, l.randomLength(5*time.Millisecond, 4*time.Second))
	l.advance(PhaseSandbox, nil, MilestoneSandboxRunning, 0, l.randomLength(5*time.Millisecond, time.Second))
}

// initialize runs an init container to its end, or a sidecar to its start. No other work happens in parallel.
func (l *simulatedPod) initialize(c *simulatedContainer) {
	l.detect()
	l.restartSidecars()
	for {
		if l.now.Before(c.due) {
			l.now = c.due
		}
		l.syncVolume(c)
		if !l.findsVolume(c) || !l.startContainer(c) {
			continue
		}
		l.runHook(c)
		if c.Kind == KindSidecar {
			l.chooseProbeTimes(c)
			if started := l.milestones[trueMilestone{MilestoneStarted, c.Name, 0}]; c.StartupProbe {
				l.advance(PhaseStartupProbe, c, MilestoneStarted, 0, started.Sub(l.now))
			} else {
				l.now = started
			}
			l.crashSidecar(c)
			return
		}
		phase, failed := PhaseInitRun, c.attempt < c.crashes
		if failed {
			phase = l.failRun(c, phase)
		}
		began := l.now
		started, pulled := l.pullVolumeDuringRun()
		l.advance(phase, c, MilestoneFinished, c.attempt, l.randomLength(5*time.Millisecond, 5*time.Second))
		if ended := l.now; l.stopKubelet(began.Add(anyPart(ended, ended.Sub(began)))) && ended.Before(l.upAt) {
			l.now = l.upAt
		}
		l.awaitVolume(started, pulled)
		if !failed {
			return
		}
		l.restart(c)
	}
}

// runMain starts the main containers in order, and restarts failed containers. Waiting containers do not block others.
func (l *simulatedPod) runMain() {
	l.detect()
	l.restartSidecars()
	synced := false
	for {
		var next *simulatedContainer
		for _, c := range l.containers {
			if c.Kind != KindMain || c.done {
				continue
			}
			if !c.due.After(l.now) {
				next = c
				break
			}
			if next == nil || c.due.Before(next.due) {
				next = c
			}
		}
		crash := l.nextCrash()
		switch {
		case next == nil && crash == nil:
			return
		case next == nil:
			l.endRun(crash, PhaseFailedRun, crash.Name)
			continue
		case crash != nil && crash.endsAt.Before(next.due):
			l.endRun(crash, next.wait, next.Name)
			continue
		}
		if synced = synced && l.isSameSync(next); l.now.Before(next.due) {
			l.now = next.due
		}
		if !synced {
			l.syncVolume(next)
		}
		if synced = true; !l.findsVolume(next) || !l.startContainer(next) {
			continue
		}
		l.runHook(next)
		next.done = true
		if next.attempt < next.crashes {
			next.endsAt = l.now.Add(l.randomLength(5*time.Millisecond, 8*time.Second))
			l.crashing = append(l.crashing, next)
		}
		l.chooseProbeTimes(next)
	}
}

func (l *simulatedPod) nextCrash() *simulatedContainer {
	var next *simulatedContainer
	for _, c := range l.crashing {
		if next == nil || c.endsAt.Before(next.endsAt) {
			next = c
		}
	}
	return next
}

// endRun ends a run. The end of the run ends a phase only if the kubelet does no other work. The arguments "wait" and
// "of" are the wait of the kubelet for another container. The argument "wait" is empty if the kubelet works.
func (l *simulatedPod) endRun(c *simulatedContainer, wait Phase, of string) {
	key := trueMilestone{MilestoneFinished, c.Name, c.attempt}
	l.milestone(key, c.endsAt)
	phase := l.failRun(c, PhaseFailedRun)
	if wait != "" && c.Kind != KindSidecar { // later containers do not wait for a sidecar that had started
		l.recordRun(c, phase, wait, of)
		if l.now.Before(c.endsAt) {
			l.now = c.endsAt
		}
	}
	l.crashing = slices.DeleteFunc(l.crashing, func(o *simulatedContainer) bool { return o == c })
	l.restart(c)
}
