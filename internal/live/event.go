package live

import (
	"strconv"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The kinds of events. KindOut is made by who filters.
const (
	KindReset = "reset" // what was told before may miss something
	KindPod   = "pod"
	KindOut   = "out" // a pod that has changed and is not asked for
	KindGone  = "gone"
	KindPulls = "pulls"
)

// Event is one change. It never changes itself: all viewers share it.
type Event struct {
	Kind   string
	Key    filter.Key    // of KindPod and KindGone, as the next ones
	Detail filter.Detail //
	Pod    export.PodKey //

	subject string // what the last event of it is kept of
	data    []byte // JSON in one line; let go of when the frame is made
	number  uint64 // its place in the log
	id      string
	frame   []byte
}

// ID is what a client resumes by.
func (e *Event) ID() string { return e.id }

// Frame is the event as text/event-stream has it. It must not be changed.
func (e *Event) Frame() []byte { return e.frame }

// frame is an event as text/event-stream has it; data is one line.
func frame(id, kind string, data []byte) []byte {
	out := make([]byte, 0, len("id: \nevent: \ndata: \n\n")+len(id)+len(kind)+len(data))
	out = append(append(out, "id: "...), id...)
	out = append(append(out, "\nevent: "...), kind...)
	out = append(append(out, "\ndata: "...), data...)
	return append(out, "\n\n"...)
}

// Out is the frame of KindOut in the place of an event of a pod.
func (e *Event) Out() ([]byte, error) {
	data, err := export.EncodeLine(e.Pod)
	return frame(e.id, KindOut, data), err
}

func (e *Event) settle(epoch string, number uint64) {
	e.number = number
	e.id = epoch + "-" + strconv.FormatUint(number, 10)
	e.frame = frame(e.id, e.Kind, e.data)
	e.data = nil
}

// goneStartUp is what is told of a pod that is gone.
type goneStartUp struct {
	pod    export.PodKey
	key    filter.Key
	detail filter.Detail
}

func newGone(t timeline.Timeline) goneStartUp {
	g := goneStartUp{pod: podKey(t), key: filter.KeyOf(t), detail: filter.DetailOf(t)}
	g.key.Gone = true
	return g
}

func podKey(t timeline.Timeline) export.PodKey {
	return export.PodKey{ID: t.ID(), Namespace: t.Namespace, Name: t.Name, UID: t.UID}
}
