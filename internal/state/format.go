package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"time"

	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// version of the format; every older one can be read.
const version = 1

// The kinds of line beside those of a recording.
const (
	kindHeader   = "state"
	kindReported = "reported"
	kindEnd      = "end"
)

type header struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Node    string    `json:"node"`
	SavedAt time.Time `json:"saved_at"` // for people
	// EventsUntil is absent in files of agents that did not report Events after start-ups.
	EventsUntil time.Time `json:"events_until,omitzero"`
}

type reportedLine struct {
	Kind string `json:"kind"`
	UID  string `json:"uid"`
}

type endLine struct {
	Kind string `json:"kind"`
	// Checksum is the CRC-32C of all lines before. It detects accidents; against people, only the
	// permissions of the directory protect the file.
	Checksum string `json:"crc32c"`
}

// Contents is the content of a file.
type Contents struct {
	// Since is the time from which the agent had to report start-ups; zero if there was no file.
	Since    time.Time
	InFlight []timeline.Observation // silences of the runtime, then by pod, in the order of arrival
	Reported []string               // UIDs, in the order of their reports
	// of reported pods that were being deleted; by pod, in the order of arrival
	Ends []timeline.Observation
	// EventsUntil is the time of the latest kubelet Event after a start-up that was reported; zero
	// for none.
	EventsUntil time.Time
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum continues the checksum of the previous lines.
func checksum(before uint32, line []byte) uint32 { return crc32.Update(before, castagnoli(), line) }

func encodeLine(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	return append(line, '\n'), err
}

// seal creates the last line of a file.
func seal(sum uint32) ([]byte, error) { return encodeLine(endLine{kindEnd, fmt.Sprintf("%08x", sum)}) }

// parse parses a whole file. Its error says why this agent cannot use the file.
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
			return Contents{}, fmt.Errorf("contains a line that is not JSON: %w", err)
		}
		if l.Kind != kindReported {
			break // the recording begins here
		}
		if l.UID == "" {
			return Contents{}, errors.New("contains a reported pod without its uid")
		}
		c.Reported = append(c.Reported, l.UID)
		body = rest
	}
	return c, c.read(record.NewReader(bytes.NewReader(body)))
}

func readHeader(line []byte, node string) (h header, err error) {
	err = json.Unmarshal(line, &h)
	switch {
	case err != nil || h.Kind != kindHeader || h.Version < 1:
		return header{}, errors.New("is not a podlapse state file")
	case h.Version > version:
		return header{}, fmt.Errorf("has format version %d, but only 1 to %d are known: a newer podlapse-agent "+
			"wrote it", h.Version, version)
	case h.Node != node:
		return header{}, fmt.Errorf("belongs to node %.100q, not to %q", h.Node, node)
	}
	return h, nil
}

// unseal checks the end line and returns what is before it.
func unseal(text []byte) ([]byte, error) {
	if !bytes.HasSuffix(text, []byte("\n")) {
		return nil, errors.New("is truncated")
	}
	begin := bytes.LastIndexByte(text[:len(text)-1], '\n') + 1
	var end endLine
	if err := json.Unmarshal(text[begin:], &end); err != nil || end.Kind != kindEnd || begin == 0 {
		return nil, errors.New("is truncated")
	}
	if sum := fmt.Sprintf("%08x", checksum(0, text[:begin])); sum != end.Checksum {
		return nil, fmt.Errorf("is damaged: checksum %s, want %.20q", sum, end.Checksum)
	}
	return text[:begin], nil
}

// read reads the recording. Reported pods are not in flight: their observations are about their
// deletion.
func (c *Contents) read(reader *record.Reader) error {
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
			return fmt.Errorf("contains observations that cannot be read: %w", err)
		}
		switch {
		case !survives(o):
		case reported[o.PodUID()]:
			c.Ends = append(c.Ends, o)
		default:
			c.InFlight = append(c.InFlight, o)
		}
	}
}

// survives is false for timeline.EventsWatched, and for EventsLost, which retracts it. After EventsWatched, the absence
// of an Event is a proof; but no watch was open while no agent ran. The next agent opens a watch of its own, which
// begins with all Events that the API server still holds. It also reads the clocks again.
func survives(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost, timeline.ClockSeen, timeline.PressureSeen:
		return false
	}
	return true
}
