// Package timeline is the pure core of podlapse: it folds observations about one pod into the
// evidence for the instants of its start-up, and that evidence into phases that partition the time
// from creation to settled. It also says which evidence is still missing and worth fetching.
//
// The package does no I/O, starts no goroutine and reads no clock: time is always an argument. Its
// only caller that holds state is package reconcile, from one goroutine; a Timeline is a plain
// value that is never changed after it was built and may be read from anywhere.
//
// # Words
//
//	observation  one dated fact about one pod, container or image, from one source
//	source       who observed it: pod watch, event watch, CRI, containerd
//	mark         a named instant in a pod's life: created, scheduled, container running …
//	claim        what one source says of a mark: an interval that holds the true instant
//	evidence     all claims about one pod
//	phase        a stretch of start-up between two neighboring marks
//	cause        who a phase is charged to
//	timeline     marks, phases, pulls and causes of one pod: a pure function of its evidence
//	want         evidence the timeline lacks and a source could fetch
//	settled      start-up is over: ready, succeeded, failed, deleted or given up
//	attempt      one try at something that can be repeated: a pull, a container run
//
// # Time
//
// No source tells an instant exactly, so a claim is an interval [Earliest, Latest] with the best
// estimate inside it. A floored second t claims [t, t+1s); a runtime's nanosecond stamp is a point;
// the arrival of news is an upper bound, and when the news arrived live it is also the estimate,
// because a watch delivers within milliseconds.
package timeline
