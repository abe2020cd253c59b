package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Records are what the agent printed about the pods of one namespace.
type Records struct {
	Timelines []Timeline // in the order in which they were printed, repetitions included
	Strays    int        // transition records without the timeline of their pod before them
	Torn      int        // lines that an agent did not live to finish
	Ends      []End      // of pods that were deleted, in the order in which they were printed
}

// Output is where agents of the node print.
type Output struct {
	File string   // the standard output of agents that run as processes, one after the other
	Logs []string // of agents that run in containers; where the runtime began another file, both
}

// ReadRecords reads what agents printed. A line without an end is left for the next reading: its writer may be at it.
func ReadRecords(output Output, namespace string) (Records, error) {
	data, err := os.ReadFile(output.File)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Records{}, fmt.Errorf("read the agent's records: %w", err)
	}
	log, err := readLogs(output.Logs)
	if err != nil {
		return Records{}, err
	}
	return readRecords(append(data, Printed(log, Stdout)...), namespace), nil
}

// readLogs reads containers' logs one after the other, the oldest first. A long line may begin in one and end in the next.
func readLogs(paths []string) ([]byte, error) {
	var logs [][]byte
	for _, path := range paths {
		log, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read the agent's records: %w", err)
		}
		logs = append(logs, log)
	}
	slices.SortStableFunc(logs, func(a, b []byte) int { return begunAt(a).Compare(begunAt(b)) })
	return bytes.Join(logs, nil), nil
}

// readRecords reads what agents printed, one after the other.
func readRecords(data []byte, namespace string) Records {
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
		if r.end.Namespace != "" {
			if r.end.Namespace == namespace {
				records.Ends = append(records.Ends, r.end)
			}
			continue
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
	return records
}

// record is one of the three.
type record struct {
	end        End
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
		if decode(rest, &r.end) == nil && r.end.Namespace != "" && r.end.Termination.Verdict != "" && !bytes.Contains(rest, []byte(`,"state":"`)) {
			r.end.Raw = rest
			return r, at == 0
		}
		r = record{}
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
