package livepull

import (
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// arriving returns a snapshot after 20 s with one pod. The kubelet requested the pod's image after 4 s, and the
// manifest arrived after 5 s.
func arriving() Snapshot {
	pod := waiting("web", "r.example/shop/web:2", "r.example", 4*time.Second)
	pod.Phases = []timeline.Span{
		{Phase: timeline.PhaseSandbox, StartAt: after(0), EndAt: after(4 * time.Second)},
		{Phase: timeline.PhaseUnattributed, Cause: timeline.CauseUnknown, Container: "app", Open: true,
			MergedWith: []timeline.Phase{timeline.PhasePullQueue, timeline.PhasePull, timeline.PhaseUnpack},
			StartAt:    after(4 * time.Second), EndAt: after(20 * time.Second)},
	}
	return Snapshot{Now: after(20 * time.Second), Starting: []timeline.Timeline{pod},
		Downloads: []imagepull.Download{{Registry: "r.example", Repository: "shop/web", Blobs: 1,
			StartedAt: after(9 * time.Second), ResolvedAt: after(5 * time.Second)}}}
}

// TestBound checks which part of an open phase a download can explain. All other time must stay unattributed.
func TestBound(t *testing.T) {
	const before = "sandbox 0s-4s"
	for name, test := range map[string]struct {
		change func(*Snapshot)
		want   []string
	}{
		"content is arriving": {func(*Snapshot) {},
			[]string{before, "unattributed 4s-5s", "pull 5s-20s open"}},
		"the time of the manifest is from an earlier attempt": {
			func(s *Snapshot) { s.Downloads[0].ResolvedAt = after(3 * time.Second) },
			[]string{before, "unattributed 4s-9s", "pull 9s-20s open"}},
		"the whole download can be from an earlier attempt": {
			func(s *Snapshot) {
				s.Downloads[0].ResolvedAt, s.Downloads[0].StartedAt = after(2*time.Second), after(3*time.Second)
			},
			[]string{before, "unattributed 4s-20s open"}},
		"the runtime is unpacking": {
			func(s *Snapshot) {
				d := &s.Downloads[0]
				d.Blobs, d.Complete, d.StartedAt, d.ArrivedAt = 0, true, d.ResolvedAt, after(12*time.Second)
			},
			[]string{before, "unattributed 4s-5s", "pull 5s-12s", "unpack 12s-20s open"}},
		"the arrival of the last byte is unknown": {
			func(s *Snapshot) {
				d := &s.Downloads[0]
				d.Blobs, d.Complete, d.StartedAt = 0, true, d.ResolvedAt
			},
			[]string{before, "unattributed 4s-20s open"}},
		"the download began after the timeline was computed": {
			func(s *Snapshot) {
				s.Downloads[0].ResolvedAt, s.Downloads[0].StartedAt = after(21*time.Second), after(21*time.Second)
			},
			[]string{before, "unattributed 4s-20s open"}},
		"another pod requests an image of the same repository": {
			func(s *Snapshot) {
				s.Starting = append(s.Starting, waiting("batch", "r.example/shop/web:3", "r.example", 6*time.Second))
			},
			[]string{before, "unattributed 4s-20s open"}},
		"a download of another image": {
			func(s *Snapshot) { s.Downloads[0].Repository = "shop/other" },
			[]string{before, "unattributed 4s-20s open"}},
		"a download of an unknown image": {
			func(s *Snapshot) { s.Downloads[0].Registry, s.Downloads[0].Repository = "", "" },
			[]string{before, "unattributed 4s-20s open"}},
		"the open phase belongs to another container": {
			func(s *Snapshot) { s.Starting[0].Phases[1].Container = "setup" },
			[]string{before, "unattributed 4s-20s open"}},
		"the evidence excludes a pull": {
			func(s *Snapshot) {
				s.Starting[0].Phases[1].MergedWith = []timeline.Phase{timeline.PhaseContainerCreate}
			},
			[]string{before, "unattributed 4s-20s open"}},
		"the phase is over": {
			func(s *Snapshot) { s.Starting[0].Phases[1].Open = false },
			[]string{before, "unattributed 4s-20s"}},
		"no downloads are known": {
			func(s *Snapshot) { s.Downloads = nil },
			[]string{before, "unattributed 4s-20s open"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := arriving()
			test.change(&s)
			var got []string
			for _, p := range s.Bound(s.Starting)[0].Phases {
				text := string(p.Phase) + " " + p.StartAt.Sub(startuptest.After(0)).String() + "-" +
					p.EndAt.Sub(startuptest.After(0)).String()
				if p.Open {
					text += " open"
				}
				got = append(got, text)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if p := s.Starting[0].Phases; len(p) != 2 || p[1].Phase != timeline.PhaseUnattributed {
				t.Errorf("Bound changed its argument: %v", p)
			}
		})
	}
}

// TestBoundError checks that the error bound of a divided phase covers the unknown start of the pull and the age of
// the download.
func TestBoundError(t *testing.T) {
	s := arriving()
	p := s.Bound(s.Starting)[0].Phases
	if got := p[1].Error; got != time.Second {
		t.Errorf("the error bound of the time before the pull is %v, want 1s", got)
	}
	if got := p[2].Error; got != time.Second+downloadAge {
		t.Errorf("the error bound of the download is %v, want %v", got, time.Second+downloadAge)
	}
}
