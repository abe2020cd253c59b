package recording

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
	// Version is the version of the format that this package writes. The package reads this version and every older
	// version.
	Version = 3
	// MaxLine is the maximum length of a line in bytes, including its end. The line about a pod with a hundred
	// containers has about a tenth of this length.
	MaxLine = 1 << 20
)

const kindHeader = "header"

// kinds lists all kinds of lines except the header. Each line contains the fields of one observation. The JSON tags of
// the fields define the names in the line. Encode omits fields that are false, zero, empty or absent.
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
	kindOf[timeline.ClockSet]("clock_set"),
}

type kind struct {
	name        string
	observation reflect.Type
	parse       func(line []byte) (timeline.Observation, error)
}

func kindOf[O timeline.Observation](name string) kind {
	return kind{name, reflect.TypeFor[O](), parse[O]}
}

// tag is the common part of all lines.
type tag struct {
	Kind string `json:"kind"`
}

// Encode encodes an observation as one line. Encode replaces invalid UTF-8 with U+FFFD, and omits empty lists. Decoding
// restores all values except invalid UTF-8 and empty lists. Encode returns an error if the pod's UID is missing, if the
// year of a timestamp is invalid, or if the line would be longer than MaxLine.
func Encode(o timeline.Observation) ([]byte, error) {
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.observation == reflect.TypeOf(o) })
	if i < 0 {
		return nil, fmt.Errorf("encode observation: unknown type %T", o)
	}
	if o.PodUID() == "" && !concernsNoPod(o) {
		return nil, fmt.Errorf("encode observation: %T requires the UID of a pod", o)
	}
	if err := checkInstants(o); err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	return encodeLine(kinds[i].name, o)
}

// encodeLine encodes a value as a line of the given kind.
func encodeLine(kind string, value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // keeps messages and image references readable
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	// The encoded value is a JSON object, so its first byte is the opening brace.
	encoded := append([]byte(`{"kind":"`+kind+`",`), line.Bytes()[1:]...)
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
		fmt.Errorf("the observation has the unknown kind %.40q: use the podlapse-agent version that made this "+
			"recording, or a newer version", name)
}

func parse[O timeline.Observation](line []byte) (timeline.Observation, error) {
	var o O
	if err := json.Unmarshal(line, &o); err != nil {
		return nil, err
	}
	if err := setUTC(&o); err != nil {
		return nil, err
	}
	if o.PodUID() == "" && !concernsNoPod(o) {
		return nil, errors.New("the observation has no \"uid\": set \"uid\" to the UID of a pod")
	}
	if o.Arrived().IsZero() {
		return nil, errors.New("the observation has no \"arrived_at\": set \"arrived_at\" to a time")
	}
	return redacted(o), nil
}

// redacted removes credentials from an observation. Agents up to v0.1 recorded messages and image references without
// removing credentials.
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

// concernsNoPod reports whether an observation concerns the node or the control plane.
func concernsNoPod(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.ClockSeen, timeline.ClockSet, timeline.PressureSeen, timeline.RuntimeSilent:
		return true
	}
	return false
}
