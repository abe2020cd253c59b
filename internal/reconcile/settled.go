package reconcile

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// settledStartUp is a start-up whose timeline is final. The agent keeps a settledStartUp until the pod is deleted. The
// agent packs the timeline to save memory. Only the timeline is packed, because the agent often needs the other fields.
type settledStartUp struct {
	packed   timeline.Packed // without labels
	labels   string          // Timeline.Labels; with --serve-objects, package podobjects shares this string
	endedAt  time.Time       // Timeline.SettledAt
	staticID string          // Timeline.ID of a static pod; empty for other pods
}

func newSettled(t timeline.Timeline) settledStartUp {
	s := settledStartUp{labels: t.Labels, endedAt: t.SettledAt}
	if !t.ReadAt.IsZero() {
		s.staticID = t.ID()
	}
	t.Labels = ""
	s.packed = timeline.Pack(t)
	return s
}

func (s settledStartUp) timeline() timeline.Timeline {
	t := s.packed.Timeline()
	t.Labels = s.labels
	return t
}
