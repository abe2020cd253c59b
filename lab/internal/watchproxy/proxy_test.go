package watchproxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func TestProxyDropsAndDelaysEvents(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the proxy forwarded the client's token")
		}
		if !watchesPods(r) {
			_, _ = io.WriteString(w, r.URL.Path+" "+r.Header.Get("Accept"))
			return
		}
		for _, name := range []string{"a", "lost", "b", "late", "c"} {
			fmt.Fprintf(w, `{"type":"ADDED","object":{"kind":"Pod","metadata":{"name":%q}}}`+"\n", name)
		}
		fmt.Fprint(w, `{"type":"BOOKMARK","object":{"kind":"Pod","metadata":{"name":"lost"}}}`+"\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	defer server.Close()
	proxy, err := Start(t.Context(), server.URL, http.DefaultTransport)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}()
	const delay = 200 * time.Millisecond
	proxy.Break(func(_ watch.EventType, pod corev1.Pod) Fault {
		return Fault{Lost: pod.Name == "lost", Delay: map[string]time.Duration{"late": delay}[pod.Name]}
	})
	get := func(path string) *http.Response {
		request, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL()+path, nil)
		request.Header.Set("Accept", "application/vnd.kubernetes.protobuf")
		request.Header.Set("Authorization", "Bearer x")
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		return response
	}
	plain := get("/api/v1/pods")
	if text, _ := io.ReadAll(plain.Body); string(text) != "/api/v1/pods application/vnd.kubernetes.protobuf" {
		t.Errorf("the list was changed to %s", text)
	}
	plain.Body.Close()
	began := time.Now()
	watching := get("/api/v1/pods?watch=true")
	defer watching.Body.Close()
	decoder := json.NewDecoder(watching.Body)
	for _, want := range []string{"ADDED a", "ADDED b", "ADDED late", "ADDED c", "BOOKMARK lost"} {
		var event struct {
			Type   string
			Object corev1.Pod
		}
		if err := decoder.Decode(&event); err != nil {
			t.Fatal(err)
		}
		if got := event.Type + " " + event.Object.Name; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if held := proxy.Held(); held > 1 { // the client can read the last event before the proxy updates the number
		t.Errorf("%d events are still delayed", held)
	}
	if took := time.Since(began); took < delay {
		t.Errorf("all events arrived after %s, want at least %s", took, delay)
	}
}
