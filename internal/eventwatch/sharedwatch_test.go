package eventwatch

import (
	"maps"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// Requests to the API server for a shared watch and for a watch on one pod.
const (
	requestForAll = "watch /api/v1/namespaces/ns/events source=kubelet"
	requestForA   = "watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-a,source=kubelet"
	requestForZ   = "watch /api/v1/namespaces/ns/events involvedObject.uid=runtime-z,source=kubelet"
)

// TestOneWatchReplacesMany uses a crowded namespace, so the first four pods have their own watches.
func TestOneWatchReplacesMany(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.mark(b.events.crowded, "ns")
		b.arrive("ns", "abcd")()
		b.put("ns", "abcde", "Before")
		b.expect("abcd", "Before")
		b.sleep(10 * time.Second)
		b.expect("abcd", "watched")

		b.arrive("ns", "e")()
		b.expect("e", "Before")
		b.put("ns", "abcde", "During")
		b.expect("abcde", "During") // observed only once, although each of the pods a to d has two watches
		b.sleep(kubeclient.ProvenAfter)
		b.expect("e", "watched")
		b.put("ns", "abcde", "After")
		b.expect("abcde", "After")
		if got := b.requests(); got[requestForAll] != 1 || got[requestForA] != 1 || len(got) != 5 ||
			b.server.Watches() != 1 {
			t.Errorf("requests %v, %d watches are open", got, b.server.Watches())
		}
		// Each of the pods' four own watches was open for 11.001 s and received two Events. The shared watch is open
		// and received all Events. The agent took two samples for pods, and three for checkCosts.
		b.sleep(time.Minute)
		got, want := statsOf(b.events),
			(stats{Open: 1, Opened: 5, OpenFor: 4*11001*time.Millisecond + 61*time.Second, Received: 4*2 + 5*3,
				Starts: [3]uint64{5, 0, 0}, Samples: 5})
		if got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}

		b.unwatch("abcd")
		b.put("ns", "e", "Later")
		b.expect("e", "Later")
		b.unwatch("e")
		b.sleep(linger - time.Nanosecond)
		if b.server.Watches() != 1 {
			t.Error("the shared watch does not stay open for further pods")
		}
		b.request("ns", "f", time.Now())
		b.expect("f", "watched") // immediately, because no Event about the pod f can be missing
		b.unwatch("f")
		b.sleep(linger)
		if got := statsOf(b.events); got.Open != 0 || b.server.Watches() != 0 || len(b.events.shared) != 0 {
			t.Errorf("stays open: %+v", got)
		}
		b.watch("ns", "a")
		b.sleep(kubeclient.ProvenAfter)
		b.expect("a", "watched") // the agent observed the pod's earlier Events before
		if got := b.requests(); got[requestForA] != 2 {
			t.Errorf("requests %v", got)
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
		requests := b.requests()

		seen := time.Now()
		b.sleep(time.Second)
		b.watch("ns", "z")
		if got := b.last("z"); got.ArrivedAt != seen || !got.Live || got.Reason != "New" {
			t.Errorf("observed %+v, want the state when it arrived", got)
		}
		if got := b.watchedSince("z"); got != opened {
			t.Errorf("watched since %v, want %v", got, opened)
		}
		b.expect("z", "Old", "New", "watched")
		b.put("ns", "z", "Newer")
		b.expect("z", "Newer")
		b.unwatch("z")
		b.put("ns", "z", "Missed")
		b.watch("ns", "z") // a repeated request observes all Events again, like a pod's own watch
		b.expect("z", "Old", "New", "Newer", "Missed", "watched")
		if got := b.requests(); !maps.Equal(got, requests) {
			t.Errorf("requests %v", got)
		}
	})
}

func TestEvictedEventsComeFromOwnWatch(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.events.rememberLimit = 3
		b.put("ns", "z", "Forgotten")
		b.watch("ns", "abcde")
		b.sleep(time.Minute)
		b.put("ns", "abcd", "Other")
		b.put("ns", "z", "Live")
		b.take()
		opened := time.Now()
		b.watch("ns", "z")
		b.expect("z", "Forgotten", "Live") // through its own watch
		b.sleep(kubeclient.ProvenAfter)
		if got := b.watchedSince("z"); got != opened {
			t.Errorf("watched since %v, want %v", got, opened)
		}
		b.expect("z", "watched")
		if got := b.requests(); got[requestForZ] != 1 || b.server.Watches() != 1 {
			t.Errorf("requests %v, %d watches are open; want only the shared one", got, b.server.Watches())
		}
		b.put("ns", "z", "After")
		b.expect("z", "After")
		b.server.BreakWatches()
		b.sleep(time.Minute)
		b.expect("abcdez", "lost", "watched")
		if got := b.requests(); got[requestForZ] != 1 || got[requestForAll] != 2 {
			t.Errorf("requests %v", got)
		}
	})
}

// TestKubeletWithOtherHostName uses a shared watch whose memory is empty, because no Event names the node.
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
		if got := b.requests(); got[requestForZ] != 1 {
			t.Errorf("requests %v", got)
		}
	})
}

func TestClusterMode(t *testing.T) {
	inBubble(t, Config{Cluster: true}, func(b *bubble) {
		b.sleep(time.Minute)
		b.put("ns", "ab", "One")
		b.put("other", "c", "One")
		if got := b.requests(); len(got) != 0 {
			t.Errorf("sent %v although no pod is requested", got)
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
			t.Error("the shared watch does not stay open for further pods")
		}
		b.sleep(1)
		got := statsOf(b.events)
		want := stats{Opened: 1, OpenFor: kubeclient.ProvenAfter + clusterLinger, Received: 3,
			Starts: [3]uint64{0, 1, 0}}
		if got != want {
			t.Errorf("stats %+v, want %+v", got, want)
		}
		if got := b.requests(); got["watch /api/v1/events source=kubelet"] != 1 || len(got) != 1 {
			t.Errorf("requests %v", got)
		}
	})
}
