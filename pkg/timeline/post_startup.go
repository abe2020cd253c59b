package timeline

// PostStartup is something that happened to a pod after its start-up. One of the two fields is set.
type PostStartup struct {
	Run   *CompletedRun
	Event *EventMessage // the first occurrence of an Event
}

// CompletedRun is a completed run of a container. Its timestamps are the kubelet's, truncated to seconds.
type CompletedRun struct {
	Container string
	Attempt   int // from 0: the number of earlier starts
	Run
	Signal int // by the exit code; 0 for none
}

// PostStartupRuns follows the containers of a pod whose start-up is over. Not safe for concurrent use.
type PostStartupRuns struct {
	over map[string]int // the latest completed run that was seen, by container; -1 for none
}

// NewPostStartupRuns begins with the pod at the end of its start-up. The start-up's records cover the runs that had
// ended by then.
func NewPostStartupRuns(p Pod) *PostStartupRuns {
	s := &PostStartupRuns{over: map[string]int{}}
	for _, c := range p.Containers {
		s.over[c.Name] = -1
		for _, run := range c.ended() {
			s.over[c.Name] = run.Attempt
		}
	}
	return s
}

// Observe returns the runs that have ended since, once each. Between two objects, more runs may have ended than the
// later object reports. It returns nothing for a pod that is being deleted: see TerminationEvidence.
func (s *PostStartupRuns) Observe(p Pod) (ended []CompletedRun) {
	if !p.DeletedAt.IsZero() {
		return nil
	}
	for _, c := range p.Containers {
		before, known := s.over[c.Name]
		if !known { // an ephemeral container that was added later
			before = -1
		}
		for _, run := range c.ended() {
			if run.Attempt > before {
				s.over[c.Name] = run.Attempt
				ended = append(ended, run)
			}
		}
	}
	return ended
}

// ended returns the completed runs in a status, the earlier one first.
func (c Container) ended() (runs []CompletedRun) {
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

// MessageOf returns a kubelet Event as text, and whether its first occurrence is known exactly.
func MessageOf(o EventSeen) (EventMessage, bool) { return messageOf(o), !o.NamedAt.IsZero() }
