package kube

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestApply(t *testing.T) {
	var asked, sent string
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/apis/apps/v1":
			fmt.Fprint(response, `{"resources":[{"name":"daemonsets/status","kind":"DaemonSet","namespaced":true},
{"name":"daemonsets","kind":"DaemonSet","namespaced":true}]}`)
		case "/api/v1":
			fmt.Fprint(response, `{"resources":[{"name":"namespaces","kind":"Namespace"}]}`)
		default:
			body, _ := io.ReadAll(request.Body)
			asked, sent = request.Method+" "+request.URL.String()+" "+request.Header.Get("Content-Type"), string(body)
		}
	}))
	t.Cleanup(server.Close)
	client := &Client{base: server.URL, http: server.Client()}

	const daemonSet = "apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d, namespace: ns}\n"
	if err := client.Apply(t.Context(), "me", []byte(daemonSet), true); err != nil {
		t.Fatal(err)
	}
	const want = "PATCH /apis/apps/v1/namespaces/ns/daemonsets/d" +
		"?dryRun=All&fieldManager=me&fieldValidation=Strict&force=true application/apply-patch+yaml"
	if asked != want || sent != `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"d","namespace":"ns"}}` {
		t.Errorf("asked %s\nsent %s", asked, sent)
	}
	if err := client.Apply(t.Context(), "me", []byte("apiVersion: v1\nkind: Namespace\nmetadata: {name: ns}\n"),
		false); err != nil ||
		!strings.HasPrefix(asked, "PATCH /api/v1/namespaces/ns?fieldManager=") || strings.Contains(asked, "dryRun") {
		t.Errorf("asked %s, %v", asked, err)
	}

	if err := client.Remove(t.Context(), []byte(daemonSet)); err != nil ||
		!strings.HasPrefix(asked, "DELETE /apis/apps/v1/namespaces/ns/daemonsets/d ") {
		t.Errorf("asked %s, %v", asked, err)
	}
	if err := client.Knows(t.Context(), []byte(daemonSet)); err != nil {
		t.Error(err)
	}

	for document, want := range map[string]string{
		"apiVersion: apps/v1\nkind: DaemonSet\nmetadata: {name: d}\n":  "has no namespace",
		"apiVersion: apps/v1\nkind: Other\nmetadata: {name: d}\n":      `does not serve the kind "Other"`,
		"apiVersion: v1\nkind: Namespace\nkind: Twice\nmetadata: {}\n": "already set",
	} {
		if err := client.Apply(t.Context(), "me", []byte(document), false); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", document, err, want)
		}
	}
}
