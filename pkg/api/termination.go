package api

import "github.com/podlapse/podlapse/pkg/timeline"

// TerminationRecord is how one pod ended, or ends. Lists are never null. Values that are unknown or do not apply are
// omitted.
type TerminationRecord struct {
	RequestedAt Instant `json:"requested_at"`
	GoneAt      Instant `json:"gone_at,omitzero"`
	Reason      string  `json:"reason,omitempty"` // of the condition DisruptionTarget, e.g. EvictionByEvictionAPI
	// Grace is the shortest grace period that was requested; nil if none was seen.
	Grace      *Seconds         `json:"grace_seconds,omitempty"`
	Total      Seconds          `json:"total_seconds"` // so far, while the object exists
	TotalError Seconds          `json:"total_error_seconds"`
	Verdict    string           `json:"verdict"` // one sentence for people; its wording may change
	Listed     bool             `json:"listed,omitempty"`
	Phases     []PhaseRecord    `json:"phases"` // their seconds add up to total_seconds exactly
	Containers []StopRecord     `json:"containers"`
	Conflicts  []ConflictRecord `json:"conflicts"`
	Missing    []string         `json:"missing"`
}

// StopRecord is how one container ended.
type StopRecord struct {
	Container   string                 `json:"container"`
	Kind        timeline.ContainerKind `json:"kind"`
	How         timeline.How           `json:"how"`
	StoppedAt   Instant                `json:"stopped_at,omitzero"`
	Used        *Seconds               `json:"grace_used_seconds,omitempty"` // nil if not timed, like the one below
	Error       *Seconds               `json:"error_seconds,omitempty"`
	ExitCode    *int                   `json:"exit_code,omitempty"`
	Signal      int                    `json:"signal,omitempty"` // by the exit code
	Reason      string                 `json:"reason,omitempty"`
	PreStopHook bool                   `json:"pre_stop_hook,omitempty"`
	Sources     []timeline.Source      `json:"sources"`
}

// TerminationLine is a pod's termination alone, for standard output.
type TerminationLine struct {
	ID          string            `json:"id"` // of its start-up
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Node        string            `json:"node"`
	Owner       OwnerRecord       `json:"owner,omitzero"`
	Termination TerminationRecord `json:"termination"`
}

// NewTerminationLine converts the termination of a deleted pod; nil if it was not followed.
func NewTerminationLine(t timeline.Timeline) *TerminationLine {
	if t.Termination == nil {
		return nil
	}
	return &TerminationLine{
		ID: t.ID(), Namespace: t.Namespace, Name: t.Name, UID: t.UID, Node: t.Node, Owner: OwnerRecord(t.Owner),
		Termination: *terminationRecord(t.Termination),
	}
}

// terminationRecord converts a termination; nil if there is none.
func terminationRecord(t *timeline.Termination) *TerminationRecord {
	if t == nil {
		return nil
	}
	r := &TerminationRecord{
		RequestedAt: InstantOf(t.RequestedAt), GoneAt: InstantOf(t.GoneAt), Reason: t.Reason,
		Total: Seconds(t.Total), TotalError: Seconds(t.TotalError), Verdict: t.Verdict(), Listed: t.Listed,
		Phases: convert(t.Phases, phaseRecord), Containers: convert(t.Stops, stopRecord),
		Missing: convert(t.Missing, same),
		Conflicts: convert(t.Conflicts, func(c timeline.TerminationConflict) ConflictRecord {
			return ConflictRecord(c)
		}),
	}
	if t.Grace > 0 || t.Hurried {
		r.Grace = new(Seconds(t.Grace))
	}
	return r
}

func stopRecord(s timeline.Stop) StopRecord {
	r := StopRecord{
		Container: s.Container, Kind: s.Kind, How: s.How, StoppedAt: InstantOf(s.StoppedAt), Signal: s.Signal,
		Reason: s.Reason, PreStopHook: s.PreStopHook, Sources: convert(s.Sources, same),
	}
	if s.Timed {
		r.Used, r.Error = new(Seconds(s.Used)), new(Seconds(s.Error))
	}
	if s.Exited {
		r.ExitCode = new(s.ExitCode)
	}
	return r
}
