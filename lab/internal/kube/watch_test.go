package kube

import (
	"bytes"
	"context"
	"fmt"
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
