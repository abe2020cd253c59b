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

// KubeletEvent is one Event that the kubelet logged. The kubelet also logs Events that its spam filter drops. If an
// Event occurs several times, the kubelet logs each occurrence, but the API server stores the Event only once.
type KubeletEvent struct {
	At        time.Time
	Pod       string
	Container string // name of the container; empty if the Event concerns the pod or a volume
	Reason    string
	Message   string
}

// EventLog reads Events from the kubelet's log. EventLog reads only lines that the kubelet writes after the call of
// OpenEventLog. EventLog is safe for concurrent use.
type EventLog struct {
	namespace string

	mu     sync.Mutex
	file   tail
	events []KubeletEvent
	begun  *KubeletEvent // Event whose message is on the next line of the log; nil if there is no such Event
}

// OpenEventLog returns an EventLog for Events about the bench's pods. The EventLog contains only Events that the
// kubelet creates after this call.
func (b *Bench) OpenEventLog() (*EventLog, error) {
	file, err := tailOf(b.Node.KubeletLog())
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's log: %w", err)
	}
	return &EventLog{namespace: b.Namespace, file: file}, nil
}

// All returns the Events in the order of their creation.
func (l *EventLog) All() ([]KubeletEvent, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.readNew(l.take); err != nil {
		return nil, fmt.Errorf("read the kubelet's log: %w", err)
	}
	return slices.Clone(l.events), nil
}

// manyLines is the character that klog writes in place of a text of several lines. The lines of the text follow in the
// log, and each line starts with a tab. If an Event's message has several lines, EventLog keeps only the first line.
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

// containerOf returns the name of the container in a field path such as spec.containers{NAME}.
func containerOf(fieldPath string) string {
	_, rest, _ := strings.Cut(fieldPath, "{")
	return strings.TrimSuffix(rest, "}")
}
