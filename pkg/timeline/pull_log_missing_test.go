package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// TestDownloadOfOtherPod checks the outcome of a pull that no Event reports. If the runtime reported for two pods that
// the image was absent, the pull of either pod can have downloaded the image.
func TestDownloadOfOtherPod(t *testing.T) {
	second := func(s int) time.Time { return base.Add(time.Duration(s) * time.Second) }
	seen := func(uid string, at int, present, sandbox bool) RuntimeSeen {
		o := RuntimeSeen{UID: uid, QueriedAt: second(at), Images: []Image{{Ref: "app:1", Present: present}}}
		if sandbox {
			o.Sandboxes = []Sandbox{{BegunAt: second(at)}}
		}
		return o
	}
	const own, other = "own", "other"
	for name, test := range map[string]struct {
		responses []RuntimeSeen
		want      imagepull.Outcome
	}{
		"one pod": {[]RuntimeSeen{seen(own, 1, false, true)}, imagepull.OutcomeDownloaded},
		"two pods": {[]RuntimeSeen{seen(own, 1, false, true), seen(other, 2, false, true), seen(own, 9, true, true)},
			imagepull.OutcomeUnknown},
		"the responses arrive in another order": {[]RuntimeSeen{seen(own, 9, true, true), seen(other, 2, false, true)},
			imagepull.OutcomeUnknown},
		"the other pod's sandbox is unknown": {[]RuntimeSeen{seen(own, 1, false, true), seen(other, 2, false, false)},
			imagepull.OutcomeUnknown},
		"the other pod had no sandbox": {[]RuntimeSeen{seen(own, 1, false, true), seen(other, 2, false, false),
			seen(other, 12, true, false)}, imagepull.OutcomeDownloaded},
		"the other pod got its sandbox later": {[]RuntimeSeen{seen(own, 1, false, true), seen(other, 2, false, false),
			seen(other, 20, true, true)}, imagepull.OutcomeDownloaded},
		"the image was removed since": {[]RuntimeSeen{seen(other, 1, false, true), seen(other, 2, true, true),
			seen(own, 3, false, true)}, imagepull.OutcomeDownloaded},
	} {
		var log PullLog
		for _, o := range test.responses {
			log.ObserveRuntime(o)
		}
		pull := Pull{Container: "app", Image: "app:1", FinishedAt: second(8), Outcome: imagepull.OutcomeDownloaded,
			absentAt: at(second(1))}
		line := Timeline{UID: own, Pulls: []Pull{pull}}
		log.Complete(&line)
		if got := line.Pulls[0].Outcome; got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
		requested := pull
		requested.RequestedAt, requested.StartedAt = second(3), second(3)
		line.Pulls = []Pull{requested}
		log.Complete(&line)
		if got := line.Pulls[0].Outcome; got != imagepull.OutcomeDownloaded {
			t.Errorf("%s, with an Event: got %s", name, got)
		}
	}
}

// TestMissingForIsBounded checks that the list of pods stays short, and that a full list counts as another pod.
func TestMissingForIsBounded(t *testing.T) {
	var log PullLog
	for i := range 100 {
		log.ObserveRuntime(RuntimeSeen{UID: fmt.Sprint("pod", i), QueriedAt: base.Add(time.Duration(i)),
			Images: []Image{{Ref: "app:1"}}})
	}
	if n := len(log.images[normalizedName("app:1")].missingFor); n != maxMissingFor {
		t.Errorf("the list contains %d pods", n)
	}
	if !log.mayBeOfOther(&Pull{Image: "app:1", FinishedAt: base}, "pod99") {
		t.Error("the full list counts as complete")
	}
}
