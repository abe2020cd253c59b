package bench

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"
)

// The kinds of runtime calls.
const (
	CallSandbox = "sandbox"
	CallCreate  = "create"
	CallStart   = "start"
)

// RuntimeCall is one call of the kubelet to the runtime for a pod. The times are from containerd's log.
type RuntimeCall struct {
	Span      // EndAt is zero while the call is in progress; a restart of containerd ends the call
	Kind      string
	Container string
	Attempt   int
	Failed    bool

	ExitedAt   time.Time // for CallStart: time when the container's process exited; zero while the process runs
	ExitSeenAt time.Time // for CallStart: time when containerd learned that the process had exited

	sandbox, container string // the IDs of the sandbox and the container
}

// CallLog reads the runtime calls for pods from containerd's log. CallLog reads only lines that containerd writes after
// the call of OpenCallLog. CallLog reads each of these lines once. CallLog is safe for concurrent use.
type CallLog struct {
	mu    sync.Mutex
	file  tail
	calls map[string][]*RuntimeCall // maps the UID of each pod to the calls for this pod, in the order of their starts
	pod   map[string]string         // maps the ID of each sandbox to the UID of its pod
	named map[string]*RuntimeCall   // maps the ID of each container to the call that created the container
	last  time.Time                 // timestamp of the last line
}

// OpenCallLog returns a CallLog for the calls that containerd logs from now on.
func (b *Bench) OpenCallLog() (*CallLog, error) {
	file, err := tailOf(b.Node.ContainerdLog())
	if err != nil {
		return nil, fmt.Errorf("read containerd's log: %w", err)
	}
	return &CallLog{file: file, calls: make(map[string][]*RuntimeCall), pod: make(map[string]string),
		named: make(map[string]*RuntimeCall)}, nil
}

// Of returns the calls that containerd has logged for a pod so far.
func (l *CallLog) Of(uid string) ([]RuntimeCall, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.readNew(l.take); err != nil {
		return nil, fmt.Errorf("read containerd's log: %w", err)
	}
	var calls []RuntimeCall
	for _, call := range l.calls[uid] {
		calls = append(calls, *call)
	}
	slices.SortStableFunc(calls, func(a, b RuntimeCall) int { return a.StartAt.Compare(b.StartAt) })
	return calls, nil
}

var (
	sandboxCall = regexp.MustCompile(`^RunPodSandbox for (.*?)( returns sandbox id "([^"]+)"| failed, error)?$`)
	createCall  = regexp.MustCompile(
		`^CreateContainer within sandbox "([^"]+)" for (container )?(.*?)( returns container id "([^"]+)"| failed)?$`,
	)
	startCall     = regexp.MustCompile(`^StartContainer for "([^"]+)"( returns successfully| failed)?$`)
	containerGone = regexp.MustCompile(
		`^received container exit event container_id:"([^"]+)".* exited_at:\{seconds:(\d+)(?: +nanos:(\d+))?\}`,
	)
	metadataUID  = regexp.MustCompile(`uid:"([^"]+)"`)
	metadataName = regexp.MustCompile(`\bname:"([^"]+)"`)
	metadataTry  = regexp.MustCompile(`attempt:(\d+)`)
)

func (l *CallLog) take(line []byte) {
	at, message, ok := readRuntimeLine(string(line))
	if ok && message == runtimeStarts {
		l.endAll()
	}
	if ok {
		l.last = at
	}
	if !bytes.Contains(line, []byte("Sandbox for")) && !bytes.Contains(line, []byte("Container ")) &&
		!bytes.Contains(line, []byte("exit event")) {
		return
	}
	if !ok {
		return
	}
	if m := sandboxCall.FindStringSubmatch(message); m != nil {
		uid := inMetadata(metadataUID, m[1])
		call := RuntimeCall{Span: Span{StartAt: at}, Kind: CallSandbox}
		l.recordLine(uid, call, at, m[2] != "", m[2] == " failed, error")
		if m[3] != "" {
			l.pod[m[3]] = uid
		}
	} else if m := createCall.FindStringSubmatch(message); m != nil {
		try, _ := strconv.Atoi(inMetadata(metadataTry, m[3])) // the first attempt has no number in the log
		call := RuntimeCall{Span: Span{StartAt: at}, Kind: CallCreate, Container: inMetadata(metadataName, m[3]),
			Attempt: try, sandbox: m[1]}
		recorded := l.recordLine(l.pod[m[1]], call, at, m[2] == "", m[4] == " failed")
		if m[5] != "" {
			l.named[m[5]] = recorded
		}
	} else if m := startCall.FindStringSubmatch(message); m != nil && l.named[m[1]] != nil {
		created := l.named[m[1]]
		call := RuntimeCall{Span: Span{StartAt: at}, Kind: CallStart, Container: created.Container,
			Attempt: created.Attempt,
			sandbox: created.sandbox, container: m[1]}
		l.recordLine(l.pod[created.sandbox], call, at, m[2] != "", m[2] == " failed")
	} else if m := containerGone.FindStringSubmatch(message); m != nil && l.named[m[1]] != nil {
		seconds, _ := strconv.ParseInt(m[2], 10, 64) // the pattern matches only digits
		nanoseconds, _ := strconv.ParseInt(m[3], 10, 64)
		for _, call := range l.calls[l.pod[l.named[m[1]].sandbox]] {
			if call.Kind == CallStart && call.container == m[1] {
				first(&call.ExitedAt, time.Unix(seconds, nanoseconds))
				first(&call.ExitSeenAt, at)
			}
		}
	}
}

// runtimeStarts is the first message of a new containerd process. A call that the previous containerd process did not
// complete counts as failed.
const runtimeStarts = "starting containerd"

func (l *CallLog) endAll() {
	for _, calls := range l.calls {
		for _, call := range calls {
			if call.EndAt.IsZero() {
				call.EndAt, call.Failed = l.last, true
			}
		}
	}
}

// recordLine processes one line of the log. If the line reports the start of a call, recordLine adds the call. If the
// line reports the end of a call, recordLine finds the call by its kind, container and attempt, and sets the call's
// end. If several matching calls are in progress, recordLine selects the call that started last.
func (l *CallLog) recordLine(uid string, call RuntimeCall, at time.Time, ends, failed bool) *RuntimeCall {
	if !ends {
		l.calls[uid] = append(l.calls[uid], &call)
		return &call
	}
	for _, known := range slices.Backward(l.calls[uid]) {
		if known.Kind == call.Kind && known.Container == call.Container && known.Attempt == call.Attempt &&
			known.EndAt.IsZero() {
			known.EndAt, known.Failed = at, failed
			return known
		}
	}
	return &call // the start is unknown, because containerd logged it before the call of OpenCallLog
}

func inMetadata(what *regexp.Regexp, metadata string) string {
	if found := what.FindStringSubmatch(metadata); found != nil {
		return found[1]
	}
	return ""
}
