package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// version is the version of the format. The package can read every older version. A file of version 1 has one section.
const version = 2

// The kinds of lines in a section. Package recording defines the kinds of the lines in the recording.
const (
	kindHeader   = "state"
	kindReported = "reported"
	kindRemoved  = "removed"
	kindEnd      = "end"
)

// endPrefix is the beginning of every end line. No other line begins with endPrefix.
const endPrefix = `{"kind":"` + kindEnd + `",`

type header struct {
	Kind    string    `json:"kind"`
	Version int       `json:"version"`
	Node    string    `json:"node"`
	SavedAt time.Time `json:"saved_at"` // time of the save; the agent does not use this field
	// EventsUntil is absent in files of agents that did not report post-startup Events.
	EventsUntil time.Time `json:"events_until,omitzero"`
}

// changeLine records that a pod was reported or removed. A changeLine makes the pod's observations in earlier sections
// obsolete.
type changeLine struct {
	Kind string `json:"kind"` // kindReported or kindRemoved
	UID  string `json:"uid"`
}

type endLine struct {
	Kind string `json:"kind"`
	// Checksum is the CRC-32C of all previous lines of the file, including earlier end lines. Checksum detects
	// accidental damage. Only the permissions of the directory protect the file against intentional changes.
	Checksum string `json:"crc32c"`
}

// Contents is the content of a state file.
type Contents struct {
	// Since is a time on the agent's clock. The previous agent had to report the start-up of every pod that reached the
	// node after Since. If the agent found no usable file, Since is zero.
	Since time.Time
	// InFlight first lists the observations about the node: the periods in which the runtime did not respond, and the
	// changes of the node's clock. After the observations about the node, InFlight lists the observations of the pods
	// that are not in Reported. The observations of each pod are in the order of arrival.
	InFlight []timeline.Observation
	Reported []string // UIDs of pods whose start-up was reported, in the order of the reports
	// Terminations lists observations of pods that are in Reported and that were being deleted. The observations of
	// each pod are in the order of arrival.
	Terminations []timeline.Observation
	// EventsUntil is the time of the latest post-startup kubelet Event that the agent has reported. EventsUntil is zero
	// if the agent has not reported a post-startup kubelet Event.
	EventsUntil time.Time
}

// Errors for files that an agent cannot use.
var (
	errNoState   = errors.New("the file is not a podlapse state file")
	errTruncated = errors.New("the file is truncated")
	errDamaged   = errors.New("the file is damaged")
)

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// checksum adds a line to the checksum of the previous lines.
func checksum(before uint32, line []byte) uint32 { return crc32.Update(before, castagnoli(), line) }

func encodeLine(value any) ([]byte, error) {
	line, err := json.Marshal(value)
	return append(line, '\n'), err
}

// seal creates the last line of a section.
func seal(sum uint32) ([]byte, error) { return encodeLine(endLine{kindEnd, fmt.Sprintf("%08x", sum)}) }

// parse parses a whole file. If this agent cannot use the file, the error states the reason.
func parse(text []byte, node string) (Contents, error) {
	if _, err := readHeader(firstLine(text), node); err != nil {
		return Contents{}, err
	}
	c := contents{reported: map[string]bool{}}
	sum := uint32(0)
	for rest := text; len(rest) > 0; {
		section, after, sealed, err := cutSection(rest, sum)
		if errors.Is(err, errTruncated) && len(rest) < len(text) {
			break // the agent was killed while it appended this section
		}
		if err != nil {
			return Contents{}, err
		}
		if err := c.addSection(section, node); err != nil {
			return Contents{}, err
		}
		rest, sum = after, sealed
	}
	c.InFlight = append(aboutNode(&c.silences, &c.clockLog), c.InFlight...)
	return c.Contents, nil
}

// aboutNode returns the observations in the given logs.
func aboutNode(silences *timeline.SilenceLog, clockLog *timeline.ClockLog) (all []timeline.Observation) {
	for _, silent := range silences.Silences() {
		all = append(all, silent)
	}
	for _, set := range clockLog.Sets() {
		all = append(all, set)
	}
	return all
}

// contents is the content of the sections that the function "parse" has read.
type contents struct {
	Contents
	reported map[string]bool // the UIDs in Contents.Reported
	silences timeline.SilenceLog
	clockLog timeline.ClockLog
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

func readHeader(line []byte, node string) (h header, err error) {
	err = json.Unmarshal(line, &h)
	switch {
	case err != nil || h.Kind != kindHeader || h.Version < 1:
		return header{}, errNoState
	case h.Version > version:
		return header{}, fmt.Errorf("unknown format version %d: must be 1 to %d; a newer podlapse-agent "+
			"wrote this file", h.Version, version)
	case h.Node != node:
		return header{}, fmt.Errorf("the file belongs to node %.100q, but the agent runs on node %q", h.Node, node)
	}
	return h, nil
}

// cutSection cuts the text into two parts: the first section and the rest. The result "section" does not include the
// section's end line. The argument "before" is the checksum of all lines of the file before the section. The result
// "sum" is the checksum of all lines up to and including the end line.
func cutSection(text []byte, before uint32) (section, rest []byte, sum uint32, err error) {
	end := bytes.Index(text, []byte("\n"+endPrefix)) + 1
	line, rest, complete := bytes.Cut(text[end:], []byte("\n"))
	if end == 0 || !complete {
		return nil, nil, 0, errTruncated
	}
	var sealed endLine
	if err := json.Unmarshal(line, &sealed); err != nil {
		return nil, nil, 0, fmt.Errorf("%w: invalid last line: %w", errDamaged, err)
	}
	sum = checksum(before, text[:end])
	if got := fmt.Sprintf("%08x", sum); got != sealed.Checksum {
		return nil, nil, 0, fmt.Errorf("%w: the checksum is %s, want %.20q", errDamaged, got, sealed.Checksum)
	}
	return text[:end], rest, checksum(sum, text[end:len(text)-len(rest)]), nil
}

// addSection adds a section to c. If a section records a pod as reported, the pod's later observations concern its
// termination, so addSection adds them to c.Terminations.
func (c *contents) addSection(section []byte, node string) error {
	first, section, _ := bytes.Cut(section, []byte("\n"))
	h, err := readHeader(first, node)
	if err != nil {
		return err
	}
	c.EventsUntil = h.EventsUntil
	// The observations about the node in a section replace those in earlier sections.
	c.silences, c.clockLog = timeline.SilenceLog{}, timeline.ClockLog{}
	ended := map[string]bool{} // pods whose earlier observations are obsolete
	for {
		line, rest, _ := bytes.Cut(section, []byte("\n"))
		var l changeLine
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("invalid line: must be JSON: %w", err)
		}
		if l.Kind != kindReported && l.Kind != kindRemoved {
			break // the recording begins here
		}
		if l.UID == "" {
			return fmt.Errorf(`invalid line of kind %q: the field "uid" is missing`, l.Kind)
		}
		ended[l.UID] = true
		if l.Kind == kindReported {
			c.Reported = append(c.Reported, l.UID)
		}
		c.reported[l.UID] = l.Kind == kindReported
		section = rest
	}
	if len(ended) > 0 {
		obsolete := func(o timeline.Observation) bool { return ended[o.PodUID()] }
		c.InFlight = slices.DeleteFunc(c.InFlight, obsolete)
		c.Terminations = slices.DeleteFunc(c.Terminations, obsolete)
		c.Reported = slices.DeleteFunc(c.Reported, func(uid string) bool { return !c.reported[uid] })
	}
	return c.addObservations(recording.NewReader(bytes.NewReader(section)))
}

func (c *contents) addObservations(reader *recording.Reader) error {
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
		case concernsNode(o):
			c.silences.Observe(o)
			c.clockLog.Observe(o)
		case !outlivesAgent(o):
		case c.reported[o.PodUID()]:
			c.Terminations = append(c.Terminations, o)
		default:
			c.InFlight = append(c.InFlight, o)
		}
	}
}

// concernsNode reports whether an observation concerns the whole node, so that the Saver stores it for all pods.
func concernsNode(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.RuntimeSilent, timeline.ClockSet:
		return true
	}
	return false
}

// outlivesAgent returns false for observations that the next agent must not use. EventsWatched means that an open watch
// delivers the Events of a pod, so that the absence of an Event is evidence. This is true only while the watch is open,
// and the watch closes when the agent stops. The next agent opens its own watch, which first delivers all Events that
// the API server still holds. EventsLost only revokes EventsWatched, so EventsLost is useless without EventsWatched.
// The next agent also reads the control plane's clock (ClockSeen) and the kernel's pressure counters (PressureSeen)
// again.
func outlivesAgent(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.EventsWatched, timeline.EventsLost, timeline.ClockSeen, timeline.PressureSeen:
		return false
	}
	return true
}
