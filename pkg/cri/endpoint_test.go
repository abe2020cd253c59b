package cri

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "auto",
		"auto":                              "auto",
		"off":                               "off",
		"unix:///run/crio/crio.sock":        "unix:///run/crio/crio.sock",
		"unix:///run/with space/c.sock":     "unix:///run/with space/c.sock",
		"/run/crio/crio.sock":               "",
		"unix://run/crio/crio.sock":         "",
		"unix:///":                          "",
		"unix:///run/../crio.sock":          "",
		"unix:///run/crio.sock?x":           "",
		"unix:///run/%2e":                   "",
		"tcp://127.0.0.1:1":                 "",
		"npipe:////./pipe/containerd":       "",
		"Auto":                              "",
		" unix:///run/crio/crio.sock":       "",
		"unix:///run/containerd//c.sock":    "",
		"unix-abstract:///containerd.sock1": "",
	} {
		endpoint, err := ParseEndpoint(text)
		if want == "" {
			if err == nil || !strings.Contains(err.Error(), "unix:///absolute/path") {
				t.Errorf("ParseEndpoint(%q): %v, want an error with the remedy", text, err)
			}
			continue
		}
		if err != nil || endpoint.String() != want || endpoint.Off() != (want == "off") {
			t.Errorf("ParseEndpoint(%q) = %v, %v, want %s", text, endpoint, err, want)
		}
	}
}

func FuzzParseEndpoint(f *testing.F) {
	for _, text := range []string{"", "auto", "off", "unix:///run/crio/crio.sock", "unix://x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		endpoint, err := ParseEndpoint(text)
		if err != nil {
			return
		}
		if again, err := ParseEndpoint(endpoint.String()); err != nil || again != endpoint {
			t.Errorf("%q parses as %v, which parses as %v, %v", text, endpoint, again, err)
		}
	})
}

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	absent, file, socket := filepath.Join(dir, "absent"), filepath.Join(dir, "file"), filepath.Join(dir, "socket")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	sockets := []string{absent, file, socket}
	if got := (Endpoint{}).Discover(sockets); !slices.Equal(got, []string{socket}) {
		t.Errorf("auto finds %v, want only the socket", got)
	}
	if got := (Endpoint{path: absent}).Discover(sockets); !slices.Equal(got, []string{absent}) {
		t.Errorf("explicit finds %v, want its path even if nothing exists there", got)
	}
	if got := (Endpoint{off: true}).Discover(sockets); got != nil {
		t.Errorf("off finds %v", got)
	}
}
