package live

import (
	"strconv"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Kinds of events. KindOut is only for the frames that the method Out creates.
const (
	KindReset = "reset" // the viewer might have missed earlier events
	KindPod   = "pod"
	KindOut   = "out" // a changed or deleted pod does not match the viewer's filter
	KindGone  = "gone"
	KindPulls = "pulls"
)

// Event is one event of the stream: a change of a pod, a change of the pulls in progress, or a reset. An Event in the
// log must never change, because all viewers share it.
type Event struct {
	Kind   string
	Key    filter.Key    // set only for KindPod and KindGone
	Detail filter.Detail // set only for KindPod and KindGone
	Pod    api.PodKey    // set only for KindPod and KindGone

	subject string // UID of the pod, or KindPulls; for each subject, the log keeps only the last event
	data    []byte // one line of JSON; createFrame moves this line into the field "frame"
	number  uint64 // number of the event in the log
	id      string // ID of the event; a client can resume the stream after this event
	frame   []byte
}

// Frame returns the event in the format text/event-stream. The caller must not change the bytes.
func (e *Event) Frame() []byte { return e.frame }

// frame encodes an event in the format text/event-stream. The argument data must be one line.
func frame(id, kind string, data []byte) []byte {
	out := make([]byte, 0, len("id: \nevent: \ndata: \n\n")+len(id)+len(kind)+len(data))
	out = append(append(out, "id: "...), id...)
	out = append(append(out, "\nevent: "...), kind...)
	out = append(append(out, "\ndata: "...), data...)
	return append(out, "\n\n"...)
}

// Out returns a frame of the kind KindOut. A viewer gets this frame if the pod does not match the viewer's filter now,
// but might have matched earlier. The frame replaces the event's own frame.
func (e *Event) Out() ([]byte, error) {
	data, err := api.EncodeLine(e.Pod)
	return frame(e.id, KindOut, data), err
}

func (e *Event) createFrame(epoch string, number uint64) {
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
