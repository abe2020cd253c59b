package imagepull

import "time"

// The kubelet's back-off after a failed pull (pkg/kubelet, imageBackOffPeriod and MaxImageBackOff).
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 300 * time.Second
)

// Backoff returns how long the kubelet waits at least before it retries to pull an image of a pod,
// after a number of failures in a row. The kubelet forgets its back-offs when it restarts. It
// retries when it next syncs the pod, some seconds after the back-off.
func Backoff(failures int) time.Duration {
	if failures < 1 {
		return 0
	}
	return min(firstBackoff<<min(failures-1, 10), maxBackoff)
}
