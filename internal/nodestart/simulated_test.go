package nodestart

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// world is the truth about one boot, in seconds after an arbitrary origin. A time of infinity is never reached.
type world struct {
	*rand.Rand
	boot, kubelet, registered, ready float64

	network, csi      float64 // when the problems were over
	runtimeFrom, runs float64 // the runtime fails from runtimeFrom until runs
	again             bool    // a Node object from before the boot exists
	heldReady         bool    // that object still had the condition Ready
	daemonSet         []float64
	taints            []worldTaint
	created, bound    float64
	tolerates         bool      // the workload tolerates every taint
	steps             []float64 // ends of the workload's phases
	posts             []post    // versions of the Node object
	// After the start-up of the node, the kubelet restarts, and the node is not ready for some time. 0 without a
	// restart.
	lostFrom, lostUntil float64
	skew                float64 // the control plane's clock minus the node's clock
	worldNetwork
}

type worldTaint struct {
	key     string
	removed float64
}

// post is a version of the Node object from the given time on.
type post struct {
	at        float64
	ofBoot    bool
	status    string
	changedAt float64
	message   string
	taints    []string
	network   []Condition
}

var never = math.Inf(1)

func (w *world) between(a, b float64) float64 { return a + w.Float64()*(b-a) }
func (w *world) chance(p float64) bool        { return w.Float64() < p }

// newWorld draws a boot.
func newWorld(seed uint64) *world {
	w := &world{Rand: rand.New(rand.NewPCG(seed, 7))}
	w.boot = w.between(1000, 1001)
	w.kubelet = w.boot + w.between(1, 60)
	w.registered = w.kubelet + w.between(0.11, 3)
	w.network, w.csi = w.registered, w.registered+w.between(-1, 3)
	w.again = w.chance(0.3)
	w.heldReady = w.again && w.chance(0.3)
	if w.chance(0.5) { // the network plugin comes with a DaemonSet
		at := w.registered + w.between(0.01, 2)
		w.daemonSet = []float64{at}
		for range 3 { // scheduling, pull, container_start
			at += w.between(0.01, 10)
			w.daemonSet = append(w.daemonSet, at)
		}
		w.network = at + w.between(0, 3)
		w.daemonSet = append(w.daemonSet, w.network+w.between(0, 2)) // readiness_probe
	} else if w.chance(0.7) {
		w.network += w.between(0, 150)
	}
	w.runtimeFrom, w.runs = never, 0
	if w.chance(0.3) { // long enough for one report of the kubelet: see doc.go
		w.runtimeFrom = w.between(w.registered, max(w.network, w.csi)+1)
		w.runs = w.runtimeFrom + w.between(10.1, 25)
	}
	if w.chance(0.3) {
		w.skew = w.between(-20, 20)
		if math.Abs(w.skew) < 0.1 {
			w.skew = 0 // the agent cannot prove such a small difference between the clocks, and ignores the difference
		}
	}
	w.readiness()
	w.drawTaints()
	w.workload()
	w.drawNetwork()
	w.objects()
	return w
}

// problems returns the kubelet's problems at a time.
func (w *world) problems(at float64) (r reason) {
	if at < w.network {
		r |= reasonNetwork
	}
	if at < w.csi {
		r |= reasonKubelet
	}
	if at >= w.runtimeFrom && at < w.runs {
		r |= reasonRuntime
	}
	return r
}

// readiness finds the time at which the kubelet reports the node as ready.
func (w *world) readiness() {
	slow := w.heldReady || w.again
	for at := w.registered; ; {
		if w.problems(at) == 0 {
			w.ready = at
			return
		}
		sync := w.registered + 10*(math.Floor((at-w.registered)/10+1e-9)+1)
		if slow || at-w.kubelet > 115 {
			at = sync
		} else {
			at = min(sync, at+w.between(0.1, 0.2))
		}
	}
}

func (w *world) drawTaints() {
	if w.chance(0.8) {
		w.taints = append(w.taints, worldTaint{"node.kubernetes.io/not-ready", w.ready + w.between(0.01, 3)})
	}
	if w.chance(0.4) {
		at := w.registered + w.between(0.5, 60)
		if w.daemonSet != nil {
			at = w.daemonSet[4] + w.between(0.01, 3)
		}
		w.taints = append(w.taints, worldTaint{"node.cilium.io/agent-not-ready", at})
	}
	if w.chance(0.4) {
		w.taints = append(w.taints, worldTaint{"node.cloudprovider.kubernetes.io/uninitialized",
			w.registered + w.between(0.5, 80)})
	}
	if w.chance(0.3) {
		w.taints = append(w.taints, worldTaint{"example.com/warming-up", w.registered + w.between(0.5, 80)})
	}
	if w.chance(0.3) {
		w.taints = append(w.taints, worldTaint{"example.com/dedicated", never})
	}
	if w.chance(0.2) { // the node is cordoned when it boots
		at := never
		if w.chance(0.5) {
			at = w.registered + w.between(0.5, 80)
		}
		w.taints = append(w.taints, worldTaint{"node.kubernetes.io/unschedulable", at})
	}
}

// heldBy returns the start-up taints at a time.
func (w *world) heldBy(at float64) (keys []string) {
	for _, t := range w.taints {
		if at < t.removed && t.removed < never {
			keys = append(keys, t.key)
		}
	}
	return keys
}

func (w *world) workload() {
	w.created = w.boot + w.between(-60, 200)
	schedulable := w.ready
	if w.tolerates = w.chance(0.2); w.tolerates {
		schedulable = w.registered
	} else {
		for _, t := range w.taints {
			if t.removed < never {
				schedulable = max(schedulable, t.removed)
			}
		}
	}
	w.bound = max(w.created, schedulable) + w.between(0.01, 3)
	if w.again && w.registered > w.boot+3 && w.chance(0.3) {
		// The object from before the boot still takes pods, also while the machine boots.
		w.created = w.between(w.boot-30, w.registered-0.5)
		w.bound = max(w.created, w.boot+1.1) + w.between(0.01, 0.4)
		w.tolerates = true
	}
	w.steps = []float64{w.bound}
	if w.bound < w.registered {
		w.steps = append(w.steps, w.registered+0.2) // kubelet_pickup
	}
	at := max(w.bound, w.registered+0.3, w.network)
	w.steps = append(w.steps, at+0.1)
	for range 3 {
		at += w.between(0.2, 8)
		w.steps = append(w.steps, at)
	}
}

// workloadReady returns the end of the start-up.
func (w *world) workloadReady() float64 { return w.steps[len(w.steps)-1] }

// objects lists the versions of the Node object.
func (w *world) objects() {
	keys := func(at float64) (all []string) {
		for _, t := range w.taints {
			if at < t.removed {
				all = append(all, t.key)
			}
		}
		return all
	}
	status, changed := "Unknown", w.boot+w.between(-40, 0.9*(w.registered-w.boot))
	if w.heldReady {
		status, changed = "True", w.boot-5000
	}
	if w.again {
		w.posts = append(w.posts, post{at: w.boot - 4000, status: status, changedAt: changed, taints: keys(0),
			network: w.networkAt(w.boot)})
	}
	times := append(w.networkTimes(), w.registered, w.ready)
	if w.chance(0.3) {
		w.lostFrom = w.ready + w.between(3, 30)
		w.lostUntil = w.lostFrom + w.between(0.1, 10)
		times = append(times, w.lostFrom, w.lostUntil)
	}
	for at := w.registered + 10; at < w.ready; at += 10 {
		times = append(times, at)
	}
	for _, t := range w.taints {
		if t.removed < never {
			times = append(times, t.removed)
		}
	}
	slices.Sort(times)
	message, held := "", w.heldReady
	for _, at := range times {
		kubelet := at <= w.ready && (at == w.ready || math.Abs(math.Remainder(at-w.registered, 10)) < 1e-6)
		switch at {
		case w.lostFrom:
			status, changed, message = "False", at, "container runtime network not ready"
		case w.lostUntil:
			status, changed, message = "True", at, ""
		}
		if kubelet { // the kubelet writes its status
			now := "True"
			if message = w.message(at); message != "" {
				now = "False"
			}
			if now != status && !(held && now == "True") {
				changed = at
			}
			status, held = now, false
		}
		w.posts = append(w.posts, post{at, true, status, changed, message, keys(at), w.networkAt(at)})
	}
}

func (w *world) message(at float64) string {
	if at >= w.ready {
		return ""
	}
	problems := w.problems(at)
	text := ""
	if at == w.registered && w.chance(0.5) {
		return "[network state unknown, CSINode is not yet initialized]"
	}
	for _, known := range reasonTexts {
		if problems&known.of != 0 && known.text != "node is shutting down" && known.text != "missing node capacity" {
			text += known.text + ", "
		}
	}
	return text
}

// object returns the Node object of a post.
func (w *world) object(i int) NodeSeen {
	p := w.posts[i]
	o := NodeSeen{Exists: true, Name: "n", BootID: "old", Version: uint64(i + 1),
		CreatedAt: floor(w.registered + w.skew)}
	if p.ofBoot {
		o.BootID = "new"
	}
	if w.again {
		o.CreatedAt = floor(w.boot - 9000)
	}
	o.Conditions = []Condition{{Type: "Ready", Status: p.status, Message: p.message, ChangedAt: floor(p.changedAt)}}
	o.Conditions = append(o.Conditions, p.network...)
	for _, key := range p.taints {
		o.Taints = append(o.Taints, Taint{key, "NoSchedule"})
	}
	return o
}

// posted returns the index of the version at a time, or -1.
func (w *world) posted(at float64) int {
	last := -1
	for i, p := range w.posts {
		if p.at <= at {
			last = i
		}
	}
	return last
}

func at(seconds float64) time.Time { return time.Unix(0, int64(seconds*1e9)).UTC() }

func floor(seconds float64) time.Time { return at(math.Floor(seconds)) }

// podTimeline builds a timeline from the true ends of its phases. Only the creation is uncertain.
func podTimeline(name string, owner timeline.Owner, created float64, ends []float64) timeline.Timeline {
	phases := []timeline.Phase{timeline.PhaseScheduling, timeline.PhasePull, timeline.PhaseContainerStart,
		timeline.PhaseReadinessProbe}
	if len(ends) >= 5 {
		phases = slices.Insert(phases, 1, timeline.PhaseNetwork)
	}
	if len(ends) == 6 {
		phases = slices.Insert(phases, 1, timeline.PhaseKubeletPickup)
	}
	t := timeline.Timeline{UID: name, Name: name, Namespace: "ns", Owner: owner, State: timeline.StateReady,
		CreatedAt: floor(created).Add(time.Second / 2), SettledAt: at(ends[len(ends)-1])}
	t.ScheduledAt = later(at(ends[0]), t.CreatedAt)
	add := func(m timeline.Milestone, at, earliest, latest time.Time) {
		t.Milestones = append(t.Milestones, timeline.MilestoneEvidence{Milestone: m, At: at, Earliest: earliest,
			Latest: latest})
	}
	add(timeline.MilestoneCreated, t.CreatedAt, floor(created), floor(created).Add(time.Second))
	from := t.CreatedAt
	for i, end := range ends {
		to := later(at(end), from)
		add(timeline.MilestoneRunning, to, at(end), to)
		t.Phases = append(t.Phases, timeline.Span{Phase: phases[i], Cause: causeOf(phases[i]), StartAt: from, EndAt: to,
			Error: time.Second})
		if i+1 == len(ends) { // the probe has less evidence than the readiness of the pod
			add(timeline.MilestoneContainerReady, to, from, to)
			add(timeline.MilestoneReady, to, at(end), to)
		}
		from = to
	}
	t.Total, t.TotalError = t.SettledAt.Sub(t.CreatedAt), time.Second
	return t
}
