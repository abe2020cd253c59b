package timeline

// Later is something that happened to a pod after its start-up; one of the two is set.
type Later struct {
	Run   *EndedRun
	Event *Said // the kubelet said it then for the first time
}

// EndedRun is a run of a container that is over. Its stamps are the kubelet's, floored to a second.
type EndedRun struct {
	Container string
	Attempt   int // from 0: the kubelet had started it so often before
	Run
	Signal int // by the exit code; 0 for none
}

// StartUp says that the timeline reports a start-up, and not what came after it.
func (t Timeline) StartUp() bool { return t.Later == nil && !t.Ended() }

// Sequel follows the containers of a pod whose start-up is over. Not safe for concurrent use.
type Sequel struct {
	over map[string]int // the latest run that was over when it was seen, by container; -1 for none
}

// NewSequel begins with the pod as it was when its start-up was over: of runs that had ended then the start-up tells.
func NewSequel(p Pod) *Sequel {
	s := &Sequel{over: map[string]int{}}
	for _, c := range p.Containers {
		s.over[c.Name] = -1
		for _, run := range c.ended() {
			s.over[c.Name] = run.Attempt
		}
	}
	return s
}

// Observe tells of runs that have ended since, once each. Between two objects more may have ended than the later one tells of. It
// tells nothing of a pod that is deleted: see Ending.
func (s *Sequel) Observe(p Pod) (ended []EndedRun) {
	if !p.DeletedAt.IsZero() {
		return nil
	}
	for _, c := range p.Containers {
		before, known := s.over[c.Name]
		if !known { // an ephemeral container that came later
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

// ended are the runs that a status has as over, the earlier one first.
func (c Container) ended() (runs []EndedRun) {
	add := func(attempt int, run Run) {
		if attempt >= 0 && !run.FinishedAt.IsZero() && !run.FinishedAt.Before(run.StartedAt) {
			runs = append(runs, EndedRun{Container: c.Name, Attempt: attempt, Run: run, Signal: signalOf(run.ExitCode)})
		}
	}
	if c.LastRun != nil {
		last := c.Attempt - 1
		if c.State == StateWaiting { // the next one has not begun
			last = c.Attempt
		}
		add(last, *c.LastRun)
	}
	if c.State == StateTerminated {
		add(c.Attempt, Run{StartedAt: c.StartedAt, FinishedAt: c.FinishedAt, ExitCode: c.ExitCode, Reason: c.EndReason})
	}
	return runs
}

// SaidOf is what one of the kubelet's Events says of a pod, and whether it is known when the kubelet said so first.
func SaidOf(o EventSeen) (Said, bool) { return messageOf(o), !o.NamedAt.IsZero() }
