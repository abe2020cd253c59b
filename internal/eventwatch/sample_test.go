package eventwatch

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
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
