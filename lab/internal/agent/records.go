package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Records are what the agent printed about the pods of one namespace.
type Records struct {
	Timelines []Timeline // in the order in which they were printed, repetitions included
	Torn      int        // lines that an agent did not live to finish
}

// ReadRecords reads the file that collects the agent's standard output. A line without an end is left
// for the next reading: its writer may be at it.
func ReadRecords(path, namespace string) (Records, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return Records{}, nil
	}
	if err != nil {
		return Records{}, fmt.Errorf("read the agent's records: %w", err)
	}
	var records Records
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		timeline, whole := readRecord(line)
		if !whole {
			records.Torn++
		}
		if timeline.Namespace == namespace {
			records.Timelines = append(records.Timelines, timeline)
		}
	}
	return records, nil
}

// readRecord reads one line. One that an agent was killed in has no end of its own, so that the next
// agent's first record follows on the same line.
func readRecord(line []byte) (timeline Timeline, whole bool) {
	for at := 0; at < len(line); at++ {
		if line[at] != '{' {
			continue
		}
		var timeline Timeline
		if decode(line[at:], &timeline) == nil && timeline.Namespace != "" {
			timeline.Raw = line[at:]
			return timeline, at == 0
		}
	}
	return Timeline{}, false
}

// Once drops repetitions: of records with the same id it keeps the first. Records without an id are all
// kept.
func Once(timelines []Timeline) []Timeline {
	var once []Timeline
	seen := make(map[string]bool)
	for _, timeline := range timelines {
		if timeline.ID != "" && seen[timeline.ID] {
			continue
		}
		seen[timeline.ID] = true
		once = append(once, timeline)
	}
	return once
}
