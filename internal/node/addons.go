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
	// maxAddons limits the reported add-ons: a node has a dozen.
	maxAddons = 64
	// maxRestartSeries limits the counted kinds of restart: programs choose their exit codes.
	maxRestartSeries = 256
	// stableAfter is how long after a restart a pod does not count as available.
	stableAfter = time.Minute
)

// AddonState is the state of an add-on's pods on this node. Each count is part of the previous one.
type AddonState struct {
	Addon
	Pods      int
	Running   int // in that phase
	Ready     int
	Available int // ready, and no container was restarted within the last minute
}

// RestartKind is the key by which restarts of add-ons are counted.
type RestartKind struct {
	Addon
	Container string
	Reason    podwatch.RestartReason
	ExitCode  string // a number, or unknown
}

// AddonsState is the state at a moment. The lists are sorted and limited.
type AddonsState struct {
	Addons          []AddonState
	DroppedAddons   int // beyond the limit, or with the same name as an add-on in another namespace
	Restarts        map[RestartKind]uint64
	DroppedRestarts uint64 // so far
	Available       bool   // all pods of all add-ons
}

// Addons follows the pods that are add-ons: it implements podwatch.Follower. Pods that are being
// deleted or have completed do not count. It is safe for concurrent use.
type Addons struct {
	selector Selector
	now      func() time.Time

	mu       sync.Mutex
	pods     map[string]addonPod // by UID
	restarts map[RestartKind]uint64
	dropped  uint64
	unstable map[string]time.Time // by UID: when a container was last restarted
}

type addonPod struct {
	addon          Addon
	namespace      string
	createdAt      time.Time
	running, ready bool
}

// compareClaim sorts the pod with the better claim on the name of an add-on first: a pod in one of
// Kubernetes' own namespaces, then one with a controller, then the older one. The creator of a pod
// chooses its labels, but not its creation time.
func (p addonPod) compareClaim(o addonPod) int {
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

// NewAddons returns an Addons without pods.
func NewAddons(selector Selector, now func() time.Time) *Addons {
	return &Addons{
		selector: selector, now: now,
		pods: map[string]addonPod{}, restarts: map[RestartKind]uint64{}, unstable: map[string]time.Time{},
	}
}

var _ podwatch.Follower = (*Addons)(nil)

// isAddon excludes pods of Jobs, and pods that were evicted or have completed.
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
		if best, claimed := a.claims()[addon.Name]; claimed && best.namespace != pod.Namespace {
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

// claims returns, for each name, the pod with the best claim on it.
func (a *Addons) claims() map[string]addonPod {
	best := map[string]addonPod{}
	for _, pod := range a.pods {
		if now, claimed := best[pod.addon.Name]; !claimed || pod.compareClaim(now) < 0 {
			best[pod.addon.Name] = pod
		}
	}
	return best
}

// forgetAbsent makes room: it drops the counts of add-ons that are no longer on the node.
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
	of, best := map[Addon]*AddonState{}, a.claims()
	foreign := map[Addon]bool{}
	for uid, pod := range a.pods {
		if a.selector.AnyNamespace() && pod.namespace != best[pod.addon.Name].namespace {
			foreign[pod.addon] = true // it uses another add-on's name
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
			return cmp.Or(best[a.Name].compareClaim(best[b.Name]), byName(a, b))
		})
		s.Addons, s.DroppedAddons = s.Addons[:maxAddons], s.DroppedAddons+over
	}
	slices.SortFunc(s.Addons, byName)
	return s
}
