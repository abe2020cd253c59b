package export

import (
	"slices"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// NewRecord prints a timeline as a record. It shares nothing with the timeline that could change.
func NewRecord(t timeline.Timeline) Record {
	return Record{
		ID:            t.ID(),
		Namespace:     t.Namespace,
		Name:          t.Name,
		UID:           t.UID,
		Node:          t.Node,
		Owner:         OwnerRecord(t.Owner),
		State:         t.State,
		Reason:        t.Reason,
		CreatedAt:     instantOf(t.CreatedAt),
		SettledAt:     instantOf(t.SettledAt),
		Total:         Seconds(t.Total),
		TotalError:    Seconds(t.TotalError),
		Verdict:       t.Verdict(),
		Reconstructed: t.Reconstructed,
		Phases:        convert(t.Phases, phaseRecord),
		Pulls:         convert(t.Pulls, pullRecord),
		Marks:         convert(t.Marks, markRecord),
		Conflicts:     convert(t.Conflicts, conflictRecord),
		Missing:       convert(t.Missing, same),
		ClockSkew:     skewRecord(t.Skew),
	}
}

func skewRecord(s timeline.Skew) *SkewRecord {
	if !s.Proven() {
		return nil
	}
	return &SkewRecord{Seconds(s.Least), Seconds(s.Most)}
}

// NewRecordList prints timelines in their order.
func NewRecordList(timelines []timeline.Timeline) RecordList {
	return RecordList{Items: convert(timelines, NewRecord)}
}

func phaseRecord(s timeline.Span) PhaseRecord {
	start, end := instantOf(s.StartAt), instantOf(s.EndAt)
	return PhaseRecord{
		Phase:      s.Phase,
		Cause:      s.Cause,
		Container:  s.Container,
		Attempt:    s.Attempt,
		StartAt:    start,
		EndAt:      end,
		Length:     Seconds(end.Sub(start.Time)),
		Error:      Seconds(s.Error),
		Open:       s.Open,
		Sources:    convert(s.Sources, same),
		MergedWith: slices.Clone(s.MergedWith),
	}
}

func pullRecord(p timeline.Pull) PullRecord {
	r := PullRecord{
		Container:   p.Container,
		Image:       p.Image,
		Registry:    p.Registry,
		Digest:      p.Digest,
		Outcome:     p.Outcome,
		RequestedAt: instantOf(p.RequestedAt),
		StartedAt:   instantOf(p.StartedAt),
		FinishedAt:  instantOf(p.FinishedAt),
		SizeBytes:   p.SizeBytes,
		Sources:     convert(p.Sources, same),
		Attempt:     p.Attempt,
	}
	if p.Timed {
		r.Queue, r.Pull, r.Error = new(Seconds(p.Queue)), new(Seconds(p.Pull)), new(Seconds(p.Error))
	}
	return r
}

func markRecord(m timeline.MarkEvidence) MarkRecord {
	return MarkRecord{
		Mark:      m.Mark.String(),
		Container: m.Container,
		Attempt:   m.Attempt,
		Earliest:  instantOf(m.Earliest),
		Latest:    instantOf(m.Latest),
		Sources:   convert(m.Sources, same),
	}
}

func conflictRecord(c timeline.Conflict) ConflictRecord {
	return ConflictRecord{Mark: c.Mark.String(), Container: c.Container, Detail: c.Detail}
}

// convert maps a list to one that is never nil, so that JSON never shows null.
func convert[A, B any](list []A, one func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, one(a))
	}
	return out
}

func same[A any](a A) A { return a }
