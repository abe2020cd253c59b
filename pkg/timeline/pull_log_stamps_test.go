package timeline

import (
	"testing"
	"time"
)

// TestStampOfOtherPull completes the timeline of a script with a pull of another pod. The pull of the script seems to
// end at the image's timestamp of 1.390. But if another pod's pull wrote this timestamp, the pull of the script might
// have ended up to 250 ms before the kubelet's Event of 1.400.
func TestStampOfOtherPull(t *testing.T) {
	for name, test := range map[string]struct {
		log   PullLog
		other otherPodsPull
		wide  bool
	}{
		"no other pull":      {},
		"soon after":         {other: otherPodsPull{image: "base", from: 1, until: 1.4}, wide: true},
		"long after":         {other: otherPodsPull{image: "base", from: 1, until: 1.7}},
		"before":             {other: otherPodsPull{image: "base", from: 1, until: 1.3}},
		"another image":      {other: otherPodsPull{image: "y", from: 1, until: 1.4}},
		"failed":             {other: otherPodsPull{image: "base", from: 1, until: 1.4, failed: true}},
		"one pull at a time": {log: serialLog(), other: otherPodsPull{image: "base", from: 1.38, until: 1.4}},
	} {
		t.Run(name, func(t *testing.T) {
			log := test.log
			if test.other.image != "" {
				test.other.observe(&log, "other")
			}
			tl := foldScript(t, "always-verified-shortly-before-event")
			log.Complete(&tl)
			log.Complete(&tl)                          // the second call changes nothing
			ended := base.Add(1200 * time.Millisecond) // the actual end if the timestamp belongs to the other pull
			milestone := tl.Milestones[milestoneIndex(tl, MilestonePullFinished)]
			if contains := !milestone.Earliest.After(ended); contains != test.wide {
				t.Errorf("the pull ended at %v at the earliest", milestone.Earliest)
			}
			p := tl.Pulls[0]
			if wide := p.Pull-p.Error <= ended.Sub(p.StartedAt); wide != test.wide || p.Error > 300*time.Millisecond {
				t.Errorf("the pull took %v ± %v", p.Pull, p.Error)
			}
			for _, s := range tl.Phases {
				if s.EndAt.Equal(p.FinishedAt) || s.StartAt.Equal(p.FinishedAt) {
					if wide := s.Error >= p.FinishedAt.Sub(ended); wide != test.wide {
						t.Errorf("%s takes %v ± %v", s.Phase, s.Duration(), s.Error)
					}
				}
			}
		})
	}
}

func milestoneIndex(tl Timeline, m Milestone) int {
	for i, evidence := range tl.Milestones {
		if evidence.Milestone == m {
			return i
		}
	}
	return -1
}
