package workload

import (
	"cmp"
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// interval is a duration with its bounds. The true duration is at least low and at most high.
type interval struct{ estimate, low, high time.Duration }

// work identifies a part of a start-up by its phase and its cause.
type work struct {
	phase timeline.Phase
	cause timeline.Cause
}

// share is the time that a record assigns to one phase with one cause.
type share struct {
	length, err time.Duration
	// The fields proven and provenErr include only time that certainly belongs to this phase.
	proven, provenErr time.Duration
}

// sample is one completed start-up with a known duration.
type sample struct {
	record *api.Record
	total  interval
	shares map[work]share
	// For each phase, possible contains the time that the record assigns to other phases, but that might belong to this
	// phase: see timeline.Span.MergedWith.
	possible map[timeline.Phase]time.Duration
	anywhere time.Duration // unattributed time that can belong to any phase
	image    imageState
}

// imageState describes whether a start-up had to pull an image.
type imageState uint8

const (
	imageUnknown imageState = iota
	imagePresent            // the node had all images
	imagePulled             // at least one image was not on the node
)

// maxTotal is the longest accepted duration. An untrusted server can send any duration. Without this limit, bounds
// could overflow.
const maxTotal = 10 * 365 * 24 * time.Hour

// newSample returns the sample of a record. The result is false if the duration of the start-up is unknown.
func newSample(record *api.Record) (*sample, bool) {
	total, bound := record.Total.Duration(), record.TotalError.Duration()
	if !record.HasDuration() || total > maxTotal {
		return nil, false
	}
	s := &sample{
		record: record, total: interval{total, total - bound, total + bound},
		shares: map[work]share{}, possible: map[timeline.Phase]time.Duration{}, image: imageOf(record.Pulls),
	}
	rest := total
	for _, phase := range record.Phases {
		length, bound := phase.Length.Duration(), phase.Error.Duration()
		if length < 0 || bound < 0 || length > rest {
			return nil, false // the phases of a valid record add up to the total
		}
		rest -= length
		s.addPhase(phase, length, bound)
	}
	if rest > 0 {
		s.addPhase(api.PhaseRecord{Phase: timeline.PhaseUnattributed, Cause: timeline.CauseUnknown}, rest, 0)
	}
	return s, true
}

// addPhase adds the time of one phase to the sample. addPhase limits each error bound to the longest possible duration
// of the start-up, because an untrusted server can send any error bound.
func (s *sample) addPhase(phase api.PhaseRecord, length, bound time.Duration) {
	capped := func(d time.Duration) time.Duration { return min(d, s.total.high) }
	bound = capped(bound)
	key := work{phase.Phase, phase.Cause}
	of := s.shares[key]
	of.length, of.err = of.length+length, capped(of.err+bound)
	// A group phase, such as image_pull, stands for several phases. The time of a group phase certainly belongs to its
	// group.
	if len(phase.MergedWith) == 0 || len(timeline.MembersOf(phase.Phase)) > 0 {
		of.proven, of.provenErr = of.proven+length, capped(of.provenErr+bound)
	}
	s.shares[key] = of
	if phase.Phase == timeline.PhaseUnattributed && len(phase.MergedWith) == 0 {
		s.anywhere = capped(s.anywhere + length + bound)
	}
	for _, other := range phase.MergedWith {
		if other != phase.Phase {
			s.possible[other] = capped(s.possible[other] + length + bound)
		}
	}
}

// timeOf returns the time of one phase with one cause. The lower bound excludes all time that might belong to another
// phase. The upper bound includes all time that might belong to this phase. For a group phase such as image_pull, the
// upper bound also includes the time of the group's members, such as pull and unpack. The reason is that one record can
// contain the group phase where another record contains its members.
func (s *sample) timeOf(key work) interval {
	of := s.shares[key]
	members := timeline.MembersOf(key.phase)
	var asMembers time.Duration
	for other, share := range s.shares {
		if slices.Contains(members, other.phase) {
			asMembers = min(asMembers+share.length+share.err, s.total.high)
		}
	}
	return interval{of.length, max(of.proven-of.provenErr, 0),
		of.length + of.err + s.possible[key.phase] + s.anywhere + asMembers}
}

// imageOf returns whether the pod had to pull an image. Pulls of ephemeral containers are not part of the start-up.
func imageOf(pulls []api.PullRecord) imageState {
	state := imageUnknown
	for _, pull := range pulls {
		if pull.Kind == timeline.KindEphemeral {
			continue
		}
		switch pull.Outcome {
		case imagepull.OutcomeDownloaded, imagepull.OutcomeJoined, imagepull.OutcomeFailed:
			return imagePulled
		case imagepull.OutcomePresent, imagepull.OutcomeVerified:
			state = imagePresent
		}
	}
	uncertain := func(p api.PullRecord) bool {
		return p.Kind != timeline.KindEphemeral && p.Outcome != imagepull.OutcomePresent &&
			p.Outcome != imagepull.OutcomeVerified
	}
	if slices.ContainsFunc(pulls, uncertain) {
		return imageUnknown
	}
	return state
}

// unique returns each start-up once, ordered by creation. If a start-up has several records, unique keeps the latest
// record.
func unique(records []api.Record) []*api.Record {
	kept := make([]*api.Record, 0, len(records))
	for i := range records {
		kept = append(kept, &records[i])
	}
	// If the first comparisons find no difference, the last comparisons decide. So the result does not depend on the
	// order of the input.
	slices.SortFunc(kept, func(a, b *api.Record) int {
		return cmp.Or(lastFirst(a.Partial, b.Partial), b.SettledAt.Compare(a.SettledAt.Time), byCreation(a, b),
			cmp.Compare(a.State, b.State), cmp.Compare(a.Total, b.Total), cmp.Compare(a.TotalError, b.TotalError))
	})
	seen := map[string]bool{}
	kept = slices.DeleteFunc(kept, func(r *api.Record) bool {
		key := cmp.Or(r.ID, r.Namespace+"/"+r.Name+"/"+r.UID)
		before := seen[key]
		seen[key] = true
		return before
	})
	slices.SortFunc(kept, byCreation)
	return kept
}

func byCreation(a, b *api.Record) int {
	return cmp.Or(a.CreatedAt.Compare(b.CreatedAt.Time), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID), cmp.Compare(a.Node, b.Node))
}

// lastFirst sorts the final record of a start-up before its partial records: see api.Record.Partial.
func lastFirst(partialA, partialB bool) int {
	switch {
	case partialA == partialB:
		return 0
	case partialB:
		return -1
	}
	return 1
}
