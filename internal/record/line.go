package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

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

// The kinds of line. The fields of a line are those of the observation, as their tags name them.
// What is false, zero, empty or absent is omitted.
const (
	kindHeader      = "header"
	kindPodSeen     = "pod_seen"
	kindPodGone     = "pod_gone"
	kindEventSeen   = "event_seen"
	kindWatched     = "events_watched"
	kindLost        = "events_lost"
	kindRuntimeSeen = "runtime_seen"
	kindClockSeen   = "clock_seen"
	kindPressure    = "pressure_seen"
	kindSilent      = "runtime_silent"
)

// tag is the part that every line has.
type tag struct {
	Kind string `json:"kind"`
}

// Encode encodes an observation as one line. Bytes that are not UTF-8 become U+FFFD, and an empty
// list becomes an absent one; everything else survives decoding. An instant in a year that the core
// cannot represent, or a line longer than MaxLine, is an error.
func Encode(o timeline.Observation) ([]byte, error) {
	kind := kindOf(o)
	if kind == "" {
		return nil, fmt.Errorf("encode observation: no kind for %T", o)
	}
	if err := checkInstants(o); err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	return encodeLine(kind, o)
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

func kindOf(o timeline.Observation) string {
	switch o.(type) {
	case timeline.PodSeen:
		return kindPodSeen
	case timeline.PodGone:
		return kindPodGone
	case timeline.EventSeen:
		return kindEventSeen
	case timeline.EventsWatched:
		return kindWatched
	case timeline.EventsLost:
		return kindLost
	case timeline.RuntimeSeen:
		return kindRuntimeSeen
	case timeline.ClockSeen:
		return kindClockSeen
	case timeline.PressureSeen:
		return kindPressure
	case timeline.RuntimeSilent:
		return kindSilent
	}
	return ""
}

// decode parses one observation.
func decode(kind string, line []byte) (timeline.Observation, error) {
	switch kind {
	case kindPodSeen:
		return parse[timeline.PodSeen](line)
	case kindPodGone:
		return parse[timeline.PodGone](line)
	case kindEventSeen:
		return parse[timeline.EventSeen](line)
	case kindWatched:
		return parse[timeline.EventsWatched](line)
	case kindLost:
		return parse[timeline.EventsLost](line)
	case kindRuntimeSeen:
		return parse[timeline.RuntimeSeen](line)
	case kindClockSeen:
		return parse[timeline.ClockSeen](line)
	case kindPressure:
		return parse[timeline.PressureSeen](line)
	case kindSilent:
		return parse[timeline.RuntimeSilent](line)
	}
	return nil,
		fmt.Errorf("observation of unknown kind %.40q: use the podlapse-agent that recorded it, or a newer one", kind)
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
