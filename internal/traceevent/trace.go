// Package traceevent converts a record to the Trace Event Format of Perfetto and chrome://tracing. The package is
// pure.
package traceevent

import (
	"strconv"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

// Trace is a start-up in the Trace Event Format, as a JSON object for Perfetto and chrome://tracing
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU). The times in a Trace are relative
// to the pod's creation. Programs that read a Trace use float64, which cannot represent the time since 1970 with
// nanosecond precision.
type Trace struct {
	Events    []Event           `json:"traceEvents"`
	Unit      string            `json:"displayTimeUnit"`
	OtherData map[string]string `json:"otherData"`
}

// Event is a trace event: metadata (M), a span of time (X) or an instant (i).
type Event struct {
	Kind     string         `json:"ph"`
	Name     string         `json:"name"`
	Category string         `json:"cat,omitempty"`
	At       *Micros        `json:"ts,omitempty"`
	Length   *Micros        `json:"dur,omitempty"` // duration of the event; only for the kind X
	Scope    string         `json:"s,omitempty"`   // scope of the event, only for the kind i; the value t means thread
	Process  int            `json:"pid"`
	Thread   int            `json:"tid"`
	Args     map[string]any `json:"args,omitempty"`
}

// Kinds of trace events.
const (
	kindMetadata = "M"
	kindStretch  = "X"
	kindInstant  = "i"
)

// Micros is a duration. Its JSON value is a number of microseconds with up to three decimal places, so no nanosecond is
// lost.
type Micros time.Duration

// MarshalJSON implements json.Marshaler.
func (m Micros) MarshalJSON() ([]byte, error) {
	const nanosPerMicro = 1000
	text := strconv.AppendInt(nil, int64(m)/nanosPerMicro, 10)
	if m < 0 && m > -nanosPerMicro {
		text = append([]byte("-"), text...) // the integer part is 0, which has no sign
	}
	if fraction := int64(m) % nanosPerMicro; fraction != 0 {
		text = append(text, '.')
		text = append(text, strconv.FormatInt(nanosPerMicro+max(fraction, -fraction), 10)[1:]...)
	}
	return text, nil
}

// onlyProcess is the ID of the only process of a trace: the pod.
const onlyProcess = 1

// layout assigns the parts of a record to lanes. A lane is a thread of the trace. The phases share one lane, because
// they do not overlap. Each container has one lane for its pulls. Each container also has one lane for downloads and
// one lane for unpacking, because downloads and unpacking overlap.
type layout struct {
	record api.Record
	lanes  map[string]int
	trace  Trace
}

// New converts a record to a trace.
func New(record api.Record) Trace {
	t := &layout{record: record, lanes: map[string]int{}, trace: Trace{Unit: "ms", OtherData: map[string]string{
		"id": record.ID, "node": record.Node, "created_at": record.CreatedAt.UTC().Format(api.InstantLayout),
		"state": string(record.State), "verdict": record.Verdict,
	}}}
	t.describe("process_name", 0, map[string]any{"name": record.Namespace + "/" + record.Name})
	t.describe("process_labels", 0, map[string]any{"labels": "node " + record.Node})
	phases := t.lane("start-up")
	for _, p := range record.Phases {
		t.phase(phases, p)
	}
	for _, p := range record.Pulls {
		t.pull(p)
	}
	return t.trace
}

func (t *layout) describe(what string, lane int, args map[string]any) {
	t.trace.Events = append(t.trace.Events,
		Event{Kind: kindMetadata, Name: what, Process: onlyProcess, Thread: lane, Args: args})
}

// lane returns the ID of the thread with the given name. Threads are numbered from 1, in the order of their first use.
func (t *layout) lane(name string) int {
	lane, ok := t.lanes[name]
	if !ok {
		lane = len(t.lanes) + 1
		t.lanes[name] = lane
		t.describe("thread_name", lane, map[string]any{"name": name})
		t.describe("thread_sort_index", lane, map[string]any{"sort_index": lane})
	}
	return lane
}

func (t *layout) since(at api.Instant) *Micros { return new(Micros(at.Sub(t.record.CreatedAt.Time))) }

func (t *layout) stretch(lane int, name, category string, from, to api.Instant, args map[string]any) {
	if from.IsZero() || to.Before(from.Time) {
		return
	}
	t.trace.Events = append(t.trace.Events, Event{
		Kind: kindStretch, Name: name, Category: category, At: t.since(from), Length: new(Micros(to.Sub(from.Time))),
		Process: onlyProcess, Thread: lane, Args: args,
	})
}

func (t *layout) phase(lane int, p api.PhaseRecord) {
	args := map[string]any{"cause": p.Cause, "error_seconds": p.Error, "sources": p.Sources}
	name := string(p.Phase)
	if p.Container != "" {
		name += " " + p.Container
		args["container"], args["attempt"] = p.Container, p.Attempt
	}
	if len(p.MergedWith) > 0 {
		args["merged_with"] = p.MergedWith
	}
	if p.Open {
		args["open"] = true
	}
	if p.ImageLoading {
		args["image_loading"] = true
	}
	t.stretch(lane, name, string(p.Cause), p.StartAt, p.EndAt, args)
}

func (t *layout) pull(p api.PullRecord) {
	args := map[string]any{"image": p.Image, "registry": p.Registry, "outcome": p.Outcome, "attempt": p.Attempt}
	if p.Failure != "" {
		args["failure"] = p.Failure
	}
	if p.SizeBytes > 0 {
		args["size_bytes"] = p.SizeBytes
	}
	if p.PullsBeside > 0 {
		args["pulls_beside"] = p.PullsBeside
	}
	if p.Lazy {
		args["lazy"] = true
	}
	name := "image of " + p.Container
	if p.Queue != nil {
		t.stretch(t.lane(name), "queue", "pull_queue", p.RequestedAt, p.StartedAt, args)
	}
	if p.Pull != nil {
		t.stretch(t.lane(name), "pull", "pull", p.StartedAt, p.FinishedAt, args)
	}
	if d := p.Download; d != nil {
		t.stretch(t.lane(name+": download"), "download", "registry", d.StartAt, d.EndAt,
			map[string]any{"bytes": d.Bytes})
	}
	if u := p.Unpack; u != nil {
		t.stretch(t.lane(name+": unpack"), "unpack", "disk", u.StartAt, u.EndAt, map[string]any{"busy_seconds": u.Busy})
	}
	for _, l := range p.Layers {
		layer := map[string]any{"digest": l.Digest, "size_bytes": l.SizeBytes}
		t.instant(name+": download", "layer downloaded", l.DownloadedAt, layer)
		t.instant(name+": unpack", "layer unpacked", l.UnpackedAt, layer)
	}
}

func (t *layout) instant(lane, name string, at api.Instant, args map[string]any) {
	if at.IsZero() {
		return
	}
	t.trace.Events = append(t.trace.Events, Event{
		Kind: kindInstant, Scope: "t", Name: name, Category: "layer", At: t.since(at),
		Process: onlyProcess, Thread: t.lane(lane), Args: args,
	})
}
