package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// nodePull is one pull in a test. Its times are in seconds: the kubelet's request, the request to the runtime, and the
// runtime's response. A pull is running if "until" is 0. A completed pull failed if "from" is 0.
type nodePull struct{ wanted, from, until float64 }

// nodeLog returns a log with the given pulls, in the order of their ends. Each pull belongs to a different pod.
func nodeLog(pulls map[string]nodePull) (log PullLog) {
	observePulls(&log, pulls)
	return log
}

func observePulls(log *PullLog, pulls map[string]nodePull) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	observe := func(name, reason, message string, s float64) {
		log.Observe(EventSeen{UID: name, Container: "app", Reason: reason, Message: message, NamedAt: second(s),
			LastAt: second(s), Count: 1},
			Pod{UID: name, Namespace: "shop", Name: name, Containers: []Container{{Name: "app", Image: name}}})
	}
	for name, p := range pulls {
		observe(name, "Pulling", fmt.Sprintf("Pulling image %q", name), p.wanted)
	}
	for name, p := range pulls {
		switch {
		case p.until == 0:
		case p.from == 0:
			observe(name, "Failed", fmt.Sprintf("Failed to pull image %q: no", name), p.until)
		default:
			const message = "Successfully pulled image %q in %dms (%dms including waiting). Image size: 5 bytes."
			pull, waiting := int(1000*(p.until-p.from)), int(1000*(p.until-p.wanted))
			observe(name, "Pulled", fmt.Sprintf(message, name, pull, waiting), p.until)
		}
	}
}

// timelineOf returns the timeline of a pod that has only this pull.
func (n nodePull) timelineOf(uid string, layers ...Layer) *Timeline {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	p := Pull{Container: "app", Image: uid, Registry: "r.example", Outcome: imagepull.OutcomeDownloaded, Timed: true,
		QueueTimed:  true,
		RequestedAt: second(n.wanted), StartedAt: second(n.from), FinishedAt: second(n.until), Layers: layers}
	p.Queue, p.Pull = p.StartedAt.Sub(p.RequestedAt), p.FinishedAt.Sub(p.StartedAt)
	if len(layers) > 0 {
		p.DownloadedAt = lastDownload(layers)
	}
	return &Timeline{UID: uid, Pulls: []Pull{p}}
}

// TestQueueByEvidence checks the reasons for a pull's wait and the number of parallel pulls. Both depend on the node's
// pull settings, which only the node's pulls show.
func TestQueueByEvidence(t *testing.T) {
	for name, test := range map[string]struct {
		pulls         map[string]nodePull
		me            nodePull
		blocker       string
		ahead, beside int
	}{
		"one after the other": {
			pulls: map[string]nodePull{"a": {0, 0.1, 10}, "b": {1, 10, 12}}, me: nodePull{2, 12, 13},
			blocker: "a", ahead: 2,
		},
		"one after the other, the second failed": { // the failed pull began when the first pull ended
			pulls: map[string]nodePull{"a": {0, 0.1, 10}, "b": {1, 0, 30}}, me: nodePull{2, 30, 31},
			blocker: "b", ahead: 2,
		},
		"all at once": {
			pulls:  map[string]nodePull{"a": {0, 0.01, 10}, "b": {1, 1.01, 12}, "c": {1, 1.01, 3}},
			me:     nodePull{2, 2.01, 13},
			beside: 3,
		},
		"parallel, on a node that lacks CPU": { // the pull waited, but not for the end of another pull
			pulls: map[string]nodePull{"a": {0, 0.01, 8}, "b": {1, 1.01, 12}}, me: nodePull{7.5, 9, 13},
			beside: 1,
		},
		// The failed pull and the pull in progress ran from their requests, because no pull ever waited.
		"in parallel, one failed and one in progress": {
			pulls:  map[string]nodePull{"a": {0, 0.01, 10}, "b": {1, 1.01, 12}, "c": {1, 0, 9}, "d": {3, 0, 0}},
			me:     nodePull{2, 2.01, 13},
			beside: 4,
		},
		"possibly serial": { // no pull waited for long, so the node's settings are unknown
			pulls: map[string]nodePull{"a": {0, 0.1, 3}}, me: nodePull{2.5, 3, 4},
		},
		"two in parallel": { // the two other pulls were requested earlier, and one of them is still running
			pulls: map[string]nodePull{"a": {0, 0.1, 20}, "b": {0, 0.1, 10}}, me: nodePull{2, 10, 13},
			ahead: 2, beside: 1,
		},
		"two in parallel, one in progress": {
			// The kubelet requested the pull "a" first, but this pull began before "a" ended. So the node does not pull
			// one image after the other.
			pulls: map[string]nodePull{"a": {0, 0, 0}, "b": {0, 0.1, 10}}, me: nodePull{2, 10, 13},
		},
		// The start of the failed pull is unknown, but the pull was certainly running immediately before its end.
		"three in parallel, one failed": {
			pulls: map[string]nodePull{"a": {0, 0.1, 20}, "b": {0, 0.1, 10}, "c": {1, 0, 12}}, me: nodePull{2, 10, 13},
			ahead: 3, beside: 2,
		},
		// Before the configuration changed, the node pulled all images in parallel.
		"serial, since the kubelet's configuration changed": {
			pulls:   map[string]nodePull{"x": {-60, -59.9, -30}, "y": {-60, -59.9, -30}, "a": {0, 0.1, 10}},
			me:      nodePull{2, 10, 13},
			blocker: "a", ahead: 1,
		},
		"parallel, since the kubelet's configuration changed": {
			pulls: map[string]nodePull{"x": {-60, -59.9, -50}, "y": {-59, -50, -40}, "a": {0, 0.1, 10},
				"b": {0, 0.1, 12}},
			me:     nodePull{2, 2.1, 13},
			beside: 2,
		},
		"behind unknown pulls for most of the wait": {
			pulls: map[string]nodePull{"a": {0, 0.1, 10}, "b": {5, 59, 60}}, me: nodePull{4, 60, 61},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // maps have a random order, so the Events arrive in many orders
				log, tl := nodeLog(test.pulls), test.me.timelineOf("me")
				log.Complete(tl)
				got := tl.Pulls[0]
				if blocker := got.BlockedBy; (blocker == nil) != (test.blocker == "") ||
					blocker != nil && blocker.Image != test.blocker {
					t.Fatalf("blocked by %+v, want %q", blocker, test.blocker)
				}
				if got.Ahead != test.ahead || got.Beside != test.beside {
					t.Fatalf("%d ahead, %d beside, want %d and %d", got.Ahead, got.Beside, test.ahead, test.beside)
				}
			}
		})
	}
}

// TestVerdictNamesParallelPulls checks eight pulls that share the node's network link. If the verdict names the
// registry, it must also mention the parallel pulls.
func TestVerdictNamesParallelPulls(t *testing.T) {
	pulls := map[string]nodePull{}
	for i := range 8 {
		pulls[fmt.Sprint("pod-", i)] = nodePull{0, 0.01, 60}
	}
	log := nodeLog(pulls)
	layer := Layer{Digest: "sha256:own", SizeBytes: 48 << 20, DownloadedAt: base.Add(60 * time.Second)}
	tl := pulls["pod-3"].timelineOf("pod-3", layer)
	tl.State, tl.Total = StateReady, 61*time.Second
	tl.Phases = []Span{{Phase: PhasePull, Container: "app", StartAt: base, EndAt: base.Add(60 * time.Second)}}
	log.Complete(tl)
	const want = "61.0 s to ready: 60.0 s pulling from r.example or its mirror at 0.8 MiB/s alongside 7 other pulls; " +
		"±0.0 s"
	if got := tl.Verdict(); got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
}

// TestVerdictOfReplicas checks two pods with the same image. On a node that pulls one image at a time, the second pod
// waits until the pull of the first pod ends.
func TestVerdictOfReplicas(t *testing.T) {
	log := nodeLog(map[string]nodePull{"r.example/web:1": {0, 0.01, 12}})
	tl := nodePull{1, 12, 12.1}.timelineOf("second")
	tl.Pulls[0].Image = "r.example/web:1"
	tl.State, tl.Total = StateReady, 12*time.Second
	tl.Phases = []Span{{Phase: PhasePullQueue, Container: "app", StartAt: base.Add(time.Second),
		EndAt: base.Add(12 * time.Second)}}
	log.Complete(tl)
	const want = "12.0 s to ready: 11.0 s waiting for an image that another pod was already pulling from r.example " +
		"or its mirror; ±0.0 s"
	if got := tl.Verdict(); got != want {
		t.Errorf("verdict %q, want %q", got, want)
	}
}

// TestRateExcludesEarlierContent checks that content from an earlier pull does not count for the rate of this
// pull.
func TestRateExcludesEarlierContent(t *testing.T) {
	shared := Layer{Digest: "sha256:shared", SizeBytes: 90 << 20, DownloadedAt: base.Add(10 * time.Second)}
	own := Layer{Digest: "sha256:own", SizeBytes: 10 << 20, DownloadedAt: base.Add(19 * time.Second)}
	for name, test := range map[string]struct {
		other   nodePull
		settled []Layer // layers that the other pull certainly downloaded; nil if unknown
		layers  []Layer
		rated   bool
	}{
		"its layers are unknown": {nodePull{0, 0.01, 11}, nil, []Layer{shared, own}, false},
		"shares a layer":         {nodePull{0, 0.01, 11}, []Layer{shared}, []Layer{shared, own}, false},
		"downloaded other layers": {nodePull{0, 0.01, 11},
			[]Layer{{Digest: "sha256:other", DownloadedAt: base.Add(time.Second)}}, []Layer{shared, own}, true},
		"all layers downloaded afterwards": {nodePull{0, 0.01, 11}, nil, []Layer{own}, true},
		"failed":                           {nodePull{0, 0, 11}, nil, []Layer{own}, false},
		"in progress":                      {nodePull{0, 0, 0}, nil, []Layer{own}, false},
		"had just started":                 {nodePull{8.9, 8.91, 20}, nil, []Layer{shared, own}, true},
		"already over":                     {nodePull{0, 0.01, 8}, nil, []Layer{shared, own}, true},
		"started after this pull":          {nodePull{10, 10.01, 15}, nil, []Layer{shared, own}, true},
	} {
		t.Run(name, func(t *testing.T) {
			me := nodePull{9, 9.01, 20}
			log := nodeLog(map[string]nodePull{"other": test.other})
			if test.settled != nil {
				log.Settle(*test.other.timelineOf("other", test.settled...))
			}
			tl := me.timelineOf("me", test.layers...)
			log.Complete(tl)
			if p := tl.Pulls[0]; p.hasRate() != test.rated || p.Sized() != test.rated {
				t.Errorf("rated %t, sized %t, want %t: %+v", p.hasRate(), p.Sized(), test.rated, p)
			}
		})
	}
}

// TestResumedUnlessOtherPullWasRunning checks pulls whose manifest was already present. Either an attempt was
// interrupted, or another pull of the image was running.
func TestResumedUnlessOtherPullWasRunning(t *testing.T) {
	layer := Layer{Digest: "sha256:a", SizeBytes: 1 << 20, DownloadedAt: base.Add(12 * time.Second)}
	for name, test := range map[string]struct {
		other   nodePull
		resumed bool
	}{
		"of the same image, at the same time": {nodePull{0, 0.01, 11}, false},
		"a failed pull":                       {nodePull{0, 0, 11}, true},
		"a completed pull":                    {nodePull{0, 0.01, 8}, true},
	} {
		t.Run(name, func(t *testing.T) {
			log := nodeLog(map[string]nodePull{"image": test.other})
			tl := nodePull{9, 9.01, 20}.timelineOf("me", layer)
			tl.Pulls[0].Image, tl.Pulls[0].Resumed = "image", true
			log.Complete(tl)
			if p := tl.Pulls[0]; p.Resumed != test.resumed || p.Rate() != 0 {
				t.Errorf("resumed %t, want %t; %.0f bytes a second", p.Resumed, test.resumed, p.Rate())
			}
		})
	}
}
