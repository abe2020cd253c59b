package timeline

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// obstacle is what kept kubelet from making a pod's sandbox, as one of its Events says.
type obstacle uint8

// The obstacles, in the order of obstacleTable.
const (
	obstacleNetworkNotReady obstacle = iota // kubelet does not start pods while the runtime's network is not ready
	obstacleMountConfig                     // a ConfigMap, a Secret or a key of a volume is missing
	obstacleMountAPI                        // the API server did not give kubelet what a volume shows
	obstacleMountSync                       // kubelet does not have yet what a volume shows, if that exists
	obstacleMount                           // any other failure to mount
	obstacleDevice                          // a driver did not prepare a dynamically allocated resource
	obstacleSandboxNetwork                  // the network plugin failed
	obstacleSandboxImage                    // the sandbox image could not be pulled
	obstacleSandboxConfig                   // the node does not have the runtime that the pod asks for
	obstacleSandboxTimeout                  // the runtime did not answer in time, whatever it was doing
	obstacleSandbox                         // any other failure to make a sandbox
)

// obstacleRow is what an obstacle says of the time around the Event that names it.
type obstacleRow struct {
	phases []Phase // what the pod waits for; several if the Event does not tell them apart
	// first is what may lie between kubelet's taking the pod up and the first of these Events. What was missing when
	// kubelet first looked was missing before.
	first []Phase
	// sandbox says that an attempt to make a sandbox failed.
	sandbox bool
	// retry is how long after the given number of such Events kubelet tries again at the latest; nil if only the
	// next sign of kubelet tells.
	retry func(count int) time.Duration
}

// obstacleTable has a row an obstacle, in the order of the constants.
var obstacleTable = [...]obstacleRow{
	obstacleNetworkNotReady: {
		phases: []Phase{PhaseNetwork}, first: []Phase{PhaseNetwork}, retry: func(int) time.Duration { return networkRetry }},
	obstacleMountConfig: {
		phases: []Phase{PhasePodConfig}, first: []Phase{PhasePodConfig}, retry: mountRetry},
	obstacleMountAPI: {
		phases: []Phase{PhaseAPIServer}, first: []Phase{PhaseAPIServer}, retry: mountRetry},
	obstacleMountSync: {
		phases: []Phase{PhaseAPIServer, PhasePodConfig, PhaseKubeletSync},
		first:  []Phase{PhaseAPIServer, PhasePodConfig, PhaseKubeletSync}, retry: mountRetry},
	obstacleMount:  {phases: []Phase{PhaseVolumes}, first: []Phase{PhaseVolumes}, retry: mountRetry},
	obstacleDevice: {phases: []Phase{PhaseDevice}, first: []Phase{PhaseVolumes, PhaseDevice}},
	obstacleSandboxNetwork: {
		phases: []Phase{PhaseNetwork}, first: []Phase{PhaseVolumes, PhaseNetwork}, sandbox: true},
	obstacleSandboxImage: {
		phases: []Phase{PhaseSandboxImage}, first: []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage}, sandbox: true},
	obstacleSandboxConfig: {
		phases: []Phase{PhasePodConfig}, first: []Phase{PhaseVolumes, PhasePodConfig}, sandbox: true},
	obstacleSandboxTimeout: {
		phases:  []Phase{PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		first:   []Phase{PhaseVolumes, PhaseNetwork, PhaseSandboxImage, PhaseSandbox},
		sandbox: true},
	obstacleSandbox: {phases: []Phase{PhaseSandbox}, first: []Phase{PhaseVolumes, PhaseNetwork, PhaseSandbox}, sandbox: true},
}

// unseenObstacles is what may have held a pod up beside its volumes where no Event watch would have told of it.
var unseenObstacles = []Phase{PhaseNetwork, PhaseAPIServer, PhasePodConfig, PhaseSandboxImage, PhaseSandbox}

const (
	// networkRetry is how long kubelet waits at most before it looks again whether the network is ready
	// (pkg/kubelet/pod_workers.go, backOffOnTransientErrorPeriod with its jitter).
	networkRetry = 1500 * time.Millisecond
	// networkPoll is how often kubelet asks the runtime whether its network is ready (pkg/kubelet, updateRuntimeUp).
	networkPoll = 5 * time.Second
	// mountRetryFirst and mountRetryMost bound kubelet's back-off of a volume that it could not mount
	// (pkg/util/goroutinemap/exponentialbackoff).
	mountRetryFirst = 500 * time.Millisecond
	mountRetryMost  = 2*time.Minute + 2*time.Second
	// retrySlack is how long kubelet takes from the end of an obstacle to asking for the sandbox: it looks at volumes
	// ten times a second, and waits for them in steps of 300 ms (pkg/kubelet/volumemanager).
	retrySlack = time.Second
)

// mountRetry is how long kubelet waits after a volume could not be mounted so many times.
func mountRetry(count int) time.Duration {
	wait := mountRetryFirst
	for range count - 1 {
		if wait *= 2; wait >= mountRetryMost {
			return mountRetryMost
		}
	}
	return wait
}

// sandboxWords are the texts of containerd (internal/cri/server), CRI-O (server/sandbox_run_linux.go) and gRPC by which
// the failure of a sandbox is known. Of several that match the first row counts.
var sandboxWords = []struct {
	words    string
	obstacle obstacle
}{
	{"failed to setup network for sandbox", obstacleSandboxNetwork},
	{"failed to create network namespace for sandbox", obstacleSandboxNetwork},
	{"failed to create pod network sandbox", obstacleSandboxNetwork}, // CRI-O
	{"failed to get sandbox image", obstacleSandboxImage},
	{"failed to pull image", obstacleSandboxImage}, // containerd 2.1 and later
	{"failed to get image", obstacleSandboxImage},
	{"creating pause image", obstacleSandboxImage}, // CRI-O
	{"no runtime for  is configured", obstacleSandboxConfig},
	{"failed to find runtime handler", obstacleSandboxConfig}, // CRI-O
	{"deadline exceeded", obstacleSandboxTimeout},
	{"deadlineexceeded", obstacleSandboxTimeout},
	{"failed to reserve sandbox name", obstacleSandboxTimeout}, // an attempt that nobody waits for any more goes on
	{"name is reserved", obstacleSandboxTimeout},               // CRI-O
}

// mountWords are the texts of kubelet's volume plugins and managers (pkg/volume, pkg/kubelet/{secret,configmap}).
var mountWords = []struct {
	words    string
	obstacle obstacle
}{
	{"configmap  not found", obstacleMountConfig},
	{"secret  not found", obstacleMountConfig},
	{"serviceaccounts  not found", obstacleMountConfig},
	{"references non-existent config key", obstacleMountConfig},
	{"references non-existent secret key", obstacleMountConfig},
	{"connection refused", obstacleMountAPI},
	{"no route to host", obstacleMountAPI},
	{"i/o timeout", obstacleMountAPI},
	{"etcdserver: ", obstacleMountAPI},
	{"the server is currently unable to handle the request", obstacleMountAPI},
	{"failed to fetch token", obstacleMountSync},
	{"failed to sync configmap cache", obstacleMountSync},
	{"failed to sync secret cache", obstacleMountSync},
}

// obstacleOf reads a kubelet Event; ok is false for one that names no obstacle.
func obstacleOf(reason, message string) (o obstacle, ok bool) {
	switch reason {
	case "NetworkNotReady":
		return obstacleNetworkNotReady, true
	case "FailedPrepareDynamicResources":
		return obstacleDevice, true
	case "FailedMount":
		text := imagepull.WithoutQuotes(message)
		if strings.HasPrefix(text, "Unable to attach or mount volumes") || strings.HasSuffix(text, "not registered") {
			// The one repeats which volumes are missing, and does not say why. The other only says that kubelet has not begun
			// to look for the pod's objects, as while the network is not ready.
			return 0, false
		}
		for _, row := range mountWords {
			// What other volumes reach over a network may fail in the same words.
			if strings.Contains(text, row.words) && (row.obstacle != obstacleMountAPI || strings.Contains(text, "failed to fetch token")) {
				return row.obstacle, true
			}
		}
		return obstacleMount, true
	case "FailedCreatePodSandBox":
		text := strings.ToLower(imagepull.WithoutQuotes(message))
		for _, row := range sandboxWords {
			if strings.Contains(text, row.words) {
				return row.obstacle, true
			}
		}
		return obstacleSandbox, true
	}
	return 0, false
}

// holdUp is what one Event tells of an obstacle: its first and its latest occurrence, which are the same unless it repeats.
type holdUp struct {
	obstacle    obstacle
	first, last window
	count       int  // occurrences so far
	runtime     bool // the last one is what the runtime said of its network, not kubelet
}

func (h holdUp) row() *obstacleRow { return &obstacleTable[h.obstacle] }

// until is when kubelet has tried again for certain; maxInstant if nothing tells.
func (h holdUp) until() instant {
	if h.row().retry == nil {
		return maxInstant
	}
	wait := h.row().retry(h.count)
	if h.runtime {
		wait += networkPoll
	}
	return h.last.latest + instant(wait)
}

func (h holdUp) compare(o holdUp) int {
	return cmp.Or(h.first.compare(o.first), cmp.Compare(h.obstacle, o.obstacle))
}

// applyHoldUp keeps an Event that names an obstacle: of each Event its first and its latest occurrence, and of several
// Events the earliest.
func (e *Evidence) applyHoldUp(o EventSeen) {
	named, ok := obstacleOf(o.Reason, strings.TrimPrefix(o.Message, imagepull.CombinedPrefix))
	if !ok {
		return
	}
	h := holdUp{obstacle: named, first: firstOccurrence(o), last: latestOccurrence(o), count: o.Count}
	if strings.HasPrefix(o.Message, imagepull.CombinedPrefix) {
		// Of what it stands for, only the text and the latest stamp are of one occurrence.
		h.first, h.count = h.last, 1
	}
	i, found := slices.BinarySearchFunc(e.holdUps, h, holdUp.compare)
	switch {
	case found:
		known := &e.holdUps[i]
		if later := cmp.Or(cmp.Compare(h.count, known.count), known.last.compare(h.last)); later > 0 {
			*known, e.news = h, true
		}
	case i < maxFailures:
		longer := slices.Insert(e.holdUps, i, h)
		e.holdUps, e.news = longer[:min(len(longer), maxFailures)], true
	}
}

// holdUpsByRuntime is the obstacles with what the runtime said of the latest network that was not ready: kubelet does not start
// the pod as long as the runtime says so.
func (e *Evidence) holdUpsByRuntime() []holdUp {
	latest := -1
	for i, h := range e.holdUps {
		if h.obstacle == obstacleNetworkNotReady && (latest < 0 || h.last.latest > e.holdUps[latest].last.latest) {
			latest = i
		}
	}
	if latest < 0 || e.networkDown <= e.holdUps[latest].last.latest {
		return e.holdUps
	}
	extended := slices.Clone(e.holdUps)
	h := &extended[latest]
	h.last = window{origin: originRuntime, earliest: e.networkDown, latest: e.networkDown}
	h.count, h.runtime = max(2, h.count), true
	return extended
}

// obstacleSeen is one occurrence of an Event that names an obstacle.
type obstacleSeen struct {
	window
	key  markKey
	from *holdUp
}

// occurrences are those of all Events that name an obstacle before a sandbox began, in the order of time.
func (f *fold) occurrences() []obstacleSeen {
	f.holdUps = f.e.holdUpsByRuntime()
	var all []obstacleSeen
	for i := range f.holdUps {
		h := &f.holdUps[i]
		all = append(all, obstacleSeen{window: h.first, from: h})
		if h.count > 1 {
			all = append(all, obstacleSeen{window: h.last, from: h})
		}
	}
	slices.SortStableFunc(all, func(a, b obstacleSeen) int { return a.window.compare(b.window) })
	var failed, held uint16
	for i := range all {
		if all[i].from.row().sandbox {
			all[i].key, failed = markKey{podWide, failed, MarkSandboxFailed}, failed+1
		} else {
			all[i].key, held = markKey{podWide, held, MarkHeldUp}, held+1
		}
	}
	return all
}

// beforeSandbox is the way from kubelet's taking the pod up to the sandbox that came to run, where Events tell of
// obstacles. Between two of them the pod waited for what either names, and for every volume that kubelet had not
// tried to mount again by then.
func (f *fold) beforeSandbox(begun step) []step {
	steps := make([]step, 0, len(f.obstacles)+2)
	phases := f.obstacles[0].from.row().first
	for i, o := range f.obstacles {
		if i > 0 {
			phases = f.between(f.obstacles[i-1], o.earliest, o.from)
		}
		steps = append(steps, stepTo(o.key, phases))
	}
	last := f.obstacles[len(f.obstacles)-1]
	if due := podMark(MarkRetryDue); f.bounds.find(due) != nil {
		steps = append(steps, stepTo(due, f.between(last, last.until(), nil)))
		return joined(append(steps, f.toSandbox(begun, last.from.row().phases)))
	}
	ahead := stepTo(begun.key, f.between(last, maxInstant, nil))
	ahead.vague = begun.vague
	return joined(append(steps, ahead))
}

// joined makes one stretch of those between which an obstacle was only named again.
func joined(steps []step) []step {
	for i := range steps[:len(steps)-1] {
		s, next := &steps[i], &steps[i+1]
		s.vague = s.key.mark == MarkHeldUp && s.phase == next.phase && slices.Equal(s.also, next.also)
	}
	return steps
}

func (o obstacleSeen) until() instant { return o.from.until() }

// between is what a pod waited for from one obstacle until an instant at which another one was named, if any was.
func (f *fold) between(o obstacleSeen, until instant, next *holdUp) []Phase {
	phases := slices.Clone(o.from.row().phases)
	if o.from.runtime && next == nil && o.latest == o.from.last.latest {
		phases = append(phases, PhaseVolumes) // the network may have become ready at once, and kubelet have seen it
	}
	add := func(h *holdUp) {
		for _, p := range h.row().phases {
			if !slices.Contains(phases, p) {
				phases = append(phases, p)
			}
		}
	}
	if next != nil {
		add(next)
	}
	for i := range f.holdUps {
		h := &f.holdUps[i]
		if h.row().retry != nil && h.first.earliest < until && h.until() > o.latest && o.from.row().retry != nil {
			add(h)
		}
	}
	return phases
}

// toSandbox is the step to a sandbox after kubelet should have tried again: the obstacle may have been there for longer, if
// Events were lost, or something else was in the way.
func (f *fold) toSandbox(begun step, obstacles []Phase) step {
	ahead := stepTo(begun.key, slices.Concat([]Phase{begun.phase}, begun.also, obstacles))
	ahead.vague = begun.vague
	return ahead
}

// stepTo is a step that may hold several phases.
func stepTo(key markKey, phases []Phase) step {
	return step{key: key, phase: phases[0], also: phases[1:]}
}

// obstacleClaims date the occurrences of obstacles, and when kubelet was to try again after the last one.
func (f *fold) obstacleClaims() []claim {
	var claims []claim
	for _, o := range f.obstacles {
		claims = append(claims, o.claim(o.key))
	}
	if len(f.obstacles) == 0 {
		return nil
	}
	begun, known := f.e.latest(podMark(MarkSandboxBegun))
	if !known {
		begun = f.asOf
	}
	if due := f.retryDue(); due < begun {
		last := f.obstacles[len(f.obstacles)-1]
		w := last.window
		w.earliest += last.until() - w.latest
		w.latest = last.until()
		claims = append(claims, w.claim(podMark(MarkRetryDue)))
	}
	return claims
}

// retryDue is by when kubelet should have asked for a sandbox if nothing but the last obstacle was in the way; maxInstant if
// nothing tells.
func (f *fold) retryDue() instant {
	if len(f.obstacles) == 0 {
		return maxInstant
	}
	until := f.obstacles[len(f.obstacles)-1].until()
	if until == maxInstant {
		return until
	}
	return until + instant(retrySlack)
}
