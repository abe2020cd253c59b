package agent

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
)

// Records contains the records that the agent printed about the pods of one namespace.
type Records struct {
	Timelines    []Timeline          // start-ups in the order of the records, including repeated records
	Unmatched    int                 // number of transition records without a preceding timeline of the same pod
	Torn         int                 // number of lines that are incomplete because an agent was killed
	Terminations []TerminationRecord // terminations of deleted pods, in the order of the records
}

// Output contains the paths of the files with the agents' output.
type Output struct {
	File string   // standard output of all agents that run as processes
	Logs []string // logs of all agents that run in containers; the kubelet's log rotation can split a log
}

// ReadRecords reads the records that agents printed. ReadRecords ignores an incomplete last line, because the agent is
// still writing the line. The next call can read the complete line.
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

// readLogs reads the logs of containers and joins their texts, with the oldest log first. A long line can start in one
// log file and end in the next file.
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

// readRecords parses the output of one or more agents.
func readRecords(data []byte, namespace string) Records {
	var records Records
	var latest Timeline // latest timeline of any namespace; the next transition records belong to this timeline
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if bytes.HasPrefix(line, nodeStartUpLine) && bytes.HasSuffix(line, []byte("}}\n")) {
			continue // a record about the node, not about a pod
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
		if r.termination.Namespace != "" {
			if r.termination.Namespace == namespace {
				records.Terminations = append(records.Terminations, r.termination)
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
			records.Unmatched++
		}
	}
	return records
}

// record is a parsed line. Only one field is set: the field for the type of the line.
type record struct {
	termination TerminationRecord
	timeline    Timeline
	transition  Transition
}

// readRecord parses one line. If an agent was killed while it wrote a record, the line contains only the start of this
// record. After an incomplete record, the line can also contain the first record of the next agent. For a line with an
// incomplete record, the result "whole" is false.
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
		if t := &r.termination; decode(rest, t) == nil && t.Namespace != "" && t.Termination.Verdict != "" &&
			!bytes.Contains(rest, []byte(`,"state":"`)) {
			r.termination.Raw = rest
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

// Once removes repeated records. If several records have the same ID, Once keeps only the first record. Once keeps all
// records without an ID.
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
