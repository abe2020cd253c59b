package web

import (
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
)

func TestFileName(t *testing.T) {
	for name, want := range map[string]string{
		"web-0": "shop_web-0.trace.json", `../"x"; a=b` + "\r\n": "shop_..--x---a-b--.trace.json",
		"é": "shop_--.trace.json",
	} {
		if got := fileName(api.Record{Namespace: "shop", Name: name}); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
