package imagepull

import "time"

// Kubelet's back-off after a pull that failed (pkg/kubelet, imageBackOffPeriod and MaxImageBackOff).
const (
	firstBackoff = 10 * time.Second
	maxBackoff   = 300 * time.Second
)

// Backoff is how long kubelet waits at least before it tries again to pull an image of a pod, after
// so many failures in a row, unless it is restarted meanwhile: it forgets its back-offs then. It
// comes back to the pod when it looks at it the next time, some seconds later than that.
func Backoff(failures int) time.Duration {
	if failures < 1 {
		return 0
	}
	return min(firstBackoff<<min(failures-1, 10), maxBackoff)
}
