package blame

import (
	"slices"
	"time"
)

// Account contains the evidence about one pod's start-up. All evidence is from sources other than the agent.
type Account struct {
	CreatedAt  time.Time // time when the API server received the request to create the pod
	BoundAt    time.Time // time when the scheduler reported the binding; zero if the scheduler reported no binding
	PickedUpAt time.Time // time when the kubelet received the pod; zero if the kubelet's log does not contain this time
	Until      time.Time // end of the period that the account covers

	Calls     []Call    // calls to the runtime, in the order of their starts
	Requested []Request // Events with the reason Pulling, from the kubelet's log
	BackedOff []Request // Events with the reason BackOff, from the kubelet's log
	Runs      []Run

	// If the scenario knows why a sandbox fails, SandboxFault lists the causes. If SandboxFault is empty, Stretches
	// finds the cause in the logs: the network, the registry or the runtime.
	SandboxFault []Cause
	Stopped      []Stop  // periods in which containerd was stopped
	Faults       []Fault // faults that the scenario injected
}

// Stop is a period in which containerd was stopped.
type Stop struct {
	Span
	// If Ended is true, the containerd process exited, and its open calls failed. If Ended is false, the process was
	// frozen and later continued its open calls.
	Ended bool
}

// The kinds of calls.
const (
	Sandbox = "sandbox"
	Pull    = "pull"
	Create  = "create"
	Start   = "start"
)

// Call is one call of the kubelet to the runtime. The times are from the runtime's log.
type Call struct {
	Span
	Kind      string
	Container string
	Attempt   int
	Failed    bool
	// After the runtime has received the call, it might wait for a CPU or a disk before it logs the start of the call.
	// Stretches assumes that this wait is at most Waited.
	Waited time.Duration

	Network       []Span // for a sandbox: periods in which the network plugin ran
	NetworkFailed bool   // true if the network plugin returned an error
	// Near the end of the network plugin's last run, the plugin or the runtime might wait for a CPU or a disk.
	// Stretches assumes that this wait is at most NetworkWaited.
	NetworkWaited time.Duration
	// For a sandbox: after the runtime has stored that the sandbox runs, it might wait for a CPU or a disk before it
	// logs the end of the call. Stretches assumes that this wait is at most ReturnWaited.
	ReturnWaited time.Duration
	PauseImage   Span      // for a sandbox: period in which the registry served the pause image
	LastByteAt   time.Time // for a pull: time when the registry sent its last byte; zero if it received no request
}

// Request is one Event of the kubelet about a container. The reason of the Event is Pulling or BackOff.
type Request struct {
	Container string
	At        time.Time
}

// Fault is a fault that the scenario injected. The fault starts at From and ends at FixedAt. The field Causes contains
// the true causes of this period. The field Then contains the true causes of the rest of the Stretch that is in
// progress at FixedAt.
type Fault struct {
	Causes  []Cause
	From    time.Time // if zero, the fault starts at the start of the Stretch that contains FixedAt
	FixedAt time.Time
	Then    []Cause // if empty, the causes after FixedAt are from the independent logs
	Source  string
}

// Slack is the largest assumed error of a timestamp in a log, even on a busy machine.
const Slack = 50 * time.Millisecond

// pluginEnds is the longest assumed time from the network plugin's last log line until the runtime has read the
// plugin's result. In this time, the plugin's process also exits. pluginEnds does not include waits for a CPU or a
// disk.
const pluginEnds = 200 * time.Millisecond

// When the registry has sent the last byte of an image, the runtime still has to receive and verify the data.
// maxArrivalDelay is the longest assumed time for this work.
const maxArrivalDelay = 200 * time.Millisecond

// Stretches returns all parts of the start-up for which the account shows the cause. Between two calls to the runtime,
// the kubelet can wait for a container, the pull queue or a back-off. If the kubelet does not wait for any of these,
// the cause is the kubelet itself.
func (a Account) Stretches() []Stretch {
	var s stretches
	s.add(a.CreatedAt, a.BoundAt, "scheduler's Event", Scheduler)
	s.add(a.BoundAt, a.PickedUpAt, "kubelet's log", Kubelet)
	calls := a.closedCalls()
	if len(calls) == 0 {
		s.add(a.PickedUpAt, a.Until, "kubelet's log", Volumes, Kubelet)
	}
	for i, c := range calls {
		if i == 0 {
			s.add(a.PickedUpAt, c.From, "containerd's log", Volumes, Kubelet)
		} else {
			a.addBetween(&s, calls[i-1], &c)
		}
		a.addCall(&s, c)
	}
	if len(calls) > 0 {
		a.addBetween(&s, calls[len(calls)-1], nil)
	}
	laid := a.blameRuntime(Lay(s.all...))
	for _, f := range a.Faults {
		laid = f.insertInto(laid)
	}
	return laid
}

// closedCalls returns all calls in chronological order. If the log does not contain the end of a call, closedCalls
// assumes that the call ended when the next call started. For the last call, closedCalls assumes the end Until. If
// containerd exited during a call, closedCalls sets the end to the time of this exit, and marks the call as failed.
func (a Account) closedCalls() []Call {
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

func (s *stretches) add(from, to time.Time, source string, causes ...Cause) {
	if from.IsZero() || to.IsZero() || !to.After(from) {
		return
	}
	s.all = append(s.all, Stretch{Span: Span{from, to}, Causes: causes, Slack: Slack, Source: source})
}

// addCall adds the stretches between the start and the end of a call.
func (a Account) addCall(s *stretches, c Call) {
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
		s.add(last, earlier(last.Add(maxArrivalDelay), c.To), "registry's and containerd's logs", Disk, Registry)
		// If the registry sent the last byte while containerd was stopped, containerd reads the data after the stop.
		for _, away := range a.Stopped {
			if !last.Before(away.From) && last.Before(away.To) {
				read := earlier(away.To.Add(maxArrivalDelay), c.To)
				s.add(away.To, read, "registry's and containerd's logs", Disk, Registry, Runtime)
			}
		}
	default:
		s.add(c.From, c.To, log, Runtime)
		// The container's process already runs, but the runtime has not responded to the call yet.
		if i := a.runOf(c); i >= 0 {
			if start := a.Runs[i].earliestStart(); !start.IsZero() {
				s.add(later(start, c.From), c.To, "the shim and the process itself", Runtime, App)
			}
		}
	}
}

// runOf returns the index of the run that the call started. If the call started no run, the index is negative.
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
			// Before the plugin logs its start, the runtime creates the network namespace and starts the plugin's
			// process.
			s.add(c.From, run.From, "containerd's log", Network, Runtime)
		}
		s.add(run.From, run.To, "network plugin's log", Network)
		if !c.Failed {
			ended := earlier(run.To.Add(pluginEnds+c.NetworkWaited), c.To)
			s.add(run.To, ended, "network plugin's log", Runtime, Network)
		}
	}
	s.add(c.PauseImage.From, c.PauseImage.To, "registry's log", Registry)
	if !c.Failed && c.ReturnWaited > 0 {
		s.add(later(c.From, c.To.Add(-c.ReturnWaited)), c.To, "containerd's log", Runtime, Kubelet)
	}
}

// failure returns the possible causes of a failed sandbox.
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

// addBetween adds the stretches between the end of a call and the start of the next call. If there is no next call, the
// stretches end at a.Until at the latest.
func (a Account) addBetween(s *stretches, before Call, next *Call) {
	from, to := before.To, a.Until
	if next != nil {
		to = next.From
		if next.Kind == Pull {
			if at := a.requestOf(*next, from); !at.IsZero() {
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
		if next.Waited > 0 {
			s.add(later(from, to.Add(-next.Waited)), to, log, Kubelet, Runtime)
		}
	}
}

// afterStart adds the stretches after a call that started a container. These stretches end at the time "to" at the
// latest.
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
		exitSeen := earlier(later(r.ExitSeenAt, ended), to)
		s.add(ended, exitSeen, "containerd's log", Runtime)
		if r.Init && next != nil && !again {
			s.add(exitSeen, to, "kubelet's and containerd's logs", Kubelet)
			return
		}
		s.add(exitSeen, to, "kubelet's and containerd's logs", Backoff, Kubelet)
		s.add(a.firstStated(a.BackedOff, r.Container, exitSeen, to), to, "kubelet's log", Backoff)
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

// requestOf returns the time when the kubelet requested a pull. The result is the time of the latest Pulling Event
// between the argument "from" and the start of the pull. If no Event lies in this period, requestOf returns the zero
// time.
//
// A separate goroutine of the kubelet logs the Events. On a busy machine, the kubelet can log an Event after the pull
// has ended, but the order of the Events is always correct. If a container has the same number of Pulling Events and
// pulls, requestOf considers only the n-th Event for the n-th pull.
func (a Account) requestOf(pull Call, from time.Time) (at time.Time) {
	var requests []time.Time
	for _, r := range a.Requested {
		if r.Container == pull.Container {
			requests = append(requests, r.At)
		}
	}
	pulls, before := 0, 0
	for _, c := range a.Calls {
		if c.Kind == Pull && c.Container == pull.Container {
			pulls++
			if c.From.Before(pull.From) {
				before++
			}
		}
	}
	if pulls == len(requests) {
		requests = requests[before : before+1]
	}
	for _, request := range requests {
		if !request.Before(from) && request.Before(pull.From) {
			at = request
		}
	}
	return at
}

// firstStated returns the time of a container's first Event between the times "from" and "to". If there is no such
// Event, firstStated returns the zero time.
func (a Account) firstStated(what []Request, container string, from, to time.Time) time.Time {
	for _, r := range what {
		if r.Container == container && !r.At.Before(from) && r.At.Before(to) {
			return r.At
		}
	}
	return time.Time{}
}
