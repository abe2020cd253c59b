package timeline

import (
	"testing"
	"time"
)

// TestChangedImageEndsItsRequest uses a pod whose image changes during the pull of the old image. The Event about the
// end of this pull ends the request, although the spec no longer contains the image. An Event about an image that the
// pod never requested is forged.
func TestChangedImageEndsItsRequest(t *testing.T) {
	second := func(s int) time.Time { return base.Add(time.Duration(s) * time.Second) }
	event := func(reason, message string, at int) EventSeen {
		return EventSeen{UID: "a", Container: "app", Reason: reason, Message: message, NamedAt: second(at),
			LastAt: second(at), Count: 1}
	}
	for name, test := range map[string]struct {
		image  string // in the Event about the end of the pull
		beside int    // pulls beside a later pull of another pod
	}{
		"requested image": {"old", 0},
		"forged image":    {"forged", 1},
	} {
		var log PullLog
		observePulls(&log, map[string]nodePull{"x": {-60, -60, -50}, "y": {-59, -59, -51}}) // pulls run in parallel
		pod := Pod{UID: "a", Namespace: "shop", Name: "a", Containers: []Container{{Name: "app", Image: "old"}}}
		log.Observe(event("Pulling", `Pulling image "old"`, 1), pod)
		pod.Containers = []Container{{Name: "app", Image: "new"}}
		pulled := `Successfully pulled image "` + test.image + `" in 12s (12s including waiting).`
		log.Observe(event("Pulled", pulled, 13), pod)
		later := nodePull{30, 30, 40}
		observePulls(&log, map[string]nodePull{"b": later})
		tl := later.timelineOf("b")
		log.Complete(tl)
		if got := tl.Pulls[0].Beside; got != test.beside {
			t.Errorf("%s: %d pulls ran beside the later pull, want %d", name, got, test.beside)
		}
	}
}
