package main

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/annotate"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// podFollowers passes pod objects on to several followers.
type podFollowers []podwatch.Follower

// podFollowersOf combines both followers of pod objects into one. It returns nil if both are off.
func podFollowersOf(onNode *nodeHealth, annotator *annotate.Annotator) podwatch.Follower {
	var all podFollowers
	if onNode != nil {
		all = append(all, onNode.addons)
	}
	if annotator != nil {
		all = append(all, annotating{annotator})
	}
	if len(all) == 0 {
		return nil
	}
	return all
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

// annotating is an annotator as a follower.
type annotating struct{ *annotate.Annotator }

// Restarted implements podwatch.Follower: restarts are not annotated.
func (annotating) Restarted(*corev1.Pod, podwatch.Restart) {}
