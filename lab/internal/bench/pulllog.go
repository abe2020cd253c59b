package bench

import (
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"
)

// PullCall is one call of PullImage as containerd's own log dates it, to the millisecond.
type PullCall struct {
	Span          // EndAt is zero while it goes on
	Failed string // what containerd calls the failure
}

// PullLog reads the calls of PullImage in containerd's log, from where it ended when the log was opened. It
// reads each line once. Safe for concurrent use.
type PullLog struct {
	mu    sync.Mutex
	file  tail
	calls map[string][]PullCall // by the reference asked for, in the order they began
	last  time.Time             // stamp of the last line
}

// OpenPullLog starts to read the calls that come from now on.
func (b *Bench) OpenPullLog() (*PullLog, error) {
	file, err := tailOf(b.Node.ContainerdLog())
	if err != nil {
		return nil, fmt.Errorf("read containerd's log: %w", err)
	}
	return &PullLog{file: file, calls: make(map[string][]PullCall)}, nil
}

// Of returns the calls for a reference so far. Of calls for the same reference that overlap, the first to begin
// is taken for the first to end.
func (l *PullLog) Of(reference string) ([]PullCall, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.read(l.take); err != nil {
		return nil, fmt.Errorf("read containerd's log: %w", err)
	}
	return slices.Clone(l.calls[reference]), nil
}

var (
	imageCall  = regexp.MustCompile(`^PullImage "([^"]+)"( returns image reference .*| failed)?$`)
	errorField = regexp.MustCompile(` error=("(?:[^"\\]|\\.)*"|\S+)`)
)

func (l *PullLog) take(line []byte) {
	at, message, ok := readRuntimeLine(string(line))
	if !ok {
		return
	}
	if message == runtimeStarts {
		l.endAll()
	}
	l.last = at
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

// endAll ends the calls that a containerd that was started anew cannot answer any more.
func (l *PullLog) endAll() {
	for _, calls := range l.calls {
		for i := range calls {
			if calls[i].EndAt.IsZero() {
				calls[i].EndAt, calls[i].Failed = l.last, "containerd ended"
			}
		}
	}
}

// Ended are the calls that are over.
func Ended(calls []PullCall) (ended []PullCall) {
	for _, call := range calls {
		if !call.EndAt.IsZero() {
			ended = append(ended, call)
		}
	}
	return ended
}

// Failures counts the calls that failed.
func Failures(calls []PullCall) (count int) {
	for _, call := range calls {
		if call.Failed != "" {
			count++
		}
	}
	return count
}

// Latest is the end of the last of these calls.
func Latest(calls []PullCall) (latest time.Time) {
	for _, call := range calls {
		if call.EndAt.After(latest) {
			latest = call.EndAt
		}
	}
	return latest
}
