package podwatch

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/watch"
)

// protobufFrame is an event of a watch as the API server sends it.
func protobufFrame(t testing.TB, kind watch.EventType, object k8sruntime.Object) []byte {
	t.Helper()
	scheme := k8sruntime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	types := serializer.NewCodecFactory(scheme).WithoutConversion().SupportedMediaTypes()
	info, ok := k8sruntime.SerializerInfoForMediaType(types, k8sruntime.ContentTypeProtobuf)
	if !ok {
		t.Fatal("no protobuf")
	}
	raw, err := k8sruntime.Encode(info.Serializer, object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := k8sruntime.Encode(info.StreamSerializer.Serializer,
		&metav1.WatchEvent{Type: string(kind), Object: k8sruntime.RawExtension{Raw: raw}})
	if err != nil {
		t.Fatal(err)
	}
	var frame bytes.Buffer
	if _, err := info.StreamSerializer.Framer.NewFrameWriter(&frame).Write(text); err != nil {
		t.Fatal(err)
	}
	return frame.Bytes()
}

// stream answers every request with frames, and then keeps the connection open.
func stream(t testing.TB, frames func(io.Writer)) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/vnd.kubernetes.protobuf;stream=watch")
		w.(http.Flusher).Flush()
		frames(w)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

func typedEvent(e *corev1.Event) *corev1.Event {
	e.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}
	e.ResourceVersion = "7"
	return e
}

// TestLargeEventsAreNotRead opens as many watches as there may be, each on Events of 1.4 MB, and looks at the most
// memory in use.
func TestLargeEventsAreNotRead(t *testing.T) {
	const most = 24 << 20
	large := kubeletEvent("runtime-a", "Large", begun())
	large.Message = strings.Repeat("x", 1400<<10)
	tooLarge := protobufFrame(t, watch.Added, typedEvent(large))
	small := protobufFrame(t, watch.Added, typedEvent(kubeletEvent("runtime-a", "Small", begun())))
	server := stream(t, func(w io.Writer) {
		for range 8 {
			_, _ = w.Write(tooLarge)
		}
		_, _ = w.Write(small)
	})
	client := eventClientFor(t, server.URL)
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	peak := peakHeap(func() {
		var open []watch.Interface
		for range DefaultEventWatches {
			w, err := resource{client: client, namespace: "ns", name: "events"}.watch(t.Context(), metav1.ListOptions{})
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

// peakHeap is how much more memory is in use at most while a function runs than before it.
func peakHeap(run func()) int {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	before, peak := stats.HeapAlloc, stats.HeapAlloc
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			var now runtime.MemStats
			runtime.ReadMemStats(&now)
			peak = max(peak, now.HeapAlloc)
			time.Sleep(time.Millisecond)
		}
	}()
	run()
	stop()
	<-ended
	return int(peak - before)
}

// TestATooLargeEventIsRefused has it come between others, in either encoding.
func TestATooLargeEventIsRefused(t *testing.T) {
	inBubble(t, EventsConfig{}, func(b *bubble) {
		b.watch("ns", "a")
		b.put("ns", "a", "Before")
		large := b.event("ns", "a", "Large")
		large.Message = strings.Repeat("x", maxFrame)
		b.server.Put(large)
		b.put("ns", "a", "After")
		b.expect("a", "Before", "After")
		if got := b.events.Stats(); got.Refused != (RefusedEvents{Oversized: 1}) || got.Received != 2 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestFramesOfEverySize reads frames around the limit, in pieces of every size.
func TestFramesOfEverySize(t *testing.T) {
	info, _ := k8sruntime.SerializerInfoForMediaType(
		serializer.NewCodecFactory(k8sruntime.NewScheme()).SupportedMediaTypes(), k8sruntime.ContentTypeProtobuf)
	framer := info.StreamSerializer.Framer
	var text bytes.Buffer
	writer := framer.NewFrameWriter(&text)
	sizes := []int{1, 0, 4 << 10, 4<<10 + 1, maxFrame, maxFrame + 1, 3 * maxFrame, 5}
	for i, size := range sizes {
		if _, err := writer.Write(bytes.Repeat([]byte{byte('a' + i)}, size)); err != nil {
			t.Fatal(err)
		}
	}
	for _, piece := range []int{1, 7, 1 << 10, 1 << 20} {
		reader := wholeFrames{Framer: framer, most: maxFrame,
			instead: []byte("instead")}.NewFrameReader(io.NopCloser(bytes.NewReader(text.Bytes())))
		for i, size := range sizes {
			want := strings.Repeat(string(rune('a'+i)), size)
			if size > maxFrame {
				want = "instead"
			}
			if size == 0 {
				want = ""
			}
			var got []byte
			for {
				part := make([]byte, piece)
				n, err := reader.Read(part)
				got = append(got, part[:n]...)
				if err == nil {
					break
				}
				if err != io.ErrShortBuffer {
					t.Fatalf("frame %d in pieces of %d: %v", i, piece, err)
				}
			}
			if string(got) != want {
				t.Errorf("frame %d of %d in pieces of %d: got %d bytes", i, size, piece, len(got))
			}
		}
		if _, err := reader.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("at the end: %v", err)
		}
	}
}
