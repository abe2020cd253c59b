// Package timeline is the pure core of podlapse. It folds observations about one pod into evidence for the instants of
// its start-up, and the evidence into phases that partition the time from creation to settled. It also says which
// evidence is missing and worth requesting.
//
// The package does no I/O, starts no goroutine and reads no clock: time is always an argument. Its only caller that
// holds state is package reconcile, from one goroutine. A Timeline is a plain value that does not change after it was
// built, and any goroutine may read it.
//
// # Words
//
//	observation  one dated fact about one pod, container or image, from one source
//	source       who observed it: pod watch, event watch, CRI, containerd
//	milestone         a named instant in a pod's life: created, scheduled, container running …
//	constraint   the interval that one source gives for a milestone; it holds the true instant
//	evidence     all constraints on one pod's milestones
//	bound        the interval that remains when all trusted constraints on a milestone are combined
//	conflict     two constraints that cannot both be true
//	phase        a stretch of start-up between two neighboring milestones
//	cause        the party that a phase is charged to
//	timeline     milestones, phases, pulls and causes of one pod: a pure function of its evidence
//	want         evidence that the timeline lacks and a source could provide
//	settled      start-up is over: ready, succeeded, failed, deleted or given up
//	attempt      one try of a step that can be repeated: a pull, a container run
//
// # Time
//
// No source gives an instant exactly, so a constraint is an interval [earliest, latest] with the best estimate inside
// it. A timestamp t that is truncated to seconds gives [t, t+1s). A runtime's nanosecond timestamp is a point. The
// arrival of news is an upper bound. If the observation arrived live, the arrival is also the estimate, because a watch
// delivers within milliseconds.
//
// # Files
//
//	constraint, bounds, clocks             intervals, their combination, and the skew of two clocks
//	observation, pod, runtime, requests    what sources deliver, and what is requested from them
//	evidence_…, obstacle_table             observations into constraints
//	fold_…, work_start, progress, cached   constraints into a Timeline
//	pull_…, lostevents, ephemeral_pulls    image pulls of one pod; pull_log_… compares the pulls of a node
//	termination_…, poststartup             what follows a start-up
//	verdict…                               a Timeline in one sentence
package timeline
