package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// Version is the version of the format that this package writes. It reads this and every older
	// one.
	Version = 2
	// MaxLine limits a line, including its end, in bytes. A pod of a hundred containers takes a
	// tenth.
	MaxLine = 1 << 20
)

const kindHeader = "header"

// kinds are the kinds of line beside the header. The fields of a line are those of the observation, as
// their tags name them. Values that are false, zero, empty or absent are omitted.
var kinds = []kind{
	kindOf[timeline.PodSeen]("pod_seen"),
	kindOf[timeline.PodGone]("pod_gone"),
	kindOf[timeline.EventSeen]("event_seen"),
	kindOf[timeline.EventsWatched]("events_watched"),
	kindOf[timeline.EventsLost]("events_lost"),
	kindOf[timeline.RuntimeSeen]("runtime_seen"),
	kindOf[timeline.ClockSeen]("clock_seen"),
	kindOf[timeline.PressureSeen]("pressure_seen"),
	kindOf[timeline.RuntimeSilent]("runtime_silent"),
}

type kind struct {
	name        string
	observation reflect.Type
	parse       func(line []byte) (timeline.Observation, error)
}

func kindOf[O timeline.Observation](name string) kind {
	return kind{name, reflect.TypeFor[O](), parse[O]}
}

// tag is the part that every line has.
type tag struct {
	Kind string `json:"kind"`
}

// Encode encodes an observation as one line. Bytes that are not UTF-8 become U+FFFD, and an empty
// list becomes an absent one; everything else survives decoding. An instant in a year that the core
// cannot represent, or a line longer than MaxLine, is an error.
func Encode(o timeline.Observation) ([]byte, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.observation == reflect.TypeOf(o) })
	if i < 0 {
		return nil, fmt.Errorf("encode observation: no kind for %T", o)
	}
	if err := checkInstants(o); err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	return encodeLine(kinds[i].name, o)
}

// encodeLine encodes a value as a line of a kind.
func encodeLine(kind string, value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // keeps messages and image references readable
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	encoded := append([]byte(`{"kind":"`+kind+`",`), line.Bytes()[1:]...) // no kind of line is empty
	if len(encoded) > MaxLine {
		return nil, fmt.Errorf("encode observation: %d bytes exceed the limit of %d per line", len(encoded), MaxLine)
	}
	return encoded, nil
}

// decode parses one observation.
func decode(name string, line []byte) (timeline.Observation, error) {
	for _, kind := range kinds {
		if kind.name == name {
			return kind.parse(line)
		}
	}
	return nil,
		fmt.Errorf("observation of unknown kind %.40q: use the podlapse-agent that recorded it, or a newer one", name)
}

func parse[O timeline.Observation](line []byte) (timeline.Observation, error) {
	var o O
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	if err := setUTC(&o); err != nil {
		return nil, err
	}
	if o.PodUID() == "" && !ofNoPod(o) {
		return nil, errors.New("observation without the pod's uid")
	}
	if o.Arrived().IsZero() {
		return nil, errors.New("observation without arrived_at")
	}
	return redacted(o), nil
}

// redacted removes secrets again: agents up to v0.1 recorded messages and image references unchanged.
func redacted(o timeline.Observation) timeline.Observation {
	switch o := o.(type) {
	case timeline.PodSeen:
		for i := range o.Pod.Containers {
			o.Pod.Containers[i].Image = redact.Text(o.Pod.Containers[i].Image)
		}
	case timeline.EventSeen:
		o.Message = redact.Message(o.Reason, o.Message)
		return o
	}
	return o
}

// ofNoPod reports whether an observation is about the node, or the control plane.
func ofNoPod(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.ClockSeen, timeline.PressureSeen, timeline.RuntimeSilent:
		return true
	}
	return false
}
