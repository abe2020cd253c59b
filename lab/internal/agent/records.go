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
	Timelines    []Timeline          // timelines in the order in which agents printed them, including repeated records
	Unmatched    int                 // number of transition records that do not directly follow their pod's timeline
	Torn         int                 // number of incomplete lines; an agent that is killed leaves such a line
	Terminations []TerminationRecord // terminations of deleted pods, in the order of the records
}

// Output contains the paths of the files with the agents' output.
type Output struct {
	File string   // standard output of all agents that run as processes
	Logs []string // logs of all agents that run in containers; the kubelet can split a log into several files
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

// readLogs reads the log files of containers. readLogs joins the files in the order of their first entries, with the
// oldest file first, because a long line can start in one file and end in the next file.
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

// record is a parsed line. Each line contains one type of record, and only the field for this type is set.
type record struct {
	termination TerminationRecord
	timeline    Timeline
	transition  Transition
}

// readRecord parses one line. If an agent is killed while it writes a record, the line contains only the start of the
// record. The next agent can write its first record to the same line. readRecord returns this second record, if there
// is one. If the line contains an incomplete record, the result "whole" is false.
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
