package podwatch

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/pkg/podwatch/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Who may list and not watch, by a role that lacks a verb, must not list twice a second for ever.
func TestAWatchThatIsRefusedIsNotAskedForAgainAndAgain(t *testing.T) {
	sources := map[string]func(rest.Interface) func(context.Context) error{
		"pods": func(client rest.Interface) func(context.Context) error {
			return NewPods(Config{Client: client, NodeName: nodeName, Observe: func(context.Context, timeline.Observation) {}, Report: func(bool, string) {}, Now: time.Now}).Run
		},
		"nodes": func(client rest.Interface) func(context.Context) error {
			return NewNodeObject(NodeConfig{Client: client, NodeName: nodeName, Seen: func(*corev1.Node) {}, Report: func(bool, string) {}}).Run
		},
	}
	for name, source := range sources {
		synctest.Test(t, func(t *testing.T) {
			server := podwatchtest.StartPiped(t)
			server.Authorize(func(a podwatchtest.Attempt) bool { return a.Verb != "watch" })
			client, err := NewRESTClient(&rest.Config{Host: server.URL(), Transport: server.Transport()})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- source(client)(ctx) }()
			time.Sleep(10 * time.Minute)
			asked := len(server.Requests())
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if asked > 200 { // a list and a watch, or two, every 15 s
				t.Errorf("%s: asked %d times in 10 minutes", name, asked)
			}
		})
	}
}
