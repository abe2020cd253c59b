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
	Strays    int        // transition records without the timeline of their pod before them
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
	var latest Timeline // of any namespace: what follows belongs to it
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		r, whole := readRecord(line)
		last := len(records.Timelines) - 1
		mine := last >= 0 && latest.Namespace == namespace
		if !whole {
			records.Torn++
			if mine {
				records.Timelines[last].Cut = true
			}
		}
		switch m := r.transition.Metrics; {
		case m.PodName == "":
			if latest = r.timeline; latest.Namespace == namespace {
				records.Timelines = append(records.Timelines, latest)
			}
		case m.Namespace != namespace:
		case mine && m.PodName == latest.Name:
			records.Timelines[last].Transitions = append(records.Timelines[last].Transitions, r.transition)
		default:
			records.Strays++
		}
	}
	return records, nil
}

// record is either of the two.
type record struct {
	timeline   Timeline
	transition Transition
}

// readRecord reads one line. One that an agent was killed in has no end of its own, so that the next
// agent's first record follows on the same line.
func readRecord(line []byte) (r record, whole bool) {
	for at := 0; at < len(line); at++ {
		if line[at] != '{' {
			continue
		}
		rest := line[at:]
		if bytes.HasPrefix(rest, []byte(`{"kube_transition_metrics"`)) {
			if decode(rest, &r.transition) == nil {
				r.transition.Raw = rest
				return r, at == 0
			}
			r = record{}
			continue
		}
		if decode(rest, &r.timeline) == nil && r.timeline.Namespace != "" {
			r.timeline.Raw = rest
			return r, at == 0
		}
		r = record{}
	}
	return record{}, false
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
