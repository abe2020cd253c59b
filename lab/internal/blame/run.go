package blame

import "time"

// Run is one run of a container.
type Run struct {
	Container string
	Attempt   int
	Init      bool // true if this container must exit before the kubelet starts the next container
	Hooked    bool // true if the post-start hook must return before the kubelet starts the next container

	// StartedAt is the time when the process started, according to the container's shim. If the time is unknown,
	// StartedAt is zero. A process can log its start long after StartedAt, for example if it waits for a CPU.
	StartedAt time.Time
	BegunAt   time.Time // time when the process logged its start; zero if the process did not log its start
	// Before the process logged its start, it might have waited for a CPU or a disk. earliestStart assumes that this
	// wait was at most Waited.
	Waited     time.Duration
	ExitedAt   time.Time // time when the process exited; zero while the process runs
	ExitSeenAt time.Time // time when the runtime learned of the exit
	HookedAt   time.Time // time when the post-start hook logged its end
	ReadyAt    time.Time // when the readiness probe logged its success; without a readiness probe: the startup probe
}

// earliestStart returns the earliest possible start of the process. If both StartedAt and BegunAt are zero,
// earliestStart returns the zero time.
func (r Run) earliestStart() time.Time {
	if r.BegunAt.IsZero() {
		return r.StartedAt
	}
	began := r.BegunAt.Add(-r.Waited)
	if r.StartedAt.IsZero() {
		return began
	}
	return earlier(r.StartedAt, began)
}
