package kube

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestFollowNodeReopensKubeletsWatch(t *testing.T) {
	var requests int
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		requests++
		query := request.URL.Query()
		if query.Get("fieldSelector") != "spec.nodeName=node-2" || query.Get("watch") != "true" ||
			!strings.HasPrefix(request.Header.Get("Accept"), "application/vnd.kubernetes.protobuf") {
			http.Error(response, "not the request of a kubelet", http.StatusBadRequest)
		}
		if requests == 4 {
			http.Error(response, "no more", http.StatusForbidden)
		}
		_, _ = fmt.Fprint(response, "news")
	}))
	t.Cleanup(server.Close)
	client := &Client{base: server.URL, http: server.Client()}
	var got bytes.Buffer
	opened := 0
	err := client.FollowNode(t.Context(), "node-2", &got, func() { opened++ })
	if err == nil || !strings.Contains(err.Error(), "403") || opened != 3 || got.String() != "newsnewsnews" {
		t.Errorf("opened %d times, got %q, %v", opened, got.String(), err)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := client.FollowNode(ended, "node-2", &got, func() { t.Error("opened") }); err != nil {
		t.Errorf("a canceled context returns the error %v", err)
	}
}

func TestFollowEventsWatchesNamespace(t *testing.T) {
	const want = "/api/v1/namespaces/shop/events?fieldSelector=reason%3DPulled&resourceVersion=7&watch=true"
	var got string
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if got = request.URL.String(); got == "/api/v1/namespaces/shop/events?limit=1" {
			_, _ = fmt.Fprint(response, `{"metadata":{"resourceVersion":"7"}}`)
			return
		}
		http.Error(response, "not permitted", http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	client := &Client{base: server.URL, http: server.Client()}
	err := client.FollowEvents(t.Context(), "shop", "reason=Pulled", io.Discard, func() { t.Error("opened") })
	if err == nil || !strings.Contains(err.Error(), "watch Events: 403") || got != want {
		t.Errorf("request %s and error %v, want %s", got, err, want)
	}
}
