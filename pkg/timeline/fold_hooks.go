package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// waitForWork returns the step before the kubelet starts work on a container. If the previous container has a
// post-start hook, the kubelet first waits for this hook.
func (f *fold) waitForWork(c *Container) step {
	if before := f.containerBefore(c.Name); before != nil && before.PostStartHook && !f.endsOwnHook(before) {
		return step{phase: PhasePostStartHook, previous: true}
	}
	return step{phase: PhaseKubeletSync}
}

// endsOwnHook reports whether the steps of a container show the end of the container's post-start hook. The kubelet
// writes the status of a sidecar after the sidecar's post-start hook. If the sidecar has a startup probe, the kubelet
// continues with the next container after the success of this probe. If the sidecar has no startup probe, the kubelet
// writes the status of the sidecar before it continues with the next container (computeInitContainerActions in
// pkg/kubelet/kuberuntime). The kubelet writes the status of main containers only after its work on all main
// containers.
func (f *fold) endsOwnHook(c *Container) bool {
	switch {
	case f.isLast(c):
		return true
	case c.Kind != KindSidecar:
		return false
	case c.StartupProbe:
		return f.bounds.find(milestoneKey{f.index(c.Name), f.lastRun(c), MilestoneStarted}) != nil
	}
	reported := f.bounds.find(milestoneKey{f.index(c.Name), f.lastRun(c), MilestonePostStarted})
	return reported != nil && reported.bias == biasLatest // a status from a list can be old
}

// withCredentialLookup adds the phase kubelet_sync to a wait for a post-start hook. The argument "wait" ends when the
// kubelet requests a pull or finds the image on the node. Before that, the kubelet can look up the registry
// credentials, and run a credential plugin for up to a minute (pkg/kubelet/images, EnsureImageExists). No source
// reports when the kubelet begins the lookup. So the evidence does not separate the lookup from the hook.
func withCredentialLookup(wait step) step {
	if wait.phase == PhasePostStartHook {
		wait.also = alsoKubeletSync
	}
	return wait
}

// withLookupInPull adds the phase kubelet_sync to the possible phases of a period that can contain the start of a pull.
// Kubelets up to 1.32 look up the registry credentials after they have requested the pull, and run a credential plugin
// for up to a minute (PullImage in pkg/kubelet/kuberuntime). No evidence separates the lookup from the queue and the
// pull. If the kubelet reported the duration of the pull, the only possible phases are PhasePull and PhaseUnpack. The
// error bound of the pull then includes the lookup: see credentialTime.
func (f *fold) withLookupInPull(phases []Phase) []Phase {
	beforePull := func(p Phase) bool { return p != PhasePull && p != PhaseUnpack }
	if f.e.kubelet133 || !slices.Contains(phases, PhasePull) || !slices.ContainsFunc(phases, beforePull) {
		return phases
	}
	return uniquePhases(phases, alsoKubeletSync)
}

// lookupAfterBackoff returns how long the kubelet might have looked up registry credentials at the end of a back-off. A
// kubelet of version 1.33 or later looks up the credentials before it checks whether the back-off is over
// (pkg/kubelet/images, EnsureImageExists). The kubelet does not cache the failure of a credential plugin, so it runs
// the plugin again. So a slow lookup usually takes as long as the lookup before the first request for the image. The
// lookup before this request took at most the time since the kubelet could work on the container. If this time is at
// most statusPatience, it does not prove a slow lookup, so the result is 0. If a check of the image failed before the
// first request, the time of the lookup is unknown, so the result is also 0. The wait for the end of the back-off
// itself is never part of the result.
func (f *fold) lookupAfterBackoff(s Span, begin milestoneKey) time.Duration {
	if s.Phase != PhaseImageBackoff || begin.container == podWide {
		return 0
	}
	first := func(m Milestone) *bound { return f.bounds.find(milestoneKey{begin.container, 0, m}) }
	c, requested := f.e.specOf(begin.container), first(MilestonePullRequested)
	if c == nil || requested == nil || first(MilestoneNameRefused) != nil || first(MilestoneInspectFailed) != nil {
		return 0
	}
	start := f.e.workStart(c)
	if lookup := requested.latest.sub(start); start != minInstant && lookup > statusPatience {
		return max(0, min(lookup, s.Duration()-imagepull.Backoff(s.Attempt)))
	}
	return 0
}

// mayLookUp reports whether the kubelet might have looked up registry credentials before it found a container's image.
// Since version 1.35, the kubelet checks by default whether a pod has access to an image that is already on the node.
// The Event about the image reports this check. The kubelet looks up credentials for the check only if it pulled the
// image earlier with the credentials of a Secret or of a service account (pkg/kubelet/images/pullmanager,
// MustAttemptImagePull). Another pod then has access to the image only in two cases: the pod has the same Secret, or a
// credential plugin returns credentials for the pod's service account. No source reports with which credentials the
// kubelet pulled the image. If there is no Event about the image, the Events about the pod's other images show whether
// the kubelet checks images.
func (f *fold) mayLookUp(index int16) bool {
	if p := f.pulls[index].pulled; p.present {
		return p.checked
	}
	return f.e.kubelet133 && !slices.ContainsFunc(f.pulls, func(p pullEvidence) bool {
		return p.pulled.present && !p.pulled.checked
	})
}

// withImageLookup returns a wait that ends when the kubelet finds the image on the node, with all possible phases of
// the wait. If the pod has a pull Secret, the wait can include the lookup of registry credentials. The kubelet checks
// the access to the image even if the pull policy forbids pulls. If no Event reports the end of the wait, the wait is
// merged with the creation of the container. Then the wait can include other work of the kubelet: kubelet 1.33 always
// looks up the credentials, and a kubelet that restarted during the hook continues with the next container.
func (f *fold) withImageLookup(wait step, index int16) step {
	_, worked := f.firstWork(index, wait.key)
	if worked && f.bounds.find(wait.key) == nil || f.e.pod.PullSecrets && f.mayLookUp(index) {
		return withCredentialLookup(wait)
	}
	return wait
}

// beforeHook lists the work on a container before its post-start hook.
var beforeHook = []Phase{
	PhaseKubeletSync, PhasePullQueue, PhasePull, PhaseUnpack, PhaseContainerCreate, PhaseContainerStart,
}

// mayPrecedeRun reports whether a period that looks like a post-start hook might have begun before the container ran.
// The argument "from" is the beginning of the period. If only the kubelet reports when the container started, this time
// is truncated to seconds. So the estimated start of the container can be later than the beginning of the period. If
// the period can contain work on the next container, mayPrecedeRun returns false, because such a period is unattributed
// anyway.
func (f *fold) mayPrecedeRun(from *bound, until instant, w phaseCandidates) bool {
	s := step{previous: true}
	if w.phases[0] != PhasePostStartHook || !s.belongsToPrevious(w.phases) {
		return false
	}
	ran := f.lastStart(f.index(w.container), until)
	return ran == nil || ran.estimate() > from.estimate()
}

// lastStart returns the last known start of a container up to the instant "until", or nil if no start is known.
func (f *fold) lastStart(index int16, until instant) (ran *bound) {
	for attempt := range f.lastAttempt(index, MilestoneRunning) + 1 {
		if b := f.bounds.find(milestoneKey{index, attempt, MilestoneRunning}); b != nil && b.estimate() <= until {
			ran = b
		}
	}
	return ran
}
