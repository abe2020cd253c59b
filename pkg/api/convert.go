package api

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"

	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// NewRecord converts a timeline to a record. The record shares no mutable data with the timeline.
func NewRecord(t timeline.Timeline) Record {
	return Record{
		ID:            t.ID(),
		Namespace:     t.Namespace,
		Name:          t.Name,
		UID:           t.UID,
		Node:          t.Node,
		Owner:         OwnerRecord(t.Owner),
		Revision:      t.Revision,
		State:         t.State,
		Reason:        t.Reason,
		Partial:       t.Partial,
		CreatedAt:     InstantOf(t.CreatedAt),
		SettledAt:     InstantOf(t.SettledAt),
		Total:         Seconds(t.Total),
		TotalError:    Seconds(t.TotalError),
		Verdict:       t.Verdict(),
		Reconstructed: t.Reconstructed,
		Phases:        convert(t.Phases, phaseRecord),
		Pulls:         PullRecords(t),
		Probes:        probeRecords(t.Probes),
		Milestones:    convert(t.Milestones, milestoneRecord),
		Conflicts:     convert(t.Conflicts, conflictRecord),
		Missing:       convert(t.Missing, same),
		Unreported:    slices.Clone(t.Unreported),
		LostEvents:    slices.Clone(t.LostEvents),
		Events:        eventRecords(t.EventMessage),
		ClockSkew:     Skew(t.Skew),
		Termination:   terminationRecord(t.Termination),
	}
}

// probeRecords returns nil for an empty list, so that JSON omits the list.
func probeRecords(probes []timeline.Probe) []ProbeRecord {
	if len(probes) == 0 {
		return nil
	}
	return convert(probes, func(p timeline.Probe) ProbeRecord {
		return ProbeRecord{Container: p.Container, Kind: p.Kind, InitialDelay: Seconds(p.InitialDelay),
			Period: Seconds(p.Period), Timeout: Seconds(p.Timeout), SuccessThreshold: p.Successes}
	})
}

// Skew converts the clock skew to a record. Skew returns nil if the skew is not proven.
func Skew(s timeline.Skew) *SkewRecord {
	if !s.Proven() {
		return nil
	}
	return &SkewRecord{Seconds(s.Least), Seconds(s.Most)}
}

func phaseRecord(s timeline.Span) PhaseRecord {
	start, end := InstantOf(s.StartAt), InstantOf(s.EndAt)
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
		Pressure:   pressureRecord(s.Pressure),

		ImageLoading: s.ImageLoading,
	}
}

func pressureRecord(p *timeline.Pressure) *PressureRecord {
	if p == nil {
		return nil
	}
	thousandths := func(share float64) float64 { return math.Round(1000*share) / 1000 }
	return &PressureRecord{thousandths(p.CPU), thousandths(p.IO), thousandths(p.Memory)}
}

func pullRecord(p timeline.Pull) PullRecord {
	r := PullRecord{
		Container:    p.Container,
		Kind:         p.Kind,
		Image:        p.Image,
		Registry:     p.Registry,
		Digest:       p.Digest,
		Outcome:      p.Outcome,
		Failure:      p.Failure,
		Unconfirmed:  p.Unconfirmed,
		DownloadedAt: InstantOf(p.DownloadedAt),
		RequestedAt:  InstantOf(p.RequestedAt),
		StartedAt:    InstantOf(p.StartedAt),
		FinishedAt:   InstantOf(p.FinishedAt),
		SizeBytes:    p.SizeBytes,
		Sources:      convert(p.Sources, same),
		Attempt:      p.Attempt,
		Lazy:         p.Lazy,
		Resumed:      p.Resumed,
		Sized:        p.Sized(),
		PullsAhead:   p.Ahead,
		PullsBeside:  p.Beside,
	}
	if p.Outcome == imagepull.OutcomeFailed && p.Error > 0 {
		r.Error = new(Seconds(p.Error))
	}
	if p.Timed {
		r.Pull, r.Error = new(Seconds(p.Pull)), new(Seconds(p.Error))
	}
	if p.QueueTimed {
		r.Queue = new(Seconds(p.Queue))
	}
	if b := p.BlockedBy; b != nil {
		r.BlockedBy = &BlockerRecord{b.Namespace, b.Pod, b.Container, b.Image, Seconds(b.Waited)}
	}
	if len(p.Layers) > 0 {
		addLayers(&r, p)
	}
	return r
}

// PullRecords converts only the pulls of a timeline.
func PullRecords(t timeline.Timeline) []PullRecord {
	return convert(slices.Concat(t.Pulls, t.EphemeralPulls), pullRecord)
}

func addLayers(r *PullRecord, p timeline.Pull) {
	r.Layers = convert(p.Layers, func(l timeline.Layer) LayerRecord {
		return LayerRecord{Digest: l.Digest, SizeBytes: l.SizeBytes, DownloadedAt: InstantOf(l.DownloadedAt),
			UnpackedAt: InstantOf(l.UnpackedAt)}
	})
	for i, shared := range p.Shared {
		r.Layers[i].Shared = shared
	}
	r.Download = &DownloadRecord{
		StartAt: r.StartedAt, EndAt: r.DownloadedAt, Length: Seconds(p.DownloadedAt.Sub(p.StartedAt)),
		Bytes: p.Bytes(), BytesPerSecond: int64(p.Rate()),
	}
	if from, to, busy := p.Unpacking(); busy > 0 {
		r.Unpack = &UnpackRecord{InstantOf(from), InstantOf(to), Seconds(busy)}
	}
}

func milestoneRecord(m timeline.MilestoneEvidence) MilestoneRecord {
	return MilestoneRecord{
		Milestone: m.Milestone.String(),
		Container: m.Container,
		Attempt:   m.Attempt,
		Earliest:  InstantOf(m.Earliest),
		Latest:    InstantOf(m.Latest),
		Sources:   convert(m.Sources, same),
	}
}

// eventRecords returns nil if the list is empty. Package redact has already removed credentials and container
// output from the messages.
func eventRecords(messages []timeline.EventMessage) []EventRecord {
	if len(messages) == 0 {
		return nil
	}
	return convert(messages, func(s timeline.EventMessage) EventRecord {
		return EventRecord{At: InstantOf(s.At), Container: s.Container, Reason: s.Reason, Message: s.Message}
	})
}

func conflictRecord(c timeline.Conflict) ConflictRecord {
	return ConflictRecord{Milestone: c.Milestone.String(), Container: c.Container, Detail: c.Detail}
}

// convert converts each element of a list. convert never returns nil, so that JSON never contains null.
func convert[A, B any](list []A, one func(A) B) []B {
	out := make([]B, 0, len(list))
	for _, a := range list {
		out = append(out, one(a))
	}
	return out
}

func same[A any](a A) A { return a }

// EncodeLine encodes a value as one line of JSON, without the line break.
func EncodeLine(value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // without HTML escapes, image references and messages stay readable
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line.Bytes(), []byte("\n")), nil
}
