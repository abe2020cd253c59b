package timeline

import (
	"fmt"
	"maps"
	"testing"
	"time"
)

// TestForgedPullsOfOthers checks Events that a tenant forges about the tenant's own pod. The forged Events must not
// change the pulls of other pods.
func TestForgedPullsOfOthers(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	pulled := func(image string, until, length float64) EventSeen {
		return EventSeen{UID: "thief", Container: "app", Reason: "Pulled", NamedAt: second(until),
			FirstAt:   second(until),
			LastAt:    second(until),
			ArrivedAt: second(until + 0.01), Count: 1,
			Message: fmt.Sprintf("Successfully pulled image %q in %gs (%gs including waiting). Image size: 5 bytes.",
				image, length, length)}
	}
	future := pulled("x", 9, 6) // the Event arrives before the end of the pull
	future.ArrivedAt = second(3)
	thief := shopPod("thief", "x")
	thief.AcknowledgedAt = second(2)
	for _, test := range []struct {
		name     string
		event    EventSeen
		response *Image
	}{
		{"an image that the container does not have", pulled("mine", 10, 7), nil},
		{"dated in the future", future, nil},
		{"begun before the pod was there", pulled("x", 10, 9), nil},
		{"over before the image was there", pulled("x", 6, 3),
			&Image{Ref: "x", Present: true, FirstPulledAt: second(12), PulledAt: second(12)}},
		{"of an image that is still absent", pulled("x", 6, 3), &Image{Ref: "x"}},
		{"of an image that nobody has pulled for long", pulled("x", 6, 3),
			&Image{Ref: "x", Present: true, FirstPulledAt: second(-99), PulledAt: second(-99)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, first := range []string{"the Event", "the response"} {
				var log PullLog
				if first == "the Event" {
					log.Observe(test.event, thief)
				}
				if test.response != nil {
					log.ObserveRuntime(RuntimeSeen{QueriedAt: second(15), Images: []Image{*test.response}})
				}
				if first == "the response" {
					log.Observe(test.event, thief)
				}
				if len(log.pulls) != 0 {
					t.Errorf("%s first: the log has %+v", first, log.pulls)
				}
			}
		})
	}
}

// TestPullsOfOneNamespaceLeaveRoomForOthers simulates a tenant with more real or forged pulls than the log
// keeps.
func TestPullsOfOneNamespaceLeaveRoomForOthers(t *testing.T) {
	var log PullLog
	observe := func(namespace string, i int) {
		uid, at := fmt.Sprint(namespace, i), base.Add(time.Duration(i)*time.Second)
		pod := shopPod(uid, "x")
		pod.Namespace = namespace
		log.Observe(EventSeen{UID: uid, Container: "app", Reason: "Pulled", NamedAt: at, FirstAt: at, LastAt: at,
			ArrivedAt: at, Count: 1,
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

// TestPullsOfPodsWithoutASandbox checks Events about pulls of pods that wait for their sandbox. The Events report an
// open request, a pull in parallel with another pod's pull, and a failure. The pull and the failure must count after
// the runtime shows that the sandbox already existed, whether the Events or the runtime's responses arrive first. The
// request must count until the runtime refutes it. A forged request can only remove a blocker's name from other pods'
// pulls.
func TestPullsOfPodsWithoutASandbox(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	made := func(uid string, s float64) RuntimeSeen {
		return RuntimeSeen{UID: uid, QueriedAt: second(s + 0.1), Sandboxes: []Sandbox{{ID: uid, BegunAt: second(s)}}}
	}
	honest := map[string]nodePull{"a": {0, 0.1, 10}, "b": {1, 10, 12}}
	forgeries := map[string]nodePull{"requested": {0.5, 0, 0}, "beside": {1, 1.1, 9}, "failed": {1, 0, 11.5}}
	for name, forged := range forgeries {
		for when, test := range map[string]struct {
			queriedAt float64 // -1 if the agent never queried
			sandboxAt float64 // -1 if there is no sandbox
			counts    bool
		}{
			"never queried":     {-1, -1, name == "requested"},
			"queried too early": {0.4, -1, name == "requested"},
			"without a sandbox": {1.5, -1, false},
			"made later":        {30.1, 30, false},
			"made before":       {0.1, 0, true},
		} {
			for _, first := range []string{"Events", "runtime"} {
				var log PullLog
				observe := func() {
					for uid := range honest {
						log.ObserveRuntime(made(uid, -1))
					}
					response := RuntimeSeen{UID: name, QueriedAt: second(test.queriedAt)}
					if test.sandboxAt >= 0 {
						response.Sandboxes = []Sandbox{{ID: name, BegunAt: second(test.sandboxAt)}}
					}
					if test.queriedAt >= 0 {
						log.ObserveRuntime(response)
					}
				}
				pulls := map[string]nodePull{name: forged}
				maps.Copy(pulls, honest)
				if first == "runtime" {
					observe()
				}
				observePulls(&log, pulls)
				if first == "Events" {
					log.ObserveRuntime(made("somebody", -1))
					observe()
				}
				wants := name == "requested" && test.counts && test.sandboxAt < 0
				if got := log.RequestsRuntime(name); got != wants {
					t.Errorf("%s, %s, %s first: requests the runtime: %t", name, when, first, got)
				}
				tl := nodePull{2, 12, 13}.timelineOf("me")
				log.Complete(tl)
				got := tl.Pulls[0]
				same := got.BlockedBy != nil && got.BlockedBy.Pod == "a" && got.Ahead == 2
				if same == test.counts && name != "failed" || !test.counts && !same {
					t.Errorf("%s, %s, %s first: blocked by %+v, %d ahead", name, when, first, got.BlockedBy, got.Ahead)
				}
			}
		}
	}
}

// TestPendingResponseEndsItsRequest applies the Events about a pull in the wrong order, as a list can deliver them. The
// runtime reports the pod's sandbox only after these Events.
func TestPendingResponseEndsItsRequest(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	var log PullLog
	log.ObserveRuntime(RuntimeSeen{UID: "other", QueriedAt: second(0), Sandboxes: []Sandbox{{BegunAt: second(0)}}})
	observe := func(reason, message string, s float64) {
		log.Observe(EventSeen{UID: "a", Container: "app", Reason: reason, Message: message, NamedAt: second(s),
			FirstAt: second(s), LastAt: second(s), ArrivedAt: second(9), Count: 1}, shopPod("a", "x"))
	}
	observe("Pulled", `Successfully pulled image "x" in 3s (3s including waiting). Image size: 5 bytes.`, 5)
	observe("Pulling", `Pulling image "x"`, 2)
	log.ObserveRuntime(RuntimeSeen{UID: "a", QueriedAt: second(6), Sandboxes: []Sandbox{{BegunAt: second(1)}}})
	if open := log.openRequests(second(40), "me"); len(open) != 0 || len(log.pulls) != 1 {
		t.Errorf("%d requests are open, %d pulls are over", len(open), len(log.pulls))
	}
}

// TestForgedRequestsDisplaceNoRealOnes forges a request for each of a pod's 256 containers, either at the same instant
// or one after the other. At most one forged request may be open, and the log must keep an honest request.
func TestForgedRequestsDisplaceNoRealOnes(t *testing.T) {
	for _, gap := range []time.Duration{0, time.Millisecond} {
		var log PullLog
		request := func(uid, container string, requestedAt time.Time) {
			log.Observe(EventSeen{UID: uid, Container: container, Reason: "Pulling", Message: `Pulling image "x"`,
				NamedAt: requestedAt, FirstAt: requestedAt, LastAt: requestedAt, ArrivedAt: requestedAt, Count: 1},
				Pod{UID: uid, Namespace: uid, Name: uid, CreatedAt: base,
					Containers: []Container{{Name: container, Kind: KindMain, Image: "x"}}})
		}
		request("honest", "app", base)
		for i := range 2 * maxPullLog {
			request("forger", fmt.Sprint("c", i), base.Add(time.Second+time.Duration(i)*gap))
		}
		if open := log.openRequests(base.Add(time.Minute), "me"); len(open) != 2 {
			t.Errorf("%s apart: %d requests are open, want the honest one and one of the forger", gap, len(open))
		}
		if open := log.openRequests(base.Add(time.Minute), "forger"); len(open) != 1 {
			t.Errorf("%s apart: the real request was displaced", gap)
		}
	}
}
