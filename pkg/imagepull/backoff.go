package imagepull

import "time"

// firstBackoff and maxBackoff are the shortest and the longest back-off of the kubelet after a failed pull
// (pkg/kubelet, imageBackOffPeriod and MaxImageBackOff).
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 300 * time.Second
)

// Backoff returns the minimum time that the kubelet waits before it retries to pull an image of a pod. The argument
// "failures" is the number of consecutive failures. After the back-off, the kubelet retries when it next syncs the pod,
// some seconds later. A restart of the kubelet resets its back-offs.
func Backoff(failures int) time.Duration {
	if failures < 1 {
		return 0
	}
	return min(firstBackoff<<min(failures-1, 10), maxBackoff)
}
