package timeline

import "time"

// PostStartup describes one thing that happened to a pod after its start-up. Exactly one of the fields Event and Run is
// set.
type PostStartup struct {
	Run   *CompletedRun
	Event *EventMessage // the first occurrence of an Event
}

// CompletedRun is an ended run of a container, with any exit code. The timestamps come from the pod's status,
// which contains whole seconds.
type CompletedRun struct {
	Container string
	Attempt   int // number of earlier starts of the container
	Run
	Signal int // the signal that the exit code represents; 0 for none
	// ClockSet is the total change of the node's clock during the run (ClockLog.ChangedBetween).
	ClockSet time.Duration
}

// PostStartupRuns finds the container runs that completed after a pod's start-up. PostStartupRuns is not safe for
// concurrent use.
type PostStartupRuns struct {
	over map[string]int // attempt of each container's latest completed run; -1 if no run completed
}

// NewPostStartupRuns returns a new PostStartupRuns. The argument p is the pod object at the end of the start-up.
// Observe does not return the completed runs in p, because the start-up's records contain these runs.
func NewPostStartupRuns(p Pod) *PostStartupRuns {
	s := &PostStartupRuns{over: map[string]int{}}
	for _, c := range p.Containers {
		s.over[c.Name] = -1
		for _, run := range c.completedRuns() {
			s.over[c.Name] = run.Attempt
		}
	}
	return s
}

// Observe returns the runs that have ended since the previous call. If several runs ended between two pod objects,
// Observe returns only the runs that the later pod object reports. Observe returns no runs for a pod that is being
// deleted, because TerminationEvidence covers these runs.
func (s *PostStartupRuns) Observe(p Pod) (ended []CompletedRun) {
	if !p.DeletedAt.IsZero() {
		return nil
	}
	for _, c := range p.Containers {
		before, known := s.over[c.Name]
		if !known { // an ephemeral container that was added later
			before = -1
		}
		for _, run := range c.completedRuns() {
			if run.Attempt > before {
				s.over[c.Name] = run.Attempt
				ended = append(ended, run)
			}
		}
	}
	return ended
}

// completedRuns returns the completed runs in a container's status, the earlier run first.
func (c Container) completedRuns() (runs []CompletedRun) {
	add := func(attempt int, run Run) {
		if attempt >= 0 && !run.FinishedAt.IsZero() && !run.FinishedAt.Before(run.StartedAt) {
			runs = append(runs, CompletedRun{Container: c.Name, Attempt: attempt, Run: run,
				Signal: signalOf(run.ExitCode)})
		}
	}
	if c.LastRun != nil {
		last := c.Attempt - 1
		if c.State == StateWaiting { // the next run has not begun
			last = c.Attempt
		}
		add(last, *c.LastRun)
	}
	if c.State == StateTerminated {
		add(c.Attempt, Run{StartedAt: c.StartedAt, FinishedAt: c.FinishedAt, ExitCode: c.ExitCode, Reason: c.EndReason})
	}
	return runs
}

// MessageOf converts a kubelet Event to an EventMessage. The second result is true if the time of the first occurrence
// is exact.
func MessageOf(o EventSeen) (EventMessage, bool) { return messageOf(o), !o.NamedAt.IsZero() }
