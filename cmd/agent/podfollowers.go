package main

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/pkg/podwatch"
)

// podFollowers is a podwatch.Follower that passes each call to several other followers.
type podFollowers []podwatch.Follower

// podFollowersOf combines all parts of the agent that follow pod objects.
func podFollowersOf(onNode *ownNode, added features) podFollowers {
	var all podFollowers
	if onNode != nil && onNode.addons != nil {
		all = append(all, onNode.addons)
	}
	if onNode != nil && onNode.startUp != nil {
		all = append(all, onNode.startUp)
	}
	return append(all, added.followers()...)
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
