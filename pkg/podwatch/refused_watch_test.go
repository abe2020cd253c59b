package podwatch

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// watchers are the sources that list and then watch.
func watchers() map[string]func(rest.Interface) func(context.Context) error {
	return map[string]func(rest.Interface) func(context.Context) error{
		"pods": func(client rest.Interface) func(context.Context) error {
			return NewPods(Config{Client: client, NodeName: nodeName,
				Observe: func(context.Context, timeline.Observation) {}, Report: func(bool, string) {},
				Now: time.Now}).Run
		},
		"nodes": func(client rest.Interface) func(context.Context) error {
			return NewNodeObject(NodeConfig{Client: client, NodeName: nodeName, Seen: func(*corev1.Node) {},
				Report: func(bool, string) {}}).Run
		},
	}
}

// inBackground runs a source until what it returns is called.
func inBackground(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Who may list and not watch, by a role that lacks a verb, must not list twice a second for ever.
// Once it may, a watch that ends is opened again at once.
func TestAWatchThatIsRefusedIsNotAskedForAgainAndAgain(t *testing.T) {
	for name, source := range watchers() {
		synctest.Test(t, func(t *testing.T) {
			server := podwatchtest.StartPiped(t)
			server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb != "watch" })
			client, err := NewRESTClient(&rest.Config{Host: server.URL(), Transport: server.Transport()})
			if err != nil {
				t.Fatal(err)
			}
			stop := inBackground(t, source(client))
			defer stop()
			time.Sleep(10 * time.Minute)
			if asked := len(server.Requests()); asked > 200 { // a list and a watch, or two, every 15 s
				t.Errorf("%s: asked %d times in 10 minutes", name, asked)
			}
			server.Authorize(nil)
			time.Sleep(time.Minute)
			server.Put(nodeNamed(nodeName, true))
			synctest.Wait()
			before := len(server.Requests())
			server.ExpireWatches()
			time.Sleep(time.Second)
			if len(server.Requests()) == before {
				t.Errorf("%s: a watch that lasted is not opened again within a second", name)
			}
		})
	}
}

// A watch that ends without a word is no success either.
func TestAWatchThatTellsNothingIsNotAskedForAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		client,
			err := NewRESTClient(&rest.Config{Host: "http://server",
			Transport: roundTripper(func(r *http.Request) *http.Response {
				if asked++; asked > 1000 {
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
		stop := inBackground(t, watchers()["nodes"](client))
		defer stop()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if asked > 200 {
			t.Errorf("asked %d times in 10 minutes", asked)
		}
	})
}
