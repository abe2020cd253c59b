package bench

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// KubeletEvent is one Event with the time at which the kubelet logged the creation of the Event. KubeletEvent includes
// Events that the kubelet's spam filter later drops. For a repeated Event, each occurrence is a KubeletEvent, although
// the API server stores the Event only once.
type KubeletEvent struct {
	At        time.Time
	Pod       string
	Container string // name of the container; empty for an Event about the pod or a volume
	Reason    string
	Message   string
}

// EventLog reads the kubelet's log from its end at the time of opening. EventLog is safe for concurrent use.
type EventLog struct {
	namespace string

	mu     sync.Mutex
	file   tail
	events []KubeletEvent
	begun  *KubeletEvent // the last Event, if its message is on the next line of the log
}

// OpenEventLog starts to read the Events about the bench's pods. OpenEventLog skips the Events that the kubelet created
// earlier.
func (b *Bench) OpenEventLog() (*EventLog, error) {
	file, err := tailOf(b.Node.KubeletLog())
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's log: %w", err)
	}
	return &EventLog{namespace: b.Namespace, file: file}, nil
}

// All returns the Events so far, in the order in which the kubelet created these Events.
func (l *EventLog) All() ([]KubeletEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.read(l.take); err != nil {
		return nil, fmt.Errorf("read the kubelet's log: %w", err)
	}
	return slices.Clone(l.events), nil
}

// klog writes a text of several lines between the characters < and >, with a tab before each line. The first line of
// the text is sufficient.
const manyLines = "<"

const quoted = `("(?:[^"\\]|\\.)*")`

var eventOccurred = regexp.MustCompile(`^[IWE](\d{4} \d\d:\d\d:\d\d\.\d{6}) .*"Event occurred".*? object=` + quoted +
	` fieldPath=` + quoted + ` kind="Pod" .*? reason=` + quoted + ` message=(?:` + quoted + `|(<)$)`)

func (l *EventLog) take(line []byte) {
	if l.begun != nil {
		l.begun.Message = strings.TrimSpace(string(line))
		l.events, l.begun = append(l.events, *l.begun), nil
		return
	}
	if !bytes.Contains(line, []byte(`"Event occurred"`)) {
		return
	}
	fields := eventOccurred.FindSubmatch(line)
	if fields == nil {
		return
	}
	var texts [4]string
	for i := range texts {
		if len(fields[i+2]) == 0 {
			continue // the message is on the next line
		}
		var err error
		if texts[i], err = strconv.Unquote(string(fields[i+2])); err != nil {
			return
		}
	}
	at, err := klogTime(string(fields[1]), time.Now())
	namespace, pod, found := strings.Cut(texts[0], "/")
	if err != nil || !found || namespace != l.namespace {
		return
	}
	event := KubeletEvent{At: at, Pod: pod, Container: containerOf(texts[1]), Reason: texts[2], Message: texts[3]}
	if string(fields[6]) == manyLines {
		l.begun = &event
		return
	}
	l.events = append(l.events, event)
}

// containerOf returns NAME from spec.containers{NAME} and similar paths.
func containerOf(fieldPath string) string {
	_, rest, _ := strings.Cut(fieldPath, "{")
	return strings.TrimSuffix(rest, "}")
}
