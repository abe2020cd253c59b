package podwatch

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

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

// nodeNotes notes of each object that is seen whether it is cordoned.
type nodeNotes chan string

func (n nodeNotes) see(node *corev1.Node) {
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
	case <-time.After(patience):
		t.Fatalf("never saw %s", want)
	}
}

func nodeNamed(name string, cordoned bool) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: cordoned}}
}

func TestNodeObject(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(nodeNamed("node-b", true))
	h, notes := newHarness(t), make(nodeNotes, 16)
	h.run(NewNodeObject(NodeConfig{Client: clientFor(t, server.URL()), NodeName: nodeName, Seen: notes.see,
		Report: h.report}).Run)
	notes.expect(t, "none")
	h.until(true, "the node object does not exist")

	server.Put(nodeNamed(nodeName, false))
	notes.expect(t, "there")
	server.Put(nodeNamed("node-b", false))
	server.Put(nodeNamed(nodeName, true))
	notes.expect(t, "cordoned")
	server.Delete(nodeNamed(nodeName, true))
	notes.expect(t, "none")

	// What happens while nobody watches is told by the next list, whatever became of the watch.
	for _, lose := range []func(){
		server.BreakWatches, server.ExpireWatches, func() { server.Forget(); server.BreakWatches() }} {
		server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "not you")
		lose()
		h.until(false, "allow the ServiceAccount to list and watch nodes")
		server.Put(nodeNamed(nodeName, false))
		server.Heal()
		notes.expect(t, "there")
		server.Put(nodeNamed(nodeName, true))
		notes.expect(t, "cordoned")
	}
	for _, request := range server.Requests() {
		want := " /api/v1/nodes metadata.name=" + nodeName
		if !slices.Contains([]string{"list" + want, "watch" + want}, request) {
			t.Errorf("asked for %q", request)
		}
	}
}

// A watch that would otherwise tell nothing tells bookmarks: else each that ends is one that told
// nothing, and asks for a list.
func TestNodeObjectAsksForBookmarks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		client,
			err := NewRESTClient(&rest.Config{Host: "http://server",
			Transport: roundTripper(func(r *http.Request) *http.Response {
				asked = append(asked, r.URL.Query().Get("watch")+" "+r.URL.Query().Get("resourceVersion")+" "+
					r.URL.Query().Get("allowWatchBookmarks"))
				recorder := httptest.NewRecorder()
				recorder.Header().Set("Content-Type", "application/json")
				if r.URL.Query().Get("watch") == "" {
					fmt.Fprint(recorder,
						`{"kind":"NodeList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`)
					return recorder.Result()
				}
				answer, told := recorder.Result(), 7+len(asked)
				body, writer := io.Pipe()
				answer.Body = body
				go func() { // after a while the API server ends it, having told how far it came
					time.Sleep(5 * time.Minute)
					fmt.Fprintf(writer,
						`{"type":"BOOKMARK","object":{"kind":"Node","apiVersion":"v1","metadata":{"resourceVersion":"%d"}}}`, told)
					_ = writer.Close()
				}()
				return answer
			})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		seen := 0
		go func() {
			ended <- NewNodeObject(NodeConfig{Client: client, NodeName: nodeName, Seen: func(*corev1.Node) {
				seen++
			}, Report: func(bool, string) {}}).Run(ctx)
		}()
		time.Sleep(12 * time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		want := []string{"  ", "true 7 true", "true 9 true", "true 10 true"}
		if !slices.Equal(asked, want) || seen != 1 {
			t.Errorf("asked %q, saw %d; want %q", asked, seen, want)
		}
	})
}

// followed notes what a follower is told.
type followed []string

func (f *followed) Seen(p *corev1.Pod) { *f = append(*f, "seen "+p.Name) }
func (f *followed) Restarted(p *corev1.Pod, r Restart) {
	code := int32(-1)
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	*f = append(*f, "restarted "+r.Container+" "+string(r.Reason)+" "+string(rune('0'+r.Times))+" "+
		time.Duration(code).String())
}
func (f *followed) Gone(uid string) { *f = append(*f, "gone "+uid) }

func TestFollowerIsToldOfPods(t *testing.T) {
	s, pods := watched(t)
	var told followed
	pods.config.Follower, pods.restarts = &told, newRestarts(told.Restarted)
	_ = s.Update(pod("a", "1"))
	_ = s.Update(crashed("1", 3, "Error", 7))
	_ = s.Update(crashed("1", 3, "Error", 7))
	_ = s.Delete(crashed("1", 3, "Error", 7))
	want := followed{"seen a", "restarted app error 1 7ns", "restarted app unknown 2 -1ns", "seen a", "seen a",
		"seen a", "gone 1"}
	if !slices.Equal(told, want) {
		t.Errorf("told %q\nwant %q", told, want)
	}
}
