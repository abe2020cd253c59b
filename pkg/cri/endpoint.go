package cri

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Endpoint is where the container runtime listens. The zero Endpoint is Auto.
type Endpoint struct {
	path string // of the socket, when explicit
	off  bool
}

// ParseEndpoint reads `auto` (or nothing), `off` or `unix:///absolute/path`. It looks at the syntax
// alone: the socket may appear later.
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

// Off says that the runtime must not be asked.
func (e Endpoint) Off() bool { return e.off }

// Path is that of the socket; empty for auto and off.
func (e Endpoint) Path() string { return e.path }

// String is the form that ParseEndpoint reads.
func (e Endpoint) String() string {
	switch {
	case e.off:
		return "off"
	case e.path != "":
		return "unix://" + e.path
	}
	return "auto"
}

// Sockets are the places where runtimes listen by default, in the order in which Auto tries them.
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

// Discover lists the sockets worth a try now: the explicit one whether it exists or not, else those
// of sockets that exist. That a socket exists does not prove that CRI is served there.
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
