package eventwatch

import (
	"io"
	"runtime/debug"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
)

func typedEvent(e *corev1.Event) *corev1.Event {
	e.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
	e.ResourceVersion = "7"
	return e
}

// TestLargeEventsAreNotRead opens the maximum number of watches, each with Events of 1.4 MB, and measures the peak
// memory use.
func TestLargeEventsAreNotRead(t *testing.T) {
	const most = 24 << 20
	large := kubeletEvent("runtime-a", "Large", kubeclienttest.Begun())
	large.Message = strings.Repeat("x", 1400<<10)
	tooLarge := kubeclienttest.Frame(t, watch.Added, typedEvent(large))
	small := kubeclienttest.Frame(t, watch.Added,
		typedEvent(kubeletEvent("runtime-a", "Small", kubeclienttest.Begun())))
	server := kubeclienttest.Stream(t, func(w io.Writer) {
		for range 8 {
			_, _ = w.Write(tooLarge)
		}
		_, _ = w.Write(small)
	})
	client := clientFor(t, server.URL)
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	events := kubeclient.Resource{Client: client, Namespace: "ns", Name: "events"}
	peak := kubeclienttest.PeakHeap(func() {
		var open []watch.Interface
		for range DefaultWatches {
			w, err := events.Watch(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.Stop()
			open = append(open, w)
		}
		for _, w := range open {
			skipped := 0
			for event := range w.ResultChan() {
				object := event.Object.(*corev1.Event)
				if isTooLarge(event.Type, object) {
					skipped++
				}
				if object.Reason == "Small" {
					break
				}
			}
			if skipped != 8 {
				t.Errorf("%d Events were skipped, want 8", skipped)
			}
		}
	})
	t.Logf("%.1f MiB at most", float64(peak)/(1<<20))
	if peak > most {
		t.Errorf("%d bytes were in use, want at most %d", peak, most)
	}
}

// TestTooLargeEventIsRefused sends an Event larger than maxFrame between two small Events.
func TestTooLargeEventIsRefused(t *testing.T) {
	inBubble(t, Config{}, func(b *bubble) {
		b.watch("ns", "a")
		b.put("ns", "a", "Before")
		large := b.event("ns", "a", "Large")
		large.Message = strings.Repeat("x", maxFrame)
		b.server.Put(large)
		b.put("ns", "a", "After")
		b.expect("a", "Before", "After")
		if got := statsOf(b.events); got.Refused != [3]uint64{1, 0, 0} || got.Received != 2 {
			t.Errorf("stats %+v", got)
		}
	})
}
