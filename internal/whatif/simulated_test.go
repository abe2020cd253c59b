package whatif

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// This file simulates a kubelet that starts one pod. The simulation knows nothing about the model of this package. It
// follows the kubelet's code: the sandbox, init containers one after the other, main containers one after the other,
// a list of the containers once a second, and probes with their own periods.

// simulatedContainer is one container of a simulated pod. A duration of 0 means that the step does not exist.
type simulatedContainer struct {
	name             string
	kind             timeline.ContainerKind
	ahead            []time.Duration // the remaining times of the pulls that are ahead in the queue of the node
	pull             time.Duration
	failedPulls      []failedPull // pulls that fail quickly before the pull that succeeds
	create, start    time.Duration
	run              time.Duration // run of an init container
	hook             time.Duration // post-start hook
	able             time.Duration // from the start until the container is able to pass its readiness probe
	crashes          int           // runs that fail before the run that succeeds
	fails            time.Duration // length of a failed run
	period, timeout  time.Duration // of the readiness probe; no probe if the period is 0
	startup          time.Duration // period of the startup probe; no probe if the period is 0
	startable        time.Duration // from the start until the container is able to pass its startup probe
	startupDelay     time.Duration // initialDelaySeconds of the startup probe
	delay            time.Duration
	successes        int
	configuredAt     time.Duration // when the missing ConfigMap appears, since the creation of the pod
	retry            time.Duration // between two attempts to read the ConfigMap
	waits            time.Duration // if not 0, the fixed length of the wait for the ConfigMap
	absent, parallel bool          // parallel: the node pulls in parallel
}

// failedPull is a pull that fails quickly, with the back-off after it.
type failedPull struct{ pull, backoff time.Duration }

// simulatedPod is a pod with one fault in each step at most.
type simulatedPod struct {
	sched, volumes, network, sandbox time.Duration
	containers                       []simulatedContainer
	gateAt                           time.Duration // when the owner of a readiness gate sets the gate
}

// step is one simulated phase. Steps have no gaps.
type step struct {
	phase     timeline.Phase
	container string
	attempt   int
	length    time.Duration
}

// simulation is one run of a pod.
type simulation struct {
	random    *rand.Rand
	varied    bool // the steps take up to 10 % more or less time
	offset    time.Duration
	shared    bool // parallel pulls share the download rate
	now       time.Duration
	steps     []step
	running   map[string][]time.Duration // starts of each container's runs
	ready     map[string]time.Duration
	startedAt map[string]time.Duration // of main containers with a startup probe
	last      string                   // the container that is ready last
	total     time.Duration
}

// simulate starts the pod.
func simulate(pod simulatedPod, random *rand.Rand, varied, shared bool) *simulation {
	s := &simulation{random: random, varied: varied, shared: shared, running: map[string][]time.Duration{},
		ready: map[string]time.Duration{}, startedAt: map[string]time.Duration{},
		offset: time.Duration(random.Int64N(int64(time.Second)))}
	s.step(timeline.PhaseScheduling, "", 0, s.vary(pod.sched))
	s.step(timeline.PhaseVolumes, "", 0, s.vary(pod.volumes))
	s.step(timeline.PhaseNetwork, "", 0, s.vary(pod.network))
	s.step(timeline.PhaseSandbox, "", 0, s.vary(pod.sandbox))
	for i := range pod.containers {
		c := &pod.containers[i]
		s.image(c)
		s.configure(c)
		s.launch(c, 0)
		switch c.kind {
		case timeline.KindInit:
			s.crash(c)
			s.step(timeline.PhaseInitRun, c.name, c.crashes, s.vary(c.run))
			s.awaitList(pod.containers[i+1].name)
		case timeline.KindSidecar:
			if c.startup > 0 { // the next container waits for the probe
				started := s.started(c)
				s.step(timeline.PhaseStartupProbe, c.name, 0, started-s.now)
				s.ready[c.name] = s.now
				s.step(timeline.PhaseKubeletSync, pod.containers[i+1].name, 0,
					time.Duration(s.random.Int64N(int64(100*time.Millisecond))))
				continue
			}
			s.ready[c.name] = s.nextList(s.now)
			s.awaitList(pod.containers[i+1].name)
		default:
			s.crash(c)
			if c.hook > 0 {
				s.step(timeline.PhasePostStartHook, c.name, 0, s.vary(c.hook))
			}
		}
	}
	for i := range pod.containers {
		if c := &pod.containers[i]; c.kind == timeline.KindMain {
			s.probe(c)
		}
	}
	s.finish(pod)
	return s
}

func (s *simulation) step(phase timeline.Phase, container string, attempt int, length time.Duration) {
	s.steps = append(s.steps, step{phase, container, attempt, length})
	s.now += length
}

func (s *simulation) vary(d time.Duration) time.Duration {
	if !s.varied {
		return d
	}
	return d*9/10 + time.Duration(s.random.Float64()*float64(d)/5)
}

// image waits for the queue, and pulls the image. A pull that fails quickly is a group phase: the record does not
// separate its wait in the queue from the pull.
func (s *simulation) image(c *simulatedContainer) {
	if !c.absent {
		return
	}
	for attempt, failed := range c.failedPulls {
		s.step(timeline.PhaseUnattributed, c.name, attempt, s.vary(failed.pull))
		s.step(timeline.PhaseImageBackoff, c.name, attempt+1, s.vary(failed.backoff))
	}
	own, queue := s.vary(c.pull), time.Duration(0)
	ahead := make([]time.Duration, 0, len(c.ahead))
	for _, d := range c.ahead {
		ahead = append(ahead, s.vary(d))
		queue += ahead[len(ahead)-1]
	}
	if c.parallel {
		queue = 0
		if s.shared {
			own = fairShare(own, ahead)
		}
	}
	s.step(timeline.PhasePullQueue, c.name, len(c.failedPulls), queue)
	s.step(timeline.PhasePull, c.name, len(c.failedPulls), own*9/10)
	s.step(timeline.PhaseUnpack, c.name, len(c.failedPulls), own-own*9/10)
}

// fairShare returns the time of a pull that shares the rate equally with other pulls.
func fairShare(own time.Duration, others []time.Duration) (took time.Duration) {
	left := append([]time.Duration{own}, others...)
	for {
		next := slices.Min(left)
		took += next * time.Duration(len(left))
		if next == left[0] {
			return took
		}
		for i := range left {
			left[i] -= next
		}
		left = slices.DeleteFunc(left, func(d time.Duration) bool { return d == 0 })
	}
}

// configure retries until the ConfigMap exists.
func (s *simulation) configure(c *simulatedContainer) {
	if c.configuredAt == 0 {
		return
	}
	began := s.now
	until := began + c.waits
	for c.waits == 0 && until < c.configuredAt {
		until += c.retry
	}
	s.step(timeline.PhaseContainerConfig, c.name, 0, until-began)
}

func (s *simulation) launch(c *simulatedContainer, attempt int) {
	s.step(timeline.PhaseContainerCreate, c.name, attempt, s.vary(c.create))
	s.step(timeline.PhaseContainerStart, c.name, attempt, s.vary(c.start))
	s.running[c.name] = append(s.running[c.name], s.now)
}

// crash fails the first runs. The kubelet restarts the container after a back-off, except the first time.
func (s *simulation) crash(c *simulatedContainer) {
	backoff := 10 * time.Second
	for attempt := range c.crashes {
		s.step(timeline.PhaseFailedRun, c.name, attempt, s.vary(c.fails))
		gap := s.nextList(s.now) - s.now
		if attempt == 0 {
			s.step(timeline.PhaseKubeletSync, c.name, attempt+1, gap)
		} else {
			s.step(timeline.PhaseCrashBackoff, c.name, attempt+1, gap+backoff)
			backoff *= 2
		}
		s.launch(c, attempt+1)
	}
}

// nextList returns the next time at which the kubelet lists the containers, plus its reaction.
func (s *simulation) nextList(after time.Duration) time.Duration {
	lists := (after + time.Second - s.offset) / time.Second
	return lists*time.Second + s.offset + time.Duration(s.random.Int64N(int64(100*time.Millisecond)))
}

func (s *simulation) awaitList(next string) {
	s.step(timeline.PhaseKubeletSync, next, 0, s.nextList(s.now)-s.now)
}

// probe computes when a container is ready. The kubelet probes for the first time when its status shows the container,
// or at the next tick of an older period. The kubelet updates the status after it has started all main containers.
func (s *simulation) probe(c *simulatedContainer) {
	began := s.running[c.name][len(s.running[c.name])-1]
	at := s.nextList(s.now)
	if c.startup > 0 {
		at = s.started(c)
		s.startedAt[c.name] = at
	}
	if c.period == 0 {
		s.ready[c.name] = at
		return
	}
	if s.random.IntN(2) == 0 {
		at += time.Duration(s.random.Int64N(int64(c.period)))
	}
	able, passed := began+s.vary(c.able), 0
	for {
		next := at + c.period
		switch {
		case at < began+c.delay:
		case at < able: // a failing probe takes until its timeout at most, and delays the next probe
			passed = 0
			next = max(next, at+time.Duration(s.random.Int64N(int64(c.timeout))))
		default:
			if passed++; passed >= max(c.successes, 1) {
				s.ready[c.name] = at
				return
			}
		}
		if s.random.IntN(10) == 0 { // another part of the pod changes, so the kubelet probes at once
			next = at + time.Duration(s.random.Int64N(int64(c.period)))
		}
		at = next
	}
}

// started returns the time at which the startup probe succeeds. The kubelet's worker of the probe ticks since an
// arbitrary time, and skips the ticks before the status of the pod shows the container.
func (s *simulation) started(c *simulatedContainer) time.Duration {
	began := s.running[c.name][len(s.running[c.name])-1]
	able, at := began+s.vary(c.startable), s.nextList(s.now)
	at += time.Duration(s.random.Int64N(int64(c.startup)))
	for at < able || at < began+c.startupDelay {
		at = max(at+c.startup, at+time.Duration(s.random.Int64N(int64(c.timeout))))
	}
	return at
}

// finish adds the phases until the last container is ready.
func (s *simulation) finish(pod simulatedPod) {
	probed := map[string]bool{}
	for _, c := range pod.containers {
		probed[c.name] = c.period > 0
	}
	end := s.now
	for name, at := range s.ready {
		if at > end || at == end && s.last == "" {
			end, s.last = at, name
		}
	}
	if s.last != "" {
		phase := timeline.PhaseKubeletSync
		if probed[s.last] {
			phase = timeline.PhaseReadinessProbe
		}
		if started, probed := s.startedAt[s.last]; probed && started > s.now {
			s.step(timeline.PhaseStartupProbe, s.last, 0, min(started, end)-s.now)
		}
		if end > s.now || probedStartup(pod, s.last) == 0 {
			s.step(phase, s.last, 0, end-s.now)
		}
	}
	if pod.gateAt > 0 {
		s.step(timeline.PhaseReadinessGates, "", 0, max(pod.gateAt-s.now, 0))
	}
	s.total = s.now
}

func probedStartup(pod simulatedPod, name string) time.Duration {
	for _, c := range pod.containers {
		if c.name == name {
			return c.startup
		}
	}
	return 0
}
