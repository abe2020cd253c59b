package eventwatch

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestSamplesOfManyNodesAreSpread runs agents on many nodes. Pods arrive on all nodes at the same time. If no earlier
// sample covers the pod, the agent must take the sample immediately. Otherwise, the samples must be spread.
func TestSamplesOfManyNodesAreSpread(t *testing.T) {
	const nodes = 64
	sampled := func(t *testing.T, since time.Duration) (times []time.Duration) {
		for range nodes {
			inBubble(t, Config{}, func(b *bubble) {
				b.events.jitter = maxJitter
				b.arrive("ns", "a")()
				if got := statsOf(b.events).Samples; got != 1 {
					t.Errorf("took %d samples for the first pod, want one immediately", got)
				}
				b.sleep(since - time.Millisecond)
				again := time.Now()
				b.events.PodStarting()
				for statsOf(b.events).Samples == 1 && time.Since(again) <= 2*maxJitter {
					b.sleep(50 * time.Millisecond)
				}
				times = append(times, time.Since(again))
			})
		}
		slices.Sort(times)
		return times
	}
	if got := sampled(t, maxBefore+time.Second); got[nodes-1] > 50*time.Millisecond {
		t.Errorf("without a usable sample, the agents took samples after %v, want at once", got)
	}
	got := sampled(t, sampleInterval)
	if got[nodes-1]-got[0] < maxJitter/2 || got[nodes-1] > maxJitter+50*time.Millisecond {
		t.Errorf("the agents took samples after %v, want times spread over %v", got, maxJitter)
	}
}

// TestUrgentRequestEndsJitter requests a sample that can wait, and then a sample that a pod needs.
func TestUrgentRequestEndsJitter(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.events.jitter = time.Hour
		request := func(urgent bool) {
			b.events.mu.Lock()
			b.events.requestSample(urgent)
			b.events.mu.Unlock()
			synctest.Wait()
		}
		request(false)
		if got := statsOf(b.events).Samples; got != 0 {
			t.Errorf("took %d samples, want none before the random wait ends", got)
		}
		request(true)
		if got := statsOf(b.events).Samples; got != 1 {
			t.Errorf("took %d samples, want the urgent one", got)
		}
		b.server.Hang()
		request(true)
		request(true) // the sample in flight serves this request, too
		b.sleep(sampleInterval)
		b.server.Heal()
		request(false)
		if got := statsOf(b.events).Samples; got != 1 {
			t.Errorf("took %d samples, want none: no urgent request is left", got)
		}
	})
}

// TestQueuedPodGetsSample requests the Events of a pod while another pod's watch has the only slot. No pod has
// requested Events for a long time, so the agent took no sample when the pod arrived. The pod's watch must still begin
// at a sample.
func TestQueuedPodGetsSample(t *testing.T) {
	inBubble(t, Config{Limit: 1}, func(b *bubble) {
		b.arrive("held", "x")()
		b.sleep(2 * likelyFor)
		arrivedAt := time.Now()
		b.events.PodStarting()
		b.request("ns", "a", arrivedAt)
		b.put("ns", "a", "New")
		b.sleep(2 * time.Minute)
		if got := b.sinceOf("a"); got.Before(arrivedAt) || got.Sub(arrivedAt) > maxAfter {
			t.Errorf("no Event is missing since %v, want a time directly after %v", got, arrivedAt)
		}
		if got := statsOf(b.events); got.Starts[1]+got.Starts[2] != 0 {
			t.Errorf("stats %+v, want only watches that begin at a revision", got)
		}
	})
}

// TestFailedSampleKeepsEarlierSample lets a sample fail while a request waits, although an earlier sample covers the
// arrival of the pod.
func TestFailedSampleKeepsEarlierSample(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		arrivedAt := time.Now()
		request := newRequest(timeline.EventWatch{UID: "a", ArrivedAt: arrivedAt}, &b.events.order)
		b.events.mu.Lock()
		b.events.revisions.samples = []position{{revision: 7, since: arrivedAt.Add(-usualAge)}}
		b.events.requests["a"] = request
		b.events.mu.Unlock()
		b.events.storeSample(position{}, errNoRevision)
		if request.position == nil || request.position.revision != 7 {
			t.Errorf("position %+v, want the earlier sample", request.position)
		}
	})
}

// TestRefusedListShowsInHealth uses a role without the right to list Events. The health status of the open watch must
// show the refusal and the remedy.
func TestRefusedListShowsInHealth(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb == "watch" })
		b.arrive("ns", "a")()
		b.sleep(time.Minute)
		if got := b.events.healthText(); !strings.Contains(got, remedy) {
			t.Errorf("the health status is %q, want the remedy %q", got, remedy)
		}
		b.server.Authorize(nil)
		b.arrive("ns", "b")()
		b.sleep(time.Minute)
		if got := b.events.healthText(); got != "watching" {
			t.Errorf("with the right to list Events, the health status is %q", got)
		}
	})
}

// TestPodsShareSamples adds a pod every second for a minute, and no pod in the following hour. Without a request for
// Events, the agent takes no samples.
func TestPodsShareSamples(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		for range 60 {
			b.events.PodStarting()
			b.sleep(time.Second)
		}
		if got := len(b.server.Requests()); got != 0 {
			t.Errorf("sent %d requests although no pod needs Events", got)
		}
		b.arrive("ns", "a")()
		b.unwatch("a")
		b.sleep(sampleInterval)
		before := len(b.server.Requests())
		for range 60 {
			b.events.PodStarting()
			b.sleep(time.Second)
		}
		if got := statsOf(b.events).Samples; got != 1+12 {
			t.Errorf("took %d samples, want the first one and then one every %v", got, sampleInterval)
		}
		b.sleep(time.Hour)
		b.events.PodStarting()
		b.sleep(time.Second)
		if got := len(b.server.Requests()) - before; got != 12 {
			t.Errorf("sent %d requests, want 12", got)
		}
	})
}

// TestEventsReplaceSamples keeps a watch open that delivers an Event every second, while pods start. The agent must not
// request further samples. The watch of a new pod in another namespace must begin before the pod's first Event.
func TestEventsReplaceSamples(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.arrive("ns", "a")()
		for range 60 {
			b.sleep(time.Second)
			b.put("ns", "a", "New")
			b.events.PodStarting()
		}
		b.sleep(time.Second)
		b.take()
		arrivedAt := time.Now()
		b.put("other", "b", "AtOnce")
		b.arrive("other", "b")()
		b.sleep(kubeclient.ProvenAfter)
		if early := arrivedAt.Sub(b.sinceOf("b")); early < usualAge || early > 2*eventInterval {
			t.Errorf("the watch begins %v before the arrival, want %v to %v", early, usualAge, 2*eventInterval)
		}
		b.expect("b", "AtOnce", "watched")
		if got := statsOf(b.events); got.Samples != 1 || got.Starts != [3]uint64{2, 0, 0} {
			t.Errorf("stats %+v, want one sample, for the first pod", got)
		}
		b.sleep(2 * maxSampleAge)
		b.put("ns", "a", "New")
		b.events.mu.Lock()
		defer b.events.mu.Unlock()
		if got := len(b.events.revisions.samples); got != 1 {
			t.Errorf("remembers %d samples, want only the latest one", got)
		}
	})
}

// TestExistingEventsAreNoSamples lets a watch deliver the existing Events of a namespace, which can be old. Only the
// revision of a new Event is a sample. The role does not allow lists, so the agent gets no other samples.
func TestExistingEventsAreNoSamples(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb == "watch" })
		b.put("ns", "a", "Old")
		b.watch("ns", "a")
		b.sleep(2 * kubeclient.ProvenAfter)
		samples := func() int {
			b.events.mu.Lock()
			defer b.events.mu.Unlock()
			return len(b.events.revisions.samples)
		}
		if got := statsOf(b.events); got.Starts != [3]uint64{0, 1, 0} || samples() != 0 {
			t.Errorf("stats %+v and %d samples, want no sample from an existing Event", got, samples())
		}
		b.put("ns", "a", "New")
		if samples() != 1 {
			t.Errorf("%d samples, want the new Event's revision", samples())
		}
	})
}

// TestSampleRefusedInOtherNamespace allows lists only in the namespace of the pods. In a large namespace, no watch may
// begin with all existing Events.
func TestSampleRefusedInOtherNamespace(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb == "watch" || a.Namespace == "ns" })
		b.fill("ns", 2*maxHistory)
		for _, uid := range []string{"a", "b"} {
			b.arrive("ns", uid)()
			b.sleep(5 * time.Second)
			b.unwatch(uid)
		}
		if got := statsOf(b.events).Starts; got != [3]uint64{0, 0, 2} {
			t.Errorf("starts %v, want two at the current revision", got)
		}
	})
}

// TestGapBeginsAtRecentSample requests the Events of a pod whose arrival is unknown, in a large namespace. The watch
// must begin at the sample that the agent already has, so that it delivers as many Events as possible.
func TestGapBeginsAtRecentSample(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.fill("ns", 2*maxHistory)
		b.put("ns", "a", "Before")
		b.arrive("other", "x")()
		sampledAt := time.Now()
		b.put("ns", "a", "Between")
		b.sleep(4 * time.Second)
		b.watch("ns", "a")
		b.sleep(time.Minute)
		if got := b.counts("a"); got["Before"] != 0 || got["Between"] != 1 {
			t.Errorf("observed %v, want only the Event after the sample", got)
		}
		if since := b.sinceOf("a"); since.After(sampledAt) {
			t.Errorf("watched since %v, want at most the time of the sample, %v", since, sampledAt)
		}
	})
}
