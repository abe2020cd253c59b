// Package timeline is the core of podlapse. The package converts observations about one pod into evidence for the
// milestones of the pod's start-up. Then the package computes phases from the evidence. This computation is called a
// fold. The phases cover the time from the creation of the pod until the start-up is over, without gaps. The package
// also lists missing evidence that the sources can still provide.
//
// The package does no I/O, starts no goroutine and reads no clock. Callers pass the time as an argument. In the running
// agent, package reconcile holds the evidence of all pods and calls this package from only one goroutine. A Timeline is
// a plain value that never changes, so any goroutine can read it.
//
// # Words
//
//	observation  one dated fact about one pod, container or image, from one source
//	source       the component that observed the fact: pod watch, event watch, CRI, containerd
//	milestone    a named instant in a pod's life: created, scheduled, container running …
//	constraint   the interval in which one source places a milestone; the interval contains the true instant
//	evidence     all constraints on one pod's milestones
//	bound        the interval that remains when all trusted constraints on a milestone are combined
//	conflict     two constraints that cannot both be true
//	phase        the part of a start-up between two neighboring milestones
//	cause        the party that is responsible for a phase
//	timeline     milestones, phases, pulls and causes of one pod: a pure function of its evidence
//	request      a message that asks a source for evidence that the timeline lacks
//	over         the pod is ready, succeeded, failed or deleted, or the agent gave up on the pod
//	settled      the start-up is over, and the agent expects no more evidence about it
//	attempt      one try of a step that can be repeated: a pull, a container run
//
// # Time
//
// Most sources do not report the exact instant of a milestone. So a constraint is an interval [earliest, latest], and
// the best estimate is inside this interval. For a timestamp t that is truncated to seconds, the interval is [t, t+1s).
// For a runtime's timestamp in nanoseconds, the interval is a single point. The arrival time of an observation is an
// upper bound for the milestone. If the observation arrived live from a watch, its arrival time is also the estimate,
// because a watch delivers changes within milliseconds.
//
// # Files
//
//	constraint, bounds, clocks             intervals, their combination, and the skew of two clocks
//	observation, pod, runtime, requests    observations from sources, and requests to sources
//	evidence_…, obstacle_table             conversion of observations to constraints
//	fold_…, work_start, progress, cached   conversion of constraints to a Timeline
//	crash_backoff                          the wait before a restart of a container
//	pull_…, lost_events, ephemeral_pulls   image pulls of one pod; pull_log_… compares the pulls of a node
//	termination, termination_…             terminations: evidence, phases and verdict, apart from start-ups
//	post_startup                           other events after a start-up
//	verdict…, seconds_text                 a Timeline in one sentence, and durations as text
package timeline
