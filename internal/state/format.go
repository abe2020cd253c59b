package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// version is the version of the format. The package can read every older version.
const version = 1

// Kinds of lines in addition to the lines of a recording.
const (
	kindHeader   = "state"
	kindReported = "reported"
	kindEnd      = "end"
)

type header struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Node    string    `json:"node"`
	SavedAt time.Time `json:"saved_at"` // time of the save, for people
	// EventsUntil is absent in files of agents that did not report Events after start-ups.
	EventsUntil time.Time `json:"events_until,omitzero"`
}

type reportedLine struct {
	Kind string `json:"kind"`
	UID  string `json:"uid"`
}

type endLine struct {
	Kind string `json:"kind"`
	// Checksum is the CRC-32C of all previous lines. Checksum detects accidental damage. Only the permissions of the
	// directory protect the file against intentional changes.
	Checksum string `json:"crc32c"`
}

// Contents is the content of a state file.
type Contents struct {
	// Since is the time from which the previous agent had to report the start-ups of new pods. Since is zero if the
	// agent found no usable file.
	Since time.Time
	// InFlight holds the silences of the runtime, followed by the observations of each pod in the order of arrival.
	InFlight []timeline.Observation
	Reported []string // UIDs of reported pods, in the order of the reports
	// Terminations holds observations of reported pods that were being deleted, by pod in the order of arrival.
	Terminations []timeline.Observation
	// EventsUntil is the time of the latest reported kubelet Event after a start-up. EventsUntil is zero if the
	// agent has reported no such Event.
	EventsUntil time.Time
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum adds a line to the checksum of the previous lines.
func checksum(before uint32, line []byte) uint32 { return crc32.Update(before, castagnoli(), line) }

func encodeLine(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	return append(line, '\n'), err
}

// seal creates the last line of a file.
func seal(sum uint32) ([]byte, error) { return encodeLine(endLine{kindEnd, fmt.Sprintf("%08x", sum)}) }

// parse parses a whole file. The error is the reason why this agent cannot use the file.
func parse(text []byte, node string) (Contents, error) {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	h, err := readHeader(first, node)
	if err != nil {
		return Contents{}, err
	}
	body, err := unseal(text)
	if err != nil {
		return Contents{}, err
	}
	body = body[len(first)+1:]
	c := Contents{EventsUntil: h.EventsUntil}
	for {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		var l reportedLine
		if err := json.Unmarshal(line, &l); err != nil {
			return Contents{}, fmt.Errorf("invalid line: must be JSON: %w", err)
		}
		if l.Kind != kindReported {
			break // the recording begins here
		}
		if l.UID == "" {
			return Contents{}, errors.New("invalid line: a reported pod has no uid")
		}
		c.Reported = append(c.Reported, l.UID)
		body = rest
	}
	return c, c.read(recording.NewReader(bytes.NewReader(body)))
}

func readHeader(line []byte, node string) (h header, err error) {
	err = json.Unmarshal(line, &h)
	switch {
	case err != nil || h.Kind != kindHeader || h.Version < 1:
		return header{}, errors.New("the file is not a podlapse state file")
	case h.Version > version:
		return header{}, fmt.Errorf("unknown format version %d: must be 1 to %d; a newer podlapse-agent "+
			"wrote this file", h.Version, version)
	case h.Node != node:
		return header{}, fmt.Errorf("the file belongs to node %.100q, but the agent runs on node %q", h.Node, node)
	}
	return h, nil
}

// unseal checks the end line and returns the text before the end line.
func unseal(text []byte) ([]byte, error) {
	if !bytes.HasSuffix(text, []byte("\n")) {
		return nil, errors.New("the file is truncated")
	}
	begin := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	var end endLine
	if err := json.Unmarshal(text[begin:], &end); err != nil || end.Kind != kindEnd || begin == 0 {
		return nil, errors.New("the file is truncated")
	}
	if sum := fmt.Sprintf("%08x", checksum(0, text[:begin])); sum != end.Checksum {
		return nil, fmt.Errorf("the file is damaged: the checksum is %s, want %.20q", sum, end.Checksum)
	}
	return text[:begin], nil
}

// read adds the observations of the recording to c. If c.Reported contains the pod of an observation, the observation
// is about the pod's termination, and read adds it to c.Terminations.
func (c *Contents) read(reader *recording.Reader) error {
	reported := make(map[string]bool, len(c.Reported))
	for _, uid := range c.Reported {
		reported[uid] = true
	}
	for {
		o, err := reader.Next()
		if errors.Is(err, io.EOF) {
			c.Since = reader.Header().Scope.Since
			return nil
		}
		if err != nil {
			return fmt.Errorf("read observations: %w", err)
		}
		switch {
		case !outlivesAgent(o):
		case reported[o.PodUID()]:
			c.Terminations = append(c.Terminations, o)
		default:
			c.InFlight = append(c.InFlight, o)
		}
	}
}

// outlivesAgent returns false for observations that the next agent must not use. The observation EventsWatched
// proves the absence of Events, but no watch is open while no agent runs. EventsLost only revokes EventsWatched.
// The next agent opens its own watch, which begins with all Events that the API server still holds. The next agent
// also measures clocks and pressure again.
func outlivesAgent(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost, timeline.ClockSeen, timeline.PressureSeen:
		return false
	}
	return true
}
