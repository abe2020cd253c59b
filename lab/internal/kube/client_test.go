package kube

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestStatusErrors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/there":
			_, _ = fmt.Fprint(response, `{"metadata":{"name":"x"}}`)
		case "/taken":
			response.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprint(response, `{"message":"x already exists"}`)
		default:
			http.NotFound(response, request)
		}
	}))
	t.Cleanup(server.Close)
	client := &Client{base: server.URL, http: server.Client()}
	var object struct {
		Metadata struct{ Name string } `json:"metadata"`
	}
	if err := client.Get(t.Context(), "/there", &object); err != nil || object.Metadata.Name != "x" {
		t.Errorf("got %+v, %v", object, err)
	}
	if err := client.Create(t.Context(), "/taken", object); !IsConflict(err) ||
		!strings.Contains(err.Error(), "x already exists") {
		t.Errorf("error %v", err)
	}
	if err := client.Delete(t.Context(), "/nothing"); !IsNotFound(err) || IsConflict(err) {
		t.Errorf("error %v", err)
	}
}
