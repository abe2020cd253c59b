package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Endpoint is the address of the container runtime. The zero Endpoint means `auto`: the agent tries the default
// sockets.
type Endpoint struct {
	path string // path of the socket, if configured
	off  bool
}

// ParseEndpoint parses `auto` (or an empty text), `off` or `unix:///absolute/path`. ParseEndpoint checks only
// the syntax, because the socket can appear later.
func ParseEndpoint(text string) (Endpoint, error) {
	switch text {
	case "", "auto":
		return Endpoint{}, nil
	case "off":
		return Endpoint{off: true}, nil
	}
	path, ok := strings.CutPrefix(text, "unix://")
	if !ok || !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" ||
		strings.ContainsAny(path, "?#%\x00") {
		return Endpoint{}, fmt.Errorf("invalid endpoint %q: must be auto, off or unix:///absolute/path/of.sock", text)
	}
	return Endpoint{path: path}, nil
}

// Off reports whether queries to the runtime are disabled.
func (e Endpoint) Off() bool { return e.off }

// Path returns the path of the socket. Path returns an empty text for `auto` and `off`.
func (e Endpoint) Path() string { return e.path }

// String returns the endpoint in the form that ParseEndpoint parses.
func (e Endpoint) String() string {
	switch {
	case e.off:
		return "off"
	case e.path != "":
		return "unix://" + e.path
	}
	return "auto"
}

// Sockets returns the default sockets of runtimes. For `auto`, the agent tries the sockets in this order.
func Sockets() []string {
	return []string{
		"/run/containerd/containerd.sock",
		"/run/crio/crio.sock",
		"/var/run/cri-dockerd.sock",
		"/run/k3s/containerd/containerd.sock",
		"/run/k0s/containerd.sock",
		"/var/snap/microk8s/common/run/containerd.sock",
	}
}

// Discover lists the sockets to try now. If a socket is configured, Discover returns this socket, even if it does not
// exist. If no socket is configured, Discover returns all default sockets that exist. An existing socket does not
// necessarily serve CRI.
func (e Endpoint) Discover(sockets []string) []string {
	if e.off {
		return nil
	}
	if e.path != "" {
		return []string{e.path}
	}
	var found []string
	for _, path := range sockets {
		if info, err := os.Stat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
			found = append(found, path)
		}
	}
	return found
}
