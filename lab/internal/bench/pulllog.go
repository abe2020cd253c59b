package bench

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"
)

// PullCall is one call of the runtime's method PullImage. The times are from containerd's log.
type PullCall struct {
	Span              // EndAt is zero while the call is in progress
	NamedAt time.Time // when containerd stored the image under the requested name; zero for containerd 1.x
	Failed  string    // containerd's error message
}

// PullLog reads the calls of PullImage from containerd's log. PullLog reads only lines that containerd writes after the
// call of OpenPullLog. PullLog reads each of these lines once. PullLog is safe for concurrent use.
type PullLog struct {
	mu    sync.Mutex
	file  tail
	calls map[string][]PullCall // maps each requested image reference to its calls, in the order of their starts
	last  time.Time             // timestamp of the last line
}

// OpenPullLog returns a PullLog for the calls of PullImage that containerd logs from now on.
func (b *Bench) OpenPullLog() (*PullLog, error) {
	file, err := tailOf(b.Node.ContainerdLog())
	if err != nil {
		return nil, fmt.Errorf("read containerd's log: %w", err)
	}
	return &PullLog{file: file, calls: make(map[string][]PullCall)}, nil
}

// Of returns the calls that containerd has logged for an image reference so far. If calls for the same reference
// overlap, PullLog assumes that the call that started first also ended first.
func (l *PullLog) Of(reference string) ([]PullCall, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.readNew(l.take); err != nil {
		return nil, fmt.Errorf("read containerd's log: %w", err)
	}
	return slices.Clone(l.calls[reference]), nil
}

var (
	imageStore = regexp.MustCompile(`^Image(?:Create|Update) event name:"([^"]+)"`)
	imageCall  = regexp.MustCompile(`^PullImage "([^"]+)"( returns image reference .*| failed)?$`)
	errorField = regexp.MustCompile(` error=("(?:[^"\\]|\\.)*"|\S+)`)
)

// setNamedAt sets the field NamedAt of one call for the given reference. If several calls are in progress,
// setNamedAt chooses the first one whose NamedAt is still zero.
func (l *PullLog) setNamedAt(reference string, at time.Time) {
	for i, call := range l.calls[reference] {
		if call.EndAt.IsZero() && call.NamedAt.IsZero() {
			l.calls[reference][i].NamedAt = at
			return
		}
	}
}

func (l *PullLog) take(line []byte) {
	at, message, ok := readRuntimeLine(string(line))
	if !ok {
		return
	}
	if message == runtimeStarts {
		l.endAll()
	}
	l.last = at
	if stored := imageStore.FindStringSubmatch(message); stored != nil {
		l.setNamedAt(stored[1], at)
		return
	}
	found := imageCall.FindStringSubmatch(message)
	if found == nil {
		return
	}
	calls := l.calls[found[1]]
	if found[2] == "" {
		l.calls[found[1]] = append(calls, PullCall{Span: Span{StartAt: at}})
		return
	}
	for i := range calls {
		if !calls[i].EndAt.IsZero() {
			continue
		}
		calls[i].EndAt = at
		if found[2] == " failed" {
			calls[i].Failed = "failed"
			if text := errorField.FindSubmatch(line); text != nil {
				calls[i].Failed = string(text[1])
			}
		}
		return
	}
}

// endAll ends all calls in progress and marks them as failed. The caller calls endAll when a new containerd process
// starts, because the new process does not respond to the calls of the previous process.
func (l *PullLog) endAll() {
	for _, calls := range l.calls {
		for i := range calls {
			if calls[i].EndAt.IsZero() {
				calls[i].EndAt, calls[i].Failed = l.last, "containerd exited"
			}
		}
	}
}

// Ended returns the completed calls.
func Ended(calls []PullCall) (ended []PullCall) {
	for _, call := range calls {
		if !call.EndAt.IsZero() {
			ended = append(ended, call)
		}
	}
	return ended
}

// Failures returns the number of failed calls.
func Failures(calls []PullCall) (count int) {
	for _, call := range calls {
		if call.Failed != "" {
			count++
		}
	}
	return count
}
