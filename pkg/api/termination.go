package api

import "github.com/podlapse/podlapse/pkg/timeline"

// TerminationRecord describes how one pod ends or has ended. Lists are never null. JSON omits values that are unknown
// or do not apply.
type TerminationRecord struct {
	RequestedAt Instant `json:"requested_at"`
	GoneAt      Instant `json:"gone_at,omitzero"`
	// Reason is the reason of the condition DisruptionTarget, for example EvictionByEvictionAPI.
	Reason string `json:"reason,omitempty"`
	// Grace is the shortest requested grace period. Grace is nil if the agent saw no grace period.
	Grace      *Seconds         `json:"grace_seconds,omitempty"`
	Total      Seconds          `json:"total_seconds"` // from RequestedAt to GoneAt, or to now if the object exists
	TotalError Seconds          `json:"total_error_seconds"`
	Verdict    string           `json:"verdict"` // one sentence for people; its wording can change
	Listed     bool             `json:"listed,omitempty"`
	Phases     []PhaseRecord    `json:"phases"` // the sum of their seconds equals total_seconds exactly
	Containers []StopRecord     `json:"containers"`
	Conflicts  []ConflictRecord `json:"conflicts"`
	Missing    []string         `json:"missing"`
}

// StopRecord describes how one container ended.
type StopRecord struct {
	Container string                 `json:"container"`
	Kind      timeline.ContainerKind `json:"kind"`
	How       timeline.StopKind      `json:"how"`
	StoppedAt Instant                `json:"stopped_at,omitzero"`
	// Used is the time from the kubelet's first reaction to the deletion request until the container stopped. Error is
	// the error bound of Used. If Used is unknown, Used and Error are nil. Used and Error are also nil if the container
	// stopped long after its grace period, or if the kubelet sent another stop request more than 1 s after the first.
	Used        *Seconds          `json:"grace_used_seconds,omitempty"`
	Error       *Seconds          `json:"error_seconds,omitempty"`
	ExitCode    *int              `json:"exit_code,omitempty"`
	Signal      int               `json:"signal,omitempty"` // from the exit code: for example, 9 for exit code 137
	Reason      string            `json:"reason,omitempty"`
	PreStopHook bool              `json:"pre_stop_hook,omitempty"`
	Sources     []timeline.Source `json:"sources"`
}

// TerminationLine is the line on standard output for a pod's termination.
type TerminationLine struct {
	ID          string            `json:"id"` // ID of the pod's start-up
	Namespace   string            `json:"namespace"`
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Node        string            `json:"node"`
	Owner       OwnerRecord       `json:"owner,omitzero"`
	Termination TerminationRecord `json:"termination"`
}

// NewTerminationLine converts the termination of a deleted pod. NewTerminationLine returns nil if the agent did
// not follow the termination.
func NewTerminationLine(t timeline.Timeline) *TerminationLine {
	if t.Termination == nil {
		return nil
	}
	return &TerminationLine{
		ID: t.ID(), Namespace: t.Namespace, Name: t.Name, UID: t.UID, Node: t.Node, Owner: OwnerRecord(t.Owner),
		Termination: *terminationRecord(t.Termination),
	}
}

// terminationRecord converts a termination, or returns nil if the termination is nil.
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
	if t.Grace > 0 || t.ZeroGrace {
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
