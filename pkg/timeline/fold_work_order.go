package timeline

import (
	"cmp"
	"slices"
)

// workOrder returns the order of the kubelet's work on main containers. workOrder considers a container only if
// containerd's store is the only source for the start of its pull. The kubelet works on one container from its pull to
// its start without interruption (startContainer in pkg/kubelet/kuberuntime). So if container A ran before the creation
// of container B, then container A also ran before the pull of container B.
func (f *fold) workOrder() []sequence {
	var all []sequence
	for _, c := range f.containers {
		index := f.index(c.Name)
		started := f.bounds.find(milestoneKey{index, f.pulls[index].finalAttempt, MilestonePullStarted})
		created := f.bounds.find(milestoneKey{index, 0, MilestoneContainerCreated})
		if c.Kind != KindMain || f.e.createFailed(index) || started == nil || created == nil ||
			started.origins != origins(0).with(originStore) {
			continue
		}
		for _, before := range f.containers {
			ran := f.bounds.find(milestoneKey{f.index(before.Name), 0, MilestoneRunning})
			if before.Kind == KindMain && ran != nil && ran.origins.has(originRuntime) &&
				ran.latest < created.earliest {
				all = append(all, sequence{ran, started})
			}
		}
	}
	return all
}

// pullOrder returns the order of the pulls of main containers. During a pull, the kubelet does no other work on the pod
// (startContainer in pkg/kubelet/kuberuntime). So if the kubelet requested the image of container A and later worked on
// container B, the pull for container A ended before the work on container B.
func (f *fold) pullOrder() []sequence {
	type pull struct {
		container        int16
		requested, ended *bound
	}
	var pulls []pull
	for _, c := range f.containers {
		if c.Kind != KindMain {
			continue
		}
		index := f.index(c.Name)
		for attempt := range uint16(maxAttempts) {
			if requested, ended := f.requestAndEnd(index, attempt); requested != nil && ended != nil {
				pulls = append(pulls, pull{index, requested, ended})
			}
		}
	}
	slices.SortFunc(pulls, func(a, b pull) int { return cmp.Compare(a.requested.latest, b.requested.latest) })
	var all []sequence
	for _, c := range f.containers {
		if c.Kind != KindMain || len(pulls) == 0 {
			continue
		}
		for _, work := range f.pullStarts(f.index(c.Name)) {
			last, _ := slices.BinarySearchFunc(pulls, work.earliest,
				func(p pull, t instant) int { return cmp.Compare(p.requested.latest, t) })
			for last--; last >= 0 && pulls[last].container == work.key.container; last-- {
			}
			// If the earlier pull certainly ended after this work began, Events were lost. Then the request and the end
			// of the pull belong to different attempts, so they show no order.
			if last >= 0 && pulls[last].ended.earliest <= work.latest {
				all = append(all, sequence{pulls[last].ended, work})
			}
		}
	}
	return all
}

// requestAndEnd returns when the kubelet requested a pull, and when this pull ended or failed. A result is nil if the
// time is unknown.
func (f *fold) requestAndEnd(index int16, attempt uint16) (requested, ended *bound) {
	return f.bounds.find(milestoneKey{index, attempt, MilestonePullRequested}),
		cmp.Or(f.bounds.find(milestoneKey{index, attempt, MilestonePullFailed}),
			f.bounds.find(milestoneKey{index, attempt, MilestonePullFinished}))
}

// pullStarts returns the times at which the kubelet requested the image of a container or found the image on the node.
func (f *fold) pullStarts(index int16) (starts []*bound) {
	for attempt := range uint16(maxAttempts) {
		if b := f.bounds.find(milestoneKey{index, attempt, MilestonePullRequested}); b != nil {
			starts = append(starts, b)
		}
	}
	if p := &f.pulls[index]; p.pulled.present {
		if b := f.bounds.find(milestoneKey{index, p.finalAttempt, MilestonePullFinished}); b != nil {
			starts = append(starts, b)
		}
	}
	return starts
}
