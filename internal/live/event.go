package live

import (
	"strconv"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The kinds of events. The code that filters creates KindOut.
const (
	KindReset = "reset" // earlier events may be incomplete
	KindPod   = "pod"
	KindOut   = "out" // a pod that changed and does not match the filter
	KindGone  = "gone"
	KindPulls = "pulls"
)

// Event is one change. It is immutable, because all viewers share it.
type Event struct {
	Kind   string
	Key    filter.Key    // of KindPod and KindGone, as the next fields
	Detail filter.Detail //
	Pod    api.PodKey    //

	subject string // the log keeps the last event of each subject
	data    []byte // one line of JSON; released when the frame is created
	number  uint64 // its number in the log
	id      string // with which a client resumes
	frame   []byte
}

// Frame returns the event in text/event-stream format. It must not be changed.
func (e *Event) Frame() []byte { return e.frame }

// frame encodes an event for text/event-stream; data is one line.
func frame(id, kind string, data []byte) []byte {
	out := make([]byte, 0, len("id: \nevent: \ndata: \n\n")+len(id)+len(kind)+len(data))
	out = append(append(out, "id: "...), id...)
	out = append(append(out, "\nevent: "...), kind...)
	out = append(append(out, "\ndata: "...), data...)
	return append(out, "\n\n"...)
}

// Out returns the frame of KindOut to send in place of an event of a pod.
func (e *Event) Out() ([]byte, error) {
	data, err := api.EncodeLine(e.Pod)
	return frame(e.id, KindOut, data), err
}

func (e *Event) settle(epoch string, number uint64) {
	e.number = number
	e.id = epoch + "-" + strconv.FormatUint(number, 10)
	e.frame = frame(e.id, e.Kind, e.data)
	e.data = nil
}

// newEvent creates an event of KindPod or KindGone.
func newEvent(kind string, t timeline.Timeline) *Event {
	e := &Event{
		Kind: kind, subject: t.UID, Key: filter.KeyOf(t), Detail: filter.DetailOf(t),
		Pod: api.PodKey{ID: t.ID(), Namespace: t.Namespace, Name: t.Name, UID: t.UID},
	}
	e.Key.Gone = kind == KindGone
	return e
}
