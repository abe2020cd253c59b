package timeline

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func TestJoinedUnderAnotherSpelling(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	for image, want := range map[string]imagepull.Outcome{
		"docker.io/library/nginx:latest": imagepull.OutcomeJoined,
		"nginx":                          imagepull.OutcomeJoined,
		"nginx:1":                        imagepull.OutcomeDownloaded,
	} {
		var log PullLog
		log.Observe(EventSeen{UID: "other", Container: "app", Reason: "Pulled", NamedAt: second(10), LastAt: second(10),
			Count:   1,
			Message: `Successfully pulled image "nginx" in 9s (9s including waiting). Image size: 5 bytes.`},
			shopPod("other", "nginx"))
		tl := Timeline{UID: "me",
			Pulls: []Pull{{Image: image, Outcome: imagepull.OutcomeDownloaded, Timed: true, QueueTimed: true,
				RequestedAt: second(2), StartedAt: second(10), FinishedAt: second(10.1)}}}
		if log.Complete(&tl); tl.Pulls[0].Outcome != want {
			t.Errorf("%s alongside a pull of nginx: %s, want %s", image, tl.Pulls[0].Outcome, want)
		}
	}
}

func TestJoinedByEvidenceOfTheOtherPull(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	for policy, want := range map[PullPolicy]imagepull.Outcome{
		// With PullIfNotPresent, the kubelet found the image absent before the other pull. This pull waited in the
		// queue during the other pull.
		PullIfNotPresent: imagepull.OutcomeJoined,
		PullAlways:       imagepull.OutcomeUnknown, // the other pull can have found the image present
	} {
		var log PullLog
		log.Observe(EventSeen{UID: "other", Container: "app", Reason: "Pulled", NamedAt: second(10), LastAt: second(10),
			Count:   1,
			Message: `Successfully pulled image "x" in 9s (9s including waiting). Image size: 5 bytes.`},
			Pod{UID: "other", Containers: []Container{{Name: "app", Image: "x", PullPolicy: policy}}})
		tl := Timeline{UID: "me",
			Pulls: []Pull{{Image: "x", Outcome: imagepull.OutcomeUnknown, Timed: true, QueueTimed: true,
				RequestedAt: second(2), StartedAt: second(10), FinishedAt: second(10.1)}}}
		if log.Complete(&tl); tl.Pulls[0].Outcome != want {
			t.Errorf("alongside a pull with policy %s: %s, want %s", policy, tl.Pulls[0].Outcome, want)
		}
		// The other pull had ended when the kubelet requested this pull. But the image was absent when the agent
		// queried the runtime, before the other pull ended.
		tl = Timeline{UID: "me",
			Pulls: []Pull{{Image: "x", Outcome: imagepull.OutcomeDownloaded, Timed: true, QueueTimed: true,
				RequestedAt: second(11), StartedAt: second(11), FinishedAt: second(11.1), absentAt: at(second(9))}}}
		if log.Complete(&tl); tl.Pulls[0].Outcome != imagepull.OutcomeJoined {
			t.Errorf("after a pull with policy %s that ended since the image was absent: %s", policy,
				tl.Pulls[0].Outcome)
		}
	}
}

// TestJoinedPullDownloadsNothing checks a pull that runs at the same time as another pull of the image. The outcome is
// OutcomeJoined if all content arrived during the other pull. Content that arrived later counts as downloaded.
func TestJoinedPullDownloadsNothing(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	layer := func(digest string, at float64) Layer {
		return Layer{Digest: digest, SizeBytes: 900, DownloadedAt: second(at)}
	}
	tests := []struct {
		name    string
		reason  string
		message string
		pull    Pull
		want    imagepull.Outcome
		bytes   int64
	}{
		{name: "nothing came", pull: Pull{RequestedAt: second(2), StartedAt: second(10)},
			want: imagepull.OutcomeJoined},
		{name: "at the same time as the other pull", pull: Pull{RequestedAt: second(2), StartedAt: second(2),
			Layers: []Layer{layer("a", 5), layer("b", 9.5)}}, want: imagepull.OutcomeJoined},
		{name: "one layer more", pull: Pull{RequestedAt: second(2), StartedAt: second(2),
			Layers: []Layer{layer("a", 5), layer("b", 11)}}, want: imagepull.OutcomeDownloaded, bytes: 900},
		{name: "removed in between",
			pull: Pull{RequestedAt: second(20), StartedAt: second(20), absentAt: at(second(2)),
				Layers: []Layer{layer("a", 24)}},
			want: imagepull.OutcomeDownloaded, bytes: 900},
		{name: "the other pull ended before the image was absent",
			pull: Pull{RequestedAt: second(20), StartedAt: second(20), absentAt: at(second(15))},
			want: imagepull.OutcomeDownloaded},
		{name: "the other pull ended before this pull was requested",
			pull: Pull{RequestedAt: second(20), StartedAt: second(20)}, want: imagepull.OutcomeDownloaded},
		{name: "the other pull began later", pull: Pull{RequestedAt: second(0.5), StartedAt: second(0.5)},
			want: imagepull.OutcomeDownloaded},
		{name: "the other pull failed", reason: "Failed", message: `Failed to pull image "x": no`,
			pull: Pull{RequestedAt: second(2), StartedAt: second(10)}, want: imagepull.OutcomeDownloaded},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			other := Pod{UID: "other", Containers: []Container{{Name: "app", Image: "x", PullPolicy: PullIfNotPresent}}}
			event := EventSeen{UID: "other", Container: "app", Reason: "Pulled", NamedAt: second(10),
				LastAt:  second(10),
				Count:   1,
				Message: `Successfully pulled image "x" in 9s (9s including waiting). Image size: 5 bytes.`}
			if test.reason != "" {
				event.Reason, event.Message = test.reason, test.message
			}
			var log PullLog
			log.Observe(EventSeen{UID: "other", Container: "app", Reason: "Pulling", NamedAt: second(1),
				LastAt: second(1),
				Count:  1, Message: `Pulling image "x"`}, other)
			log.Observe(event, other)
			p := test.pull
			p.Image, p.Outcome, p.Timed, p.FinishedAt = "x", imagepull.OutcomeDownloaded, true, second(30)
			tl := Timeline{UID: "me", Pulls: []Pull{p}}
			log.Complete(&tl)
			got := tl.Pulls[0]
			if got.Outcome != test.want || got.Bytes() != test.bytes {
				t.Errorf("%s with %d bytes, want %s with %d", got.Outcome, got.Bytes(), test.want, test.bytes)
			}
			// Layers that arrived with the other pull count for the other pull, even if this pull settles first.
			log.Settle(tl)
			first := Timeline{UID: "other", Pulls: []Pull{{Image: "x", Layers: p.Layers}}}
			log.Complete(&first)
			if sum := first.Pulls[0].Bytes() + got.Bytes(); sum != int64(900*len(p.Layers)) {
				t.Errorf("%d bytes count in all", sum)
			}
		})
	}
}
