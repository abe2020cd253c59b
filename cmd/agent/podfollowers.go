package main

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/annotate"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// podFollowers are all that are told of pod objects.
type podFollowers []podwatch.Follower

// podFollowersOf leaves out those that are not there.
func podFollowersOf(all ...podwatch.Follower) (there podFollowers) {
	for _, f := range all {
		if f != nil {
			there = append(there, f)
		}
	}
	return there
}

// one is all of them as the pod watch wants it, nil for none.
func (f podFollowers) one() podwatch.Follower {
	if len(f) == 0 {
		return nil
	}
	return f
}

// Seen implements podwatch.Follower.
func (f podFollowers) Seen(pod *corev1.Pod) {
	for _, one := range f {
		one.Seen(pod)
	}
}

// Restarted implements podwatch.Follower.
func (f podFollowers) Restarted(pod *corev1.Pod, restart podwatch.Restart) {
	for _, one := range f {
		one.Restarted(pod, restart)
	}
}

// Gone implements podwatch.Follower.
func (f podFollowers) Gone(uid string) {
	for _, one := range f {
		one.Gone(uid)
	}
}

// annotating is who annotates pods as a follower.
type annotating struct{ *annotate.Annotator }

// Restarted implements podwatch.Follower: it is nothing to annotate.
func (annotating) Restarted(*corev1.Pod, podwatch.Restart) {}
