package eventwatch

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// What the API server is asked for: a shared watch, and a pod's own.
const (
	askedForAll = "watch /api/v1/namespaces/ns/events source=kubelet"
	askedForA   = "watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-a,source=kubelet"
	askedForZ   = "watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-z,source=kubelet"
)

func TestOneWatchReplacesMany(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "abcde", "Before")
		b.watch("ns", "abcd")
		b.expect("abcd", "Before")
		b.sleep(10 * time.Second)
		b.expect("abcd", "watched")

		b.watch("ns", "e")
		b.expect("e", "Before")
		b.put("ns", "abcde", "During")
		b.expect("abcde", "During") // once, though a to d have two watches
		b.sleep(kubeclient.ProvenAfter)
		b.expect("e", "watched")
		b.put("ns", "abcde", "After")
		b.expect("abcde", "After")
		if got := b.asked(); got[askedForAll] != 1 || got[askedForA] != 1 || len(got) != 5 || b.server.Watches() != 1 {
			t.Errorf("asked %v, %d watches are open", got, b.server.Watches())
		}
		// Each of the four was open for 11 s and brought two Events; the shared one is open and brought all.
		b.sleep(time.Minute)
		got, want := statsOf(b.events),
			(stats{Open: 1, Opened: 5, OpenFor: 4*11*time.Second + 61*time.Second, Received: 4*2 + 5*3})
		if got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}

		b.unwatch("abcd")
		b.put("ns", "e", "Later")
		b.expect("e", "Later")
		b.unwatch("e")
		b.sleep(linger - time.Nanosecond)
		if b.server.Watches() != 1 {
			t.Error("does not wait for the next pods")
		}
		b.watch("ns", "f")
		b.expect("f", "watched") // at once: nothing about it can be missing
		b.unwatch("f")
		b.sleep(linger)
		if got := statsOf(b.events); got.Open != 0 || b.server.Watches() != 0 || len(b.events.shared) != 0 {
			t.Errorf("stays open: %+v", got)
		}
		b.watch("ns", "a")
		b.sleep(kubeclient.ProvenAfter)
		b.expect("a", "Before", "During", "After", "watched")
		if got := b.asked(); got[askedForA] != 2 {
			t.Errorf("asked %v", got)
		}
	})
}

func TestSharedWatchRemembersEvents(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.put("ns", "z", "Old")
		b.watch("ns", "abcde")
		b.sleep(time.Minute)
		opened := time.Now().Add(-time.Minute)
		b.put("ns", "z", "New")
		b.server.Put(&corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: "Node", UID: nodeName},
			ObjectMeta: b.event("ns", "z", "").ObjectMeta,
			Source:     corev1.EventSource{Component: "kubelet", Host: nodeName}})
		elsewhere := b.event("ns", "y", "Elsewhere")
		elsewhere.Source.Host = "node-b"
		b.server.Put(elsewhere)
		b.expect("abcde", "watched")
		asked := b.asked()

		seen := time.Now()
		b.sleep(time.Second)
		b.watch("ns", "z")
		if got := b.last("z"); got.ArrivedAt != seen || !got.Live || got.Reason != "New" {
			t.Errorf("told %+v, want what it was when it came", got)
		}
		if got := b.watchedSince("z"); got != opened {
			t.Errorf("watched since %v, want %v", got, opened)
		}
		b.expect("z", "Old", "New", "watched")
		b.put("ns", "z", "Newer")
		b.expect("z", "Newer")
		b.unwatch("z")
		b.put("ns", "z", "Missed")
		b.watch("ns", "z") // wanted again: told all of it again, as a watch of its own would
		b.expect("z", "Old", "New", "Newer", "Missed", "watched")
		if got := b.asked(); !maps.Equal(got, asked) {
			t.Errorf("asked %v", got)
		}
	})
}

func TestEvictedEventsComeFromOwnWatch(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.events.remember = 3
		b.put("ns", "z", "Forgotten")
		b.watch("ns", "abcde")
		b.sleep(time.Minute)
		b.put("ns", "abcd", "Other")
		b.put("ns", "z", "Live")
		b.take()
		opened := time.Now()
		b.watch("ns", "z")
		b.expect("z", "Forgotten", "Live") // through a watch of its own
		b.sleep(kubeclient.ProvenAfter)
		if got := b.watchedSince("z"); got != opened {
			t.Errorf("watched since %v, want %v", got, opened)
		}
		b.expect("z", "watched")
		if got := b.asked(); got[askedForZ] != 1 || b.server.Watches() != 1 {
			t.Errorf("asked %v, %d watches are open; want that the shared one has taken over", got, b.server.Watches())
		}
		b.put("ns", "z", "After")
		b.expect("z", "After")
		b.server.BreakWatches()
		b.sleep(time.Minute)
		b.expect("abcdez", "lost", "watched")
		if got := b.asked(); got[askedForZ] != 1 || got[askedForAll] != 2 {
			t.Errorf("asked %v", got)
		}
	})
}

// TestKubeletWithOtherHostName has the memory of a shared watch empty for a reason that it cannot know before.
func TestKubeletWithOtherHostName(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.watch("ns", "abcde")
		b.sleep(time.Minute)
		for _, uid := range []string{"a", "z"} {
			e := b.event("ns", uid, "Named")
			e.Source.Host = "alias"
			b.server.Put(e)
		}
		b.take()
		b.watch("ns", "z")
		b.sleep(kubeclient.ProvenAfter)
		b.expect("z", "Named", "watched")
		if got := b.asked(); got[askedForZ] != 1 {
			t.Errorf("asked %v", got)
		}
	})
}

func TestClusterMode(t *testing.T) {
	inBubble(t, Config{Cluster: true}, func(b *bubble) {
		b.sleep(time.Minute)
		b.put("ns", "ab", "One")
		b.put("other", "c", "One")
		if got := b.asked(); len(got) != 0 {
			t.Errorf("asked %v for nobody", got)
		}
		b.watch("ns", "a")
		b.watch("other", "c")
		b.sleep(kubeclient.ProvenAfter)
		b.expect("ac", "One", "watched")
		b.watch("ns", "b")
		b.expect("b", "One", "watched")
		b.unwatch("abc")
		b.sleep(clusterLinger - time.Nanosecond)
		if b.server.Watches() != 1 {
			t.Error("does not wait for the next pods")
		}
		b.sleep(1)
		got := statsOf(b.events)
		want := stats{Opened: 1, OpenFor: kubeclient.ProvenAfter + clusterLinger, Received: 3}
		if got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if got := b.asked(); got["watch /api/v1/events source=kubelet"] != 1 || len(got) != 1 {
			t.Errorf("asked %v", got)
		}
	})
}
