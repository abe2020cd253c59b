package timeline

import (
	"fmt"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func shopPod(uid, image string) Pod {
	return Pod{UID: uid, Namespace: "shop", Name: uid, Containers: []Container{{Name: "app", Image: image}}}
}

func TestPullLog(t *testing.T) {
	pulled := func(uid, image string, until, length float64) (EventSeen, Pod) {
		at := base.Add(time.Duration(until * float64(time.Second)))
		return EventSeen{UID: uid, Container: "app", Reason: "Pulled", NamedAt: at, LastAt: at, Message: fmt.Sprintf(
				"Successfully pulled image %q in %gs (%gs including waiting). Image size: 5 bytes.", image, length,
				length)},
			shopPod(uid, image)
	}
	var log PullLog
	for range 2 { // the API server also sends an Event again
		log.Observe(pulled("a", "large", 10, 9))
		log.Observe(pulled("b", "small", 12, 2))
		log.Observe(pulled("me", "mine", 15, 3))
	}
	log.Observe(EventSeen{UID: "c", Reason: "Pulled", Message: `Container image "x" already present on machine`}, Pod{})
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	mine := Pull{Image: "mine", Outcome: imagepull.OutcomeDownloaded, RequestedAt: second(2), StartedAt: second(12),
		FinishedAt: second(15), Timed: true, QueueTimed: true}
	other := mine
	other.Image = "small"
	unqueued := mine
	unqueued.RequestedAt = second(12)
	untimed := mine
	untimed.QueueTimed = false
	tl := Timeline{UID: "me", Pulls: []Pull{mine, other, unqueued, untimed}}
	log.Complete(&tl)
	if b := tl.Pulls[0].BlockedBy; b == nil || *b != (Blocker{"shop", "a", "app", "large", 8 * time.Second}) ||
		tl.Pulls[0].Outcome != imagepull.OutcomeDownloaded {
		t.Errorf("waited for %+v, %s", b, tl.Pulls[0].Outcome)
	}
	var failing PullLog
	failing.Observe(EventSeen{UID: "a", Container: "app", Reason: "Pulling", Message: `Pulling image "bad"`,
		NamedAt: second(1), LastAt: second(1)}, shopPod("a", "bad"))
	failing.Observe(EventSeen{UID: "a", Container: "app", Reason: "Failed", Message: `Failed to pull image "bad": no`,
		NamedAt: second(11), LastAt: second(11)}, shopPod("a", "bad"))
	failing.Observe(pulled("b", "small", 11.5, 0.5))
	blocked := Timeline{UID: "me", Pulls: []Pull{mine}}
	failing.Complete(&blocked)
	if b := blocked.Pulls[0].BlockedBy; b == nil || b.Image != "bad" || b.Waited != 9*time.Second {
		t.Errorf("behind a pull that failed, waited for %+v", b)
	}
	if tl.Pulls[1].Outcome != imagepull.OutcomeJoined {
		t.Errorf("an image that arrived during the wait has outcome %s", tl.Pulls[1].Outcome)
	}
	if tl.Pulls[2].BlockedBy != nil || tl.Pulls[3].BlockedBy != nil {
		t.Errorf("pulls without a wait have the blockers %+v, %+v", tl.Pulls[2].BlockedBy, tl.Pulls[3].BlockedBy)
	}
	layer := Layer{Digest: "sha256:a", SizeBytes: 100, DownloadedAt: second(1)}
	again := layer
	again.DownloadedAt = second(100) // the image was removed before the second pull
	first := Timeline{UID: "first", Pulls: []Pull{{Layers: []Layer{layer}}}}
	later := Timeline{UID: "later", Pulls: []Pull{{Layers: []Layer{layer, layer}}, {Layers: []Layer{again, again}}}}
	for _, tl := range []*Timeline{&first, &later, &first} {
		log.Complete(tl)
		log.Settle(*tl)
	}
	if first.Pulls[0].Bytes() != 100 || later.Pulls[0].Bytes() != 0 || later.Pulls[1].Bytes() != 100 {
		t.Errorf("a layer that two pods share counts %d and %d bytes", first.Pulls[0].Bytes(), later.Pulls[0].Bytes())
	}
	for i := range 2*maxRecentLayers + 5 {
		log.layers.addOwner(Layer{DownloadedAt: second(float64(i))}, "x")
	}
	if len(log.layers.owner) != maxRecentLayers || len(log.layers.order) != maxRecentLayers {
		t.Errorf("%d and %d layers are remembered", len(log.layers.owner), len(log.layers.order))
	}
	for i := range 2 * maxPullLog {
		log.Observe(pulled(fmt.Sprint(i), "x", float64(i), 1))
	}
	if len(log.pulls) != maxPullLog {
		t.Errorf("%d pulls are remembered", len(log.pulls))
	}
}

// TestPullLogIgnoresRepeatedEvents checks repeated Events about the same pull. The message about a failed pull contains
// no duration, so the estimated start of the pull changes with later evidence. The timestamp of a repeated Event also
// changes. The timestamp is exact in a live Event and truncated in a listed Event.
func TestPullLogIgnoresRepeatedEvents(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	pod := shopPod("a", "bad")
	event := func(reason, message string, named, last, arrived float64, count int, live bool) EventSeen {
		return EventSeen{UID: "a", Container: "app", Reason: reason, Message: message, NamedAt: second(named),
			FirstAt: second(named).Truncate(time.Second),
			LastAt:  second(last), Count: count, ArrivedAt: second(arrived), Live: live}
	}
	const pulling, failed = `Pulling image "bad"`, `Failed to pull image "bad": no`
	var log PullLog
	log.Observe(event("Pulling", pulling, 1.5, 1, 1.6, 1, true), pod)
	log.Observe(event("Failed", failed, 4.5, 4, 4.6, 1, true), pod)
	log.Observe(event("Pulling", pulling, 1.5, 14, 14.7, 2, true), pod)
	log.Observe(event("Failed", failed, 4.5, 17, 17.8, 2, true), pod)
	for range 2 { // the watch opens again and lists the Events
		log.Observe(event("Pulling", pulling, 1.5, 14, 30, 2, false), pod)
		log.Observe(event("Failed", failed, 4.5, 4, 30, 1, false), pod)
		log.Observe(event("Failed", failed, 4.5, 17, 30, 2, false), pod)
	}
	if len(log.pulls) != 2 {
		t.Errorf("two pulls failed, %d are remembered: %+v", len(log.pulls), log.pulls)
	}
}

// TestPullLogIgnoresFailedInspections checks that a failed inspection of an image is not a pull. In a failed
// inspection, the kubelet asked the runtime whether it has the image, and the runtime did not respond.
func TestPullLogIgnoresFailedInspections(t *testing.T) {
	var log PullLog
	for i, e := range []EventSeen{
		{Reason: "Pulling", Message: `Pulling image "x"`},
		{Reason: "Failed",
			Message: `Failed to pull image "x": rpc error: code = Unavailable desc = error reading from server: EOF`},
		{Reason: "InspectFailed",
			Message: `Failed to inspect image "": rpc error: code = Unavailable desc = connection error`},
		{Reason: "InspectFailed",
			Message: `Failed to inspect image "x": rpc error: code = Unavailable desc = connection error`},
	} {
		e.UID, e.Container, e.NamedAt, e.Count = "a", "app", base.Add(time.Duration(10*i)*time.Second), 1
		e.FirstAt, e.LastAt = e.NamedAt, e.NamedAt
		log.Observe(e, shopPod("a", "x"))
	}
	if len(log.pulls) != 1 || log.pulls[0].event.reason != "Failed" {
		t.Errorf("one pull failed, the log has %+v", log.pulls)
	}
}

// serialLog returns the log of a node that pulls one image after the other. One of its pulls waited for 8 s and began
// when the previous pull ended. These pulls ended long before base.
func serialLog() (log PullLog) {
	for i, lengths := range []string{"9s (9s including waiting)", "2s (10s including waiting)"} {
		at := base.Add(-time.Minute + time.Duration(2*i)*time.Second)
		uid := fmt.Sprint("before-", i)
		log.Observe(EventSeen{UID: uid, Container: "app", Reason: "Pulled", NamedAt: at, LastAt: at, Count: 1,
			Message: fmt.Sprintf("Successfully pulled image %q in %s. Image size: 5 bytes.", uid, lengths)},
			shopPod(uid, uid))
	}
	return log
}

// TestShortWaitsAreNotBlocked checks that waits below 50 ms have no blocker. The kubelet needs less than 50 ms
// to start the next pull.
func TestShortWaitsAreNotBlocked(t *testing.T) {
	for length, named := range map[time.Duration]bool{40 * time.Millisecond: false, 60 * time.Millisecond: true,
		time.Second: true} {
		log := serialLog()
		until := base.Add(10 * time.Second)
		log.Observe(EventSeen{UID: "other", Container: "app", Reason: "Pulled", NamedAt: until, LastAt: until, Count: 1,
			Message: `Successfully pulled image "x" in 9s (9s including waiting). Image size: 5 bytes.`},
			shopPod("other", "x"))
		tl := Timeline{UID: "me", Pulls: []Pull{{Image: "mine", Outcome: imagepull.OutcomeDownloaded, QueueTimed: true,
			RequestedAt: until.Add(-length), StartedAt: until, FinishedAt: until.Add(time.Second)}}}
		if log.Complete(&tl); (tl.Pulls[0].BlockedBy != nil) != named {
			t.Errorf("after a wait of %s blocked by %+v", length, tl.Pulls[0].BlockedBy)
		}
	}
}

// TestFailedPullStartsAfterPreviousPull checks a failed pull on a node that pulls one image after the other. The failed
// pull began after the end of the previous pull.
func TestFailedPullStartsAfterPreviousPull(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	event := func(uid, reason, message string, s float64) (EventSeen, Pod) {
		return EventSeen{UID: uid, Container: "app", Reason: reason, Message: message, NamedAt: second(s),
			LastAt: second(s),
			Count:  1}, shopPod(uid, uid)
	}
	var log PullLog
	log.Observe(event("bad", "Pulling", `Pulling image "bad"`, 1))
	log.Observe(event("good", "Pulled",
		`Successfully pulled image "good" in 9s (9s including waiting). Image size: 5 bytes.`, 9))
	log.Observe(event("bad", "Failed", `Failed to pull image "bad": no`, 10))
	tl := Timeline{UID: "me", Pulls: []Pull{{Image: "mine", Outcome: imagepull.OutcomeDownloaded, QueueTimed: true,
		RequestedAt: second(2), StartedAt: second(10), FinishedAt: second(11)}}}
	log.Complete(&tl)
	if b := tl.Pulls[0].BlockedBy; b == nil || b.Pod != "good" || b.Waited != 7*time.Second {
		t.Errorf("waited for %+v", b)
	}
}

// TestPullLogForgetsTheOldestRequest adds more pulls than the log keeps. The log must keep the latest pulls.
func TestPullLogForgetsTheOldestRequest(t *testing.T) {
	var log PullLog
	observe := func(i int, reason, message string, after time.Duration) {
		uid, at := fmt.Sprint("pod-", i), base.Add(time.Duration(i)*time.Second+after)
		log.Observe(EventSeen{UID: uid, Container: "app", Reason: reason, Message: message, NamedAt: at, FirstAt: at,
			LastAt: at, Count: 1}, shopPod(uid, "x"))
	}
	const over = 3
	for i := range maxPullLog + over {
		observe(i, "Pulling", `Pulling image "x"`, 0)
	}
	if len(log.requests) != maxPullLog {
		t.Errorf("%d requests are remembered", len(log.requests))
	}
	for _, i := range []int{over - 1, over, maxPullLog + over - 1} {
		observe(i, "Failed", `Failed to pull image "x": not found`, time.Hour)
	}
	if len(log.pulls) != 2 || log.pulls[0].uid != fmt.Sprint("pod-", over) {
		t.Errorf("after the oldest request was forgotten, the log has %+v", log.pulls)
	}
}

func TestRegistryOfPull(t *testing.T) {
	pod := shopPod("a", "x")
	pod.CreatedAt, pod.Containers = base, nil
	images := map[string]string{"r.example:5000/shop/web:2": "r.example:5000", "nginx": "docker.io",
		"No Image": imagepull.UnknownRegistry}
	for image := range images {
		pod.Containers = append(pod.Containers,
			Container{Name: fmt.Sprint("of-", len(pod.Containers)), Kind: KindMain, Image: image})
	}
	e := NewEvidence(Scope{})
	e.Apply(PodSeen{ArrivedAt: base, Live: true, Pod: pod})
	tl, _ := e.Timeline(base.Add(time.Second), Skew{})
	if len(tl.Pulls) != len(images) {
		t.Fatalf("%d pulls", len(tl.Pulls))
	}
	for _, p := range tl.Pulls {
		if p.Registry != images[p.Image] {
			t.Errorf("registry of %s: %q, want %q", p.Image, p.Registry, images[p.Image])
		}
	}
}

// TestLateFailureEndsItsRequest checks a second attempt whose Events have timestamps in seconds. The Event about the
// request arrives in the second of its timestamp, so the arrival dates the request more precisely. The Event about the
// failure arrives later, because the node is busy.
func TestLateFailureEndsItsRequest(t *testing.T) {
	second := func(s float64) time.Time { return base.Add(time.Duration(s * float64(time.Second))) }
	for _, late := range []float64{0.4, 1.2, 30} {
		var log PullLog
		observe := func(reason, message string, arrives float64) {
			log.Observe(EventSeen{UID: "bad", Container: "app", Reason: reason, Message: message, NamedAt: second(-20),
				LastAt:    second(10),
				ArrivedAt: second(arrives), Live: true, Count: 2}, shopPod("bad", "x"))
		}
		observe("Pulling", `Pulling image "x"`, 10.35)
		if got := len(log.openRequests(second(40), "me")); got != 1 {
			t.Fatalf("%d requests are open, want 1", got)
		}
		observe("Failed", `Failed to pull image "x": no`, 10+late)
		if got := len(log.openRequests(second(40), "me")); got != 0 {
			t.Errorf("after a failure that arrives %g s late, %d requests are open, want none", late, got)
		}
	}
}
