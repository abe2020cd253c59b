package client_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/client"
)

const webRecord = `{"id":"1/0","namespace":"shop","name":"web-0","uid":"1","node":"node-1","state":"ready",` +
	`"created_at":"2026-03-01T12:00:00Z","settled_at":"2026-03-01T12:00:07Z","total_seconds":7,` +
	`"total_error_seconds":0.5,"verdict":"7.0 s to ready: 6.0 s pulling; ±0.5 s",` +
	`"phases":[],"pulls":[],"milestones":[],"conflicts":[],"missing":[]}`

// agentOf starts an agent with one pod for the examples. A real agent listens on http://127.0.0.1:9717.
func agentOf() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/stream") {
			fmt.Fprint(w, "id: a-0\nevent: reset\ndata: {}\n\n"+
				"id: a-1\nevent: gone\ndata: "+
				"{\"id\":\"1/0\",\"namespace\":\"shop\",\"name\":\"web-0\",\"uid\":\"1\"}\n\n")
			return
		}
		fmt.Fprint(w, `{"items":[`+webRecord+`]}`)
	}))
}

func Example() {
	server := agentOf()
	defer server.Close()

	agent := client.Client{Server: server.URL}
	slow := client.Filter{Namespaces: []string{"shop"}, SlowerThan: 5 * time.Second}
	for record, err := range agent.Pods(context.Background(), slow) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s/%s: %s\n", record.Namespace, record.Name, record.Verdict)
	}
	// Output: shop/web-0: 7.0 s to ready: 6.0 s pulling; ±0.5 s
}

func ExampleClient_Follow() {
	server := agentOf()
	defer server.Close()
	ctx, stop := context.WithCancel(context.Background())
	defer stop()

	agent := client.Client{Server: server.URL}
	err := agent.Follow(ctx, client.Filter{}, func(event client.Event) error {
		switch event.Kind {
		case client.KindReset:
			fmt.Println("the current pods:")
		case client.KindPod:
			fmt.Println(event.Record.Name, "is", event.Record.State)
		case client.KindGone:
			fmt.Println(event.Pod.Name, "is gone")
			stop()
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// the current pods:
	// web-0 is ready
	// web-0 is gone
	// context canceled
}
