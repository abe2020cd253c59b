package recording

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Header describes the agent that made the recording.
type Header struct {
	Agent        string         // version of the agent
	Scope        timeline.Scope // which sources the agent had, and which start-ups it reported
	Terminations bool           // true if the agent followed terminations
}

// header is the first line of a recording. If the agent restarts and continues the recording, the agent appends another
// header.
type header struct {
	Version      int       `json:"version"`
	Agent        string    `json:"agent,omitzero"`   // version of the agent that made the recording
	Runtime      bool      `json:"runtime,omitzero"` // true if the agent could query the runtime
	Events       bool      `json:"events,omitzero"`
	Since        time.Time `json:"since,omitzero"`
	Terminations bool      `json:"terminations,omitzero"` // true if the agent followed terminations
}

// EncodeHeader encodes the first line of a recording.
func EncodeHeader(h Header) ([]byte, error) {
	return encodeLine(kindHeader, header{
		Version: Version, Agent: h.Agent, Runtime: h.Scope.Runtime, Events: h.Scope.Events,
		Since: h.Scope.Since.UTC(), Terminations: h.Terminations,
	})
}

// DecodeHeader parses the first line of a recording.
func DecodeHeader(line []byte) (Header, error) {
	var h struct {
		tag
		header
	}
	if err := json.Unmarshal(line, &h); err != nil {
		return Header{}, fmt.Errorf("invalid header: %w", err)
	}
	switch {
	case h.Kind != kindHeader:
		return Header{}, fmt.Errorf(`invalid header: must be {"kind":"header","version":%d}, got kind %.40q`,
			Version, h.Kind)
	case h.Version < 1:
		return Header{}, fmt.Errorf(`invalid header: "version" must be 1 to %d`, Version)
	case h.Version > Version:
		return Header{}, fmt.Errorf("unknown format version %d: must be 1 to %d: use the podlapse-agent "+
			"version that made this recording, or a newer version",
			h.Version, Version)
	}
	if err := setUTC(&h.header); err != nil {
		return Header{}, fmt.Errorf("invalid header: %w", err)
	}
	return Header{Agent: h.Agent, Scope: timeline.Scope{Runtime: h.Runtime, Events: h.Events, Since: h.Since},
		Terminations: h.Terminations}, nil
}
