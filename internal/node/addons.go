package node

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

const (
	// maxAddons is the maximum number of reported add-ons. A node typically has a dozen add-ons.
	maxAddons = 64
	// maxRestartSeries is the maximum number of series that count container restarts. A limit is necessary because each
	// exit code has its own series, and programs can use any exit code.
	maxRestartSeries = 256
	// stableAfter is the time from a container restart until the pod can count as available again.
	stableAfter = time.Minute
)

// AddonState is the state of an add-on's pods on this node. Each available pod is also ready, and each ready pod is
// also running.
type AddonState struct {
	Addon
	Pods      int
	Running   int // number of pods in phase Running
	Ready     int
	Available int // number of ready pods without a container restart in the last minute
}

// RestartKind is the key of a restart counter. The agent has one counter for each RestartKind.
type RestartKind struct {
	Addon
	Container string
	Reason    podwatch.RestartReason
	ExitCode  string // exit code as a number, or "unknown"
}

// AddonsState is the state of all add-ons at one moment. The lists are sorted and limited.
type AddonsState struct {
	Addons []AddonState
	// DroppedAddons is the number of add-ons that the field Addons omits. The field Addons holds at most maxAddons
	// add-ons. If Selector.AnyNamespace returns true, the field Addons also omits an add-on whose name is already in
	// use in another namespace.
	DroppedAddons int
	Restarts      map[RestartKind]uint64
	// DroppedRestarts is the number of container restarts that the field Restarts omits. The field Restarts holds at
	// most maxRestartSeries series, and omits restarts that need another series. If Selector.AnyNamespace returns true,
	// the field Restarts also omits the restarts of an add-on whose name is already in use in another namespace.
	DroppedRestarts uint64
	Available       bool // true if all pods of all add-ons are available
}

// Addons follows the add-on pods. Addons implements podwatch.Follower. Addons ignores pods of Jobs, and pods that have
// succeeded or failed. A pod that is being deleted counts as an add-on pod until the API server removes the pod's
// object. Addons is safe for concurrent use.
type Addons struct {
	selector Selector
	now      func() time.Time

	mu       sync.Mutex
	pods     map[string]addonPod // add-on pods, by UID
	restarts map[RestartKind]uint64
	dropped  uint64
	unstable map[string]time.Time // time of the last container restart, by pod UID
}

type addonPod struct {
	addon          Addon
	namespace      string
	createdAt      time.Time
	running, ready bool
}

// comparePriority orders pods with the same add-on name. The first pod in the order of comparePriority gets the
// add-on's name. Pods in Kubernetes' own namespace come first, then pods with a controller, then older pods. Older pods
// come first because users can choose the labels of a new pod, but not its creation time.
func (p addonPod) comparePriority(o addonPod) int {
	return cmp.Or(cmp.Compare(p.rank(), o.rank()), p.createdAt.Compare(o.createdAt),
		cmp.Compare(p.namespace, o.namespace))
}

func (p addonPod) rank() (rank int) {
	if p.namespace != DefaultSelector {
		rank += 2
	}
	if p.addon.Controller == "" {
		rank++
	}
	return rank
}

// NewAddons returns an Addons that has seen no pods.
func NewAddons(selector Selector, now func() time.Time) *Addons {
	return &Addons{
		selector: selector, now: now,
		pods: map[string]addonPod{}, restarts: map[RestartKind]uint64{}, unstable: map[string]time.Time{},
	}
}

var _ podwatch.Follower = (*Addons)(nil)

// isAddon reports whether a pod is an add-on. isAddon excludes pods of Jobs, and pods that have succeeded or failed,
// for example evicted pods.
func (a *Addons) isAddon(pod *corev1.Pod, addon Addon) bool {
	return a.selector.matches(pod) && addon.Controller != "Job" && addon.Controller != "CronJob" &&
		pod.Status.Phase != corev1.PodSucceeded && pod.Status.Phase != corev1.PodFailed
}

// Seen implements podwatch.Follower.
func (a *Addons) Seen(pod *corev1.Pod) {
	addon := addonOf(pod)
	if !a.isAddon(pod, addon) {
		a.Gone(string(pod.UID))
		return
	}
	ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
	running := pod.Status.Phase == corev1.PodRunning
	a.mu.Lock()
	defer a.mu.Unlock()
	a.pods[string(pod.UID)] = addonPod{addon, pod.Namespace, pod.CreationTimestamp.Time, running, running && ready}
}

// Restarted implements podwatch.Follower.
func (a *Addons) Restarted(pod *corev1.Pod, r podwatch.Restart) {
	addon := addonOf(pod)
	if !a.isAddon(pod, addon) {
		return
	}
	kind := RestartKind{Addon: addon, Container: text(r.Container), Reason: r.Reason, ExitCode: "unknown"}
	if r.ExitCode != nil {
		kind.ExitCode = strconv.Itoa(int(*r.ExitCode))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.selector.AnyNamespace() {
		if best, held := a.holders()[addon.Name]; held && best.namespace != pod.Namespace {
			a.dropped += uint64(r.Times)
			return
		}
	}
	a.unstable[string(pod.UID)] = a.now()
	if _, known := a.restarts[kind]; !known && len(a.restarts) >= maxRestartSeries {
		a.forgetAbsent()
		if len(a.restarts) >= maxRestartSeries {
			a.dropped += uint64(r.Times)
			return
		}
	}
	a.restarts[kind] += uint64(r.Times)
}

// For each add-on name, holders returns the pod that gets this name: see comparePriority.
func (a *Addons) holders() map[string]addonPod {
	best := map[string]addonPod{}
	for _, pod := range a.pods {
		if now, held := best[pod.addon.Name]; !held || pod.comparePriority(now) < 0 {
			best[pod.addon.Name] = pod
		}
	}
	return best
}

// forgetAbsent deletes the restart counts of add-ons that no longer have pods on the node, to make room for other
// counts.
func (a *Addons) forgetAbsent() {
	present := map[Addon]bool{}
	for _, pod := range a.pods {
		present[pod.addon] = true
	}
	maps.DeleteFunc(a.restarts, func(kind RestartKind, _ uint64) bool { return !present[kind.Addon] })
}

// Gone implements podwatch.Follower.
func (a *Addons) Gone(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, uid)
	delete(a.unstable, uid)
}

// State returns the current state of the add-ons.
func (a *Addons) State() AddonsState {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := AddonsState{Restarts: maps.Clone(a.restarts), DroppedRestarts: a.dropped, Available: true}
	of, best := map[Addon]*AddonState{}, a.holders()
	foreign := map[Addon]bool{}
	for uid, pod := range a.pods {
		if a.selector.AnyNamespace() && pod.namespace != best[pod.addon.Name].namespace {
			foreign[pod.addon] = true // an add-on in another namespace owns the name
			continue
		}
		state := of[pod.addon]
		if state == nil {
			state = &AddonState{Addon: pod.addon}
			of[pod.addon] = state
		}
		state.Pods++
		restartedAt, restarted := a.unstable[uid]
		switch {
		case pod.ready && (!restarted || a.now().Sub(restartedAt) >= stableAfter):
			state.Available++
			fallthrough
		case pod.ready:
			state.Ready++
			fallthrough
		case pod.running:
			state.Running++
		}
	}
	for _, state := range of {
		s.Addons = append(s.Addons, *state)
		s.Available = s.Available && state.Available == state.Pods
	}
	byName := func(a, b AddonState) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Version, b.Version),
			cmp.Compare(a.Controller, b.Controller))
	}
	s.DroppedAddons = len(foreign)
	if over := len(s.Addons) - maxAddons; over > 0 {
		slices.SortFunc(s.Addons, func(a, b AddonState) int {
			return cmp.Or(best[a.Name].comparePriority(best[b.Name]), byName(a, b))
		})
		s.Addons, s.DroppedAddons = s.Addons[:maxAddons], s.DroppedAddons+over
	}
	slices.SortFunc(s.Addons, byName)
	return s
}
