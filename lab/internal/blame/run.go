package blame

import "time"

// Run is one run of a container.
type Run struct {
	Container string
	Attempt   int
	Init      bool // true if the kubelet starts the next container only after this container exits
	Hooked    bool // true if the kubelet starts the next container only after the post-start hook returns

	// StartedAt is the time when the process started, according to the container's shim; zero if the time is unknown.
	// A started process can need a long time until it logs its start, for example if it waits for a CPU.
	StartedAt time.Time
	BegunAt   time.Time // time when the process logged its start; zero if the process did not log its start
	// Waited is the longest time that the process might have waited for a CPU or a disk before it logged its start.
	Waited     time.Duration
	ExitedAt   time.Time // time when the process exited; zero while the process runs
	ExitSeenAt time.Time // time when the runtime learned of the exit
	HookedAt   time.Time // time when the post-start hook logged its end
	ReadyAt    time.Time // time when the last startup or readiness probe logged that it passed
}

// earliestStart returns the earliest time when the process might have run. If the evidence contains no start,
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
