package node

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// nodeNotes receives, for each observed Node object, whether the node is cordoned.
type nodeNotes chan string

func (n nodeNotes) see(node *corev1.Node, _ time.Time) {
	switch {
	case node == nil:
		n <- "none"
	case node.Spec.Unschedulable:
		n <- "cordoned"
	default:
		n <- "there"
	}
}

func (n nodeNotes) expect(t *testing.T, want string) {
	t.Helper()
	select {
	case got := <-n:
		if got != want {
			t.Fatalf("saw %s, want %s", got, want)
		}
	case <-time.After(kubeclienttest.Patience):
		t.Fatalf("never saw %s", want)
	}
}

func nodeNamed(name string, cordoned bool) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(nodeNamed("node-b", true))
	h, notes := kubeclienttest.NewSource(t), make(nodeNotes, 16)
	client := kubeclienttest.Client(t, server.URL(), kubeclient.New)
	h.Run(NewWatch(WatchConfig{Client: client, NodeName: "node-a", Seen: notes.see, Report: h.Report,
		Now: time.Now}).Run)
	notes.expect(t, "none")
	h.Until(true, "the node object does not exist")

	server.Put(nodeNamed("node-a", false))
	notes.expect(t, "there")
	server.Put(nodeNamed("node-b", false))
	server.Put(nodeNamed("node-a", true))
	notes.expect(t, "cordoned")
	server.Delete(nodeNamed("node-a", true))
	notes.expect(t, "none")

	// The next list finds changes that occurred while no watch was open, for every way in which the watch ended.
	for _, lose := range []func(){
		server.BreakWatches, server.ExpireWatches, func() { server.Forget(); server.BreakWatches() }} {
		server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "not you")
		lose()
		h.Until(false, "allow the ServiceAccount to list and watch nodes")
		server.Put(nodeNamed("node-a", false))
		server.Heal()
		notes.expect(t, "there")
		server.Put(nodeNamed("node-a", true))
		notes.expect(t, "cordoned")
	}
	for _, request := range server.Requests() {
		want := " /api/v1/nodes metadata.name=" + "node-a"
		if !slices.Contains([]string{"list" + want, "watch" + want}, request) {
			t.Errorf("requested %q", request)
		}
	}
}

// A quiet watch sends bookmarks. Without bookmarks, every quiet watch would end without an event and cause a list.
func TestWatchAsksForBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var requested []string
		client,
			err := kubeclient.New(&rest.Config{Host: "http://server",
			Transport: kubeclienttest.RoundTripper(func(r *http.Request) *http.Response {
				requested = append(requested, r.URL.Query().Get("watch")+" "+r.URL.Query().Get("resourceVersion")+" "+
					r.URL.Query().Get("allowWatchBookmarks"))
				recorder := httptest.NewRecorder()
				recorder.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("watch") == "" {
					fmt.Fprint(recorder,
						`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`)
					return recorder.Result()
				}
				response, version := recorder.Result(), 7+len(requested)
				body, writer := io.Pipe()
				response.Body = body
				go func() { // after five minutes, the API server sends a bookmark and ends the watch
					time.Sleep(5 * time.Minute)
					fmt.Fprintf(writer,
						`{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1",`+
							`"metadata":{"resourceVersion":"%d"}}}`, version)
					_ = writer.Close()
				}()
				return response
			})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		seen := 0
		go func() {
			ended <- NewWatch(WatchConfig{Client: client, NodeName: "node-a", Seen: func(*corev1.Node, time.Time) {
				seen++
			}, Report: func(bool, string) {}, Now: time.Now}).Run(ctx)
		}()
		time.Sleep(12 * time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := []string{"  ", "true 7 true", "true 9 true", "true 10 true"}
		if !slices.Equal(requested, want) || seen != 1 {
			t.Errorf("requests %q, observed %d; want %q", requested, seen, want)
		}
	})
}

func watching(client rest.Interface) func(context.Context) error {
	return NewWatch(WatchConfig{Client: client, NodeName: "node-a", Seen: func(*corev1.Node, time.Time) {},
		Report: func(bool, string) {}, Now: time.Now}).Run
}

func TestRefusedWatchBacksOff(t *testing.T) {
	kubeclienttest.RefusedWatch(t, watching, nodeNamed("node-a", true))
}

func TestRemedyIsNotTruncated(t *testing.T) {
	if n := len("watch node object: " + remedy); n > 150 {
		t.Errorf("a remedy of %d bytes leaves no room for the API server's message", n)
	}
}

// A watch that ends without an event also counts as a failure.
func TestEmptyWatchBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		requested := 0
		client,
			err := kubeclient.New(&rest.Config{Host: "http://server",
			Transport: kubeclienttest.RoundTripper(func(r *http.Request) *http.Response {
				if requested++; requested > 1000 {
					<-r.Context().Done()
				}
				recorder := httptest.NewRecorder()
				recorder.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("watch") == "" {
					fmt.Fprint(recorder,
						`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`)
				}
				return recorder.Result()
			})})
		if err != nil {
			t.Fatal(err)
		}
		stop := kubeclienttest.InBackground(t, watching(client))
		defer stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if requested > 200 {
			t.Errorf("sent %d requests in 10 minutes", requested)
		}
	})
}
