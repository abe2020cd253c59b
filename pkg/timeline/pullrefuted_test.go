package timeline

import (
	"fmt"
	"testing"
	"time"
)

// TestForgedPullsOfOthers holds that a forged Event about a pod of its author's own does not change the pulls of others.
func TestForgedPullsOfOthers(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	pulled := func(image string, until, length float64) EventSeen {
		return EventSeen{UID: "thief", Container: "app", Reason: "Pulled", NamedAt: second(until), FirstAt: second(until), LastAt: second(until),
			ArrivedAt: second(until + 0.01), Count: 1,
			Message: fmt.Sprintf("Successfully pulled image %q in %gs (%gs including waiting). Image size: 5 bytes.", image, length, length)}
	}
	future := pulled("x", 9, 8)
	future.ArrivedAt = second(3)
	thief := shopPod("thief", "x")
	thief.AcknowledgedAt = second(2)
	for _, test := range []struct {
		name   string
		event  EventSeen
		answer *Image
	}{
		{"an image that the container does not have", pulled("mine", 10, 7), nil},
		{"dated in the future", future, nil},
		{"begun before the pod was there", pulled("x", 10, 9), nil},
		{"over before the image was there", pulled("x", 6, 3), &Image{Ref: "x", Present: true, FirstPulledAt: second(12), PulledAt: second(12)}},
		{"of an image that is still absent", pulled("x", 6, 3), &Image{Ref: "x"}},
		{"of an image that nobody has pulled for long", pulled("x", 6, 3), &Image{Ref: "x", Present: true, FirstPulledAt: second(-99), PulledAt: second(-99)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, first := range []string{"the Event", "the answer"} {
				var log PullLog
				if first == "the Event" {
					log.Observe(test.event, thief)
				}
				if test.answer != nil {
					log.ObserveRuntime(RuntimeSeen{AskedAt: second(15), Images: []Image{*test.answer}})
				}
				if first == "the answer" {
					log.Observe(test.event, thief)
				}
				if len(log.pulls) != 0 {
					t.Errorf("%s first: the log has %+v", first, log.pulls)
				}
			}
		})
	}
}

// TestPullsOfOneNamespaceKeepRoomForOthers is of a tenant whose pods pull, or seem to pull, more than the log remembers.
func TestPullsOfOneNamespaceKeepRoomForOthers(t *testing.T) {
	var log PullLog
	observe := func(namespace string, i int) {
		uid, at := fmt.Sprint(namespace, i), base.Add(time.Duration(i)*time.Second)
		pod := shopPod(uid, "x")
		pod.Namespace = namespace
		log.Observe(EventSeen{UID: uid, Container: "app", Reason: "Pulled", NamedAt: at, FirstAt: at, LastAt: at, ArrivedAt: at, Count: 1,
			Message: `Successfully pulled image "x" in 1s (1s including waiting). Image size: 5 bytes.`}, pod)
	}
	for i := range 10 {
		observe("honest", i)
	}
	for i := range 4 * maxPullLog {
		observe("noisy", i)
	}
	honest := 0
	for _, p := range log.pulls {
		if p.blocker.Namespace == "honest" {
			honest++
		}
	}
	if honest != 10 || len(log.pulls) != maxPullLog {
		t.Errorf("%d pulls are remembered, %d of them of the quiet namespace", len(log.pulls), honest)
	}
}
