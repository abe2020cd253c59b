package blame

import (
	"slices"
	"time"
)

// Account is what witnesses other than the agent tell of one pod's start-up.
type Account struct {
	CreatedAt time.Time // the API server was asked to create it
	BoundAt   time.Time // the scheduler said that it bound the pod; zero where it did not
	TakenUpAt time.Time // kubelet's log has it; zero where it does not
	Until     time.Time // what came later is not judged

	Calls     []Call    // of the runtime, in the order in which they began
	Requested []Request // kubelet's log of its Pulling Events
	BackedOff []Request // kubelet's log of its BackOff Events
	Runs      []Run

	// SandboxFault is who is to blame where a sandbox failed; empty: the network if its plugin failed, else the
	// runtime.
	SandboxFault []Cause
	Stopped      []Stop  // when containerd did nothing
	Faults       []Fault // what the scenario itself did
}

// Stop is when containerd was stopped.
type Stop struct {
	Span
	Ended bool // it ended, and with it the calls that it had not answered; else it went on with them
}

// Kinds of calls.
const (
	Sandbox = "sandbox"
	Pull    = "pull"
	Create  = "create"
	Start   = "start"
)

// Call is one call of the runtime by kubelet, as the runtime's log dates it.
type Call struct {
	Span
	Kind      string
	Container string
	Attempt   int
	Failed    bool

	Network       []Span    // of a sandbox: when the network plugin ran
	NetworkFailed bool      // it refused
	PauseImage    Span      // of a sandbox: when the registry was asked for the pause image
	LastByteAt    time.Time // of a pull: from the registry; zero where it was not asked
}

// Request is when kubelet said something of a container: that it wants its image pulled, or that it waits before it
// tries again.
type Request struct {
	Container string
	At        time.Time
}

// Run is one run of a container.
type Run struct {
	Container string
	Attempt   int
	Init      bool // kubelet waits for its end before it goes on
	Hooked    bool // kubelet waits for its hook before it goes on

	BegunAt  time.Time // the process says that it runs; zero where it does not
	ExitedAt time.Time // the process ended; zero while it runs
	HeardAt  time.Time // the runtime heard of its end
	HookedAt time.Time // the post-start hook says that it ends
	ReadyAt  time.Time // the last of its startup and readiness probes says that it passes
}

// Fault is something that the scenario did. It is charged to the causes from the beginning, or from the beginning of
// what witnesses date otherwise, until it was put right; what is left of that then is charged to Then.
type Fault struct {
	Causes  []Cause
	From    time.Time // zero: where the stretch begins that holds FixedAt
	FixedAt time.Time
	Then    []Cause // empty: as witnesses say
	Witness string
}

// Slack is how exact the stamps of logs are on a machine that is busy.
const Slack = 50 * time.Millisecond

// pluginEnds is how long it may take from the network plugin's last word until its process has ended and the runtime
// has read its answer.
const pluginEnds = 200 * time.Millisecond

// arrives is how long it may take from when the registry has sent its last byte until the runtime has read and checked
// it.
const arrives = 200 * time.Millisecond

// Stretches are those of the start-up of which the account tells who was to blame. Whatever kubelet does not wait for
// is kubelet's own time.
func (a Account) Stretches() []Stretch {
	var s stretches
	s.add(a.CreatedAt, a.BoundAt, "scheduler's Event", Scheduler)
	s.add(a.BoundAt, a.TakenUpAt, "kubelet's log", Kubelet)
	calls := a.closed()
	if len(calls) == 0 {
		s.add(a.TakenUpAt, a.Until, "kubelet's log", Volumes, Kubelet)
	}
	for i, c := range calls {
		if i == 0 {
			s.add(a.TakenUpAt, c.From, "containerd's log", Volumes, Kubelet)
		} else {
			a.between(&s, calls[i-1], &c)
		}
		a.during(&s, c)
	}
	if len(calls) > 0 {
		a.between(&s, calls[len(calls)-1], nil)
	}
	laid := a.stopped(Lay(s.all...))
	for _, f := range a.Faults {
		laid = f.over(laid)
	}
	return laid
}

// closed are the calls, each ended by the next one at the latest.
func (a Account) closed() []Call {
	calls := slices.Clone(a.Calls)
	slices.SortStableFunc(calls, func(x, y Call) int { return x.From.Compare(y.From) })
	for i := range calls {
		if calls[i].To.IsZero() && i+1 < len(calls) {
			calls[i].To = calls[i+1].From
		} else if calls[i].To.IsZero() {
			calls[i].To = a.Until
		}
		for _, away := range a.Stopped {
			if away.Ended && away.From.After(calls[i].From) && away.From.Before(calls[i].To) {
				calls[i].To, calls[i].Failed = away.From, true
			}
		}
	}
	return calls
}

type stretches struct{ all []Stretch }

func (s *stretches) add(from, to time.Time, witness string, causes ...Cause) {
	if from.IsZero() || to.IsZero() || !to.After(from) {
		return
	}
	s.all = append(s.all, Stretch{Span: Span{from, to}, Causes: causes, Slack: Slack, Witness: witness})
}

// during is the time of a call.
func (a Account) during(s *stretches, c Call) {
	const log = "containerd's log"
	switch c.Kind {
	case Sandbox:
		a.duringSandbox(s, c)
	case Pull:
		if c.Failed || c.LastByteAt.IsZero() {
			s.add(c.From, c.To, log, Registry)
			return
		}
		last := earlier(c.LastByteAt, c.To)
		s.add(c.From, last, "registry's log", Registry)
		s.add(last, c.To, "registry's and containerd's logs", Disk)
		s.add(last, earlier(last.Add(arrives), c.To), "registry's and containerd's logs", Disk, Registry)
		for _, away := range a.Stopped { // it reads what came meanwhile
			if !last.Before(away.From) && last.Before(away.To) {
				read := earlier(away.To.Add(arrives), c.To)
				s.add(away.To, read, "registry's and containerd's logs", Disk, Registry, Runtime)
			}
		}
	default:
		s.add(c.From, c.To, log, Runtime)
		if i := a.runOf(c); i >= 0 && !a.Runs[i].BegunAt.IsZero() { // it runs already, and the runtime has not said so
			s.add(later(a.Runs[i].BegunAt, c.From), c.To, "the process itself", Runtime, App)
		}
	}
}

// runOf is the index of the run that a call started, or negative.
func (a Account) runOf(c Call) int {
	return slices.IndexFunc(a.Runs, func(r Run) bool {
		return c.Kind == Start && r.Container == c.Container && r.Attempt == c.Attempt
	})
}

func (a Account) duringSandbox(s *stretches, c Call) {
	if c.Failed {
		s.add(c.From, c.To, "containerd's log", a.failure(c)...)
	} else {
		s.add(c.From, c.To, "containerd's log", Runtime)
	}
	for _, run := range c.Network {
		if !c.Failed {
			s.add(c.From, run.From, "containerd's log", Network, Runtime) // a namespace is made, the plugin is started
		}
		s.add(run.From, run.To, "network plugin's log", Network)
		if !c.Failed {
			s.add(run.To, earlier(run.To.Add(pluginEnds), c.To), "network plugin's log", Runtime, Network)
		}
	}
	s.add(c.PauseImage.From, c.PauseImage.To, "registry's log", Registry)
}

// failure is who is to blame for a sandbox that failed.
func (a Account) failure(c Call) []Cause {
	switch {
	case len(a.SandboxFault) > 0:
		return a.SandboxFault
	case c.NetworkFailed:
		return []Cause{Network}
	case !c.PauseImage.From.IsZero():
		return []Cause{Registry}
	}
	return []Cause{Runtime}
}

// between is the time from the end of a call to the beginning of the next one, or to the end of the account.
func (a Account) between(s *stretches, before Call, next *Call) {
	from, to := before.To, a.Until
	if next != nil {
		to = next.From
		if next.Kind == Pull {
			if at := a.stated(a.Requested, next.Container, from, to); !at.IsZero() {
				s.add(at, to, "kubelet's and containerd's logs", PullQueue)
				to = at
			}
		}
	}
	const log = "kubelet's and containerd's logs"
	switch {
	case before.Kind == Sandbox && before.Failed:
		s.add(from, to, log, append(slices.Clone(a.failure(before)), Backoff)...)
	case before.Kind == Pull && before.Failed:
		s.add(from, to, log, Backoff)
	case before.Kind == Start && !before.Failed:
		a.afterStart(s, before, next, to)
	case before.Failed:
		s.add(from, to, log, Backoff, Runtime)
	case next != nil:
		s.add(from, to, log, Kubelet)
	}
}

// afterStart is the time from when a container runs until kubelet turns to another one, or to the same one again.
func (a Account) afterStart(s *stretches, start Call, next *Call, to time.Time) {
	const stated = "the process itself"
	i := a.runOf(start)
	if i < 0 {
		return
	}
	r, from := a.Runs[i], start.To
	again := next != nil && next.Container == r.Container
	ended := r.ExitedAt
	if ended.After(to) || !r.Init && next != nil && !again {
		ended = time.Time{}
	}
	switch {
	case !ended.IsZero() && (again || next == nil || r.Init):
		s.add(from, ended, stated, App)
		heard := earlier(later(r.HeardAt, ended), to)
		s.add(ended, heard, "containerd's log", Runtime)
		if r.Init && next != nil && !again {
			s.add(heard, to, "kubelet's and containerd's logs", Kubelet)
			return
		}
		s.add(heard, to, "kubelet's and containerd's logs", Backoff, Kubelet)
		s.add(a.stated(a.BackedOff, r.Container, heard, to), to, "kubelet's log", Backoff)
	case next != nil && r.Hooked:
		s.add(from, earlier(r.HookedAt, to), stated, App)
		s.add(r.HookedAt, to, "the process itself and containerd's log", Kubelet)
	case next != nil:
		s.add(from, to, "containerd's log", Kubelet)
	case r.Init:
		s.add(from, to, "containerd's log", App)
	case !r.ReadyAt.IsZero() || !r.HookedAt.IsZero():
		s.add(from, earlier(later(r.ReadyAt, r.HookedAt), to), stated, App)
	}
}

// stated is when kubelet first said something of a container within a span; zero where it did not.
func (a Account) stated(what []Request, container string, from, to time.Time) time.Time {
	for _, r := range what {
		if r.Container == container && !r.At.Before(from) && r.At.Before(to) {
			return r.At
		}
	}
	return time.Time{}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
