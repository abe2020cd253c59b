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

// version of the format; every older one is read.
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
	// EventsUntil is absent in files of agents that told of no Events after start-ups.
	EventsUntil time.Time `json:"events_until,omitzero"`
}

type reportedLine struct {
	Kind string `json:"kind"`
	UID  string `json:"uid"`
}

type endLine struct {
	Kind string `json:"kind"`
	// Checksum is the CRC-32C of all lines before: the file is meant to be safe from accidents, and is as
	// safe from people as its directory.
	Checksum string `json:"crc32c"`
}

// Contents is what a file tells.
type Contents struct {
	// Since is from when on start-ups were the agent's to report; zero if no file was there.
	Since    time.Time
	InFlight []timeline.Observation // silences of the runtime, then by pod, in the order in which they came
	Reported []string               // UIDs, in the order of their reports
	// of pods that are reported and were about to end; by pod, in the order in which they came
	Ends []timeline.Observation
	// EventsUntil is when kubelet said what was told last of Events after start-ups; zero for nothing.
	EventsUntil time.Time
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum goes on with the one of the lines before.
func checksum(before uint32, line []byte) uint32 { return crc32.Update(before, castagnoli(), line) }

func encodeLine(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	return append(line, '\n'), err
}

// seal makes the line that ends a file.
func seal(sum uint32) ([]byte, error) { return encodeLine(endLine{kindEnd, fmt.Sprintf("%08x", sum)}) }

// parse reads a whole file. Its error says why the file is of no use to this agent.
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
			break // here the recording begins
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

// read takes the recording. Pods that are reported are not in flight: of these it tells how they were about to end.
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

// survives is false for timeline.EventsWatched, and for EventsLost, which takes it back: it lets
// the absence of an Event prove something, and in the time without an agent nobody watched. The
// next agent opens a watch of its own, which begins with all Events that the API server still
// holds. It reads the clocks anew, too.
func survives(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost, timeline.ClockSeen, timeline.PressureSeen:
		return false
	}
	return true
}
