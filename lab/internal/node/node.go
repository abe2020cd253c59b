// Package node manages the lab's Kubernetes node. The package configures and starts the components of the node, reports
// their status, and removes the node completely.
package node

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/cri"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
	"github.com/podlapse/podlapse/lab/internal/progress"
	"github.com/podlapse/podlapse/lab/internal/registry"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// Node is the Kubernetes node of one lab on this machine. Up and Down hold the node's lock only until they return. To
// exclude other lab commands for longer, the caller must call Hold.
type Node struct {
	layout.Layout
	Programs build.Programs // empty for the command "lab down", which starts no programs
	Stack    stack.Stack
	Report   *progress.Reporter
}

func (n Node) table() process.Table { return process.Table{Dir: n.Processes()} }

func (n Node) starter() process.Starter {
	return process.Starter{Table: n.table(), Run: n.Run, Logs: n.Logs()}
}

func (n Node) certificates() string { return n.In("pki") }

func (n Node) certificate(file string) string { return filepath.Join(n.certificates(), file) }

// Kube returns a client of the API server. The client has the administrator's permissions.
func (n Node) Kube() (*kube.Client, error) {
	return kube.New(layout.Address(layout.APIServerPort), n.certificates(), adminUser)
}

// Kubelet returns a client of the kubelet's own API. The lab reads the kubelet's metrics from this API.
func (n Node) Kubelet() (*kube.Client, error) {
	return kube.New(layout.Address(layout.KubeletPort), n.certificates(), adminUser)
}

// Registry returns a client that controls the lab's registry, for example the faults that the registry injects.
func (n Node) Registry() registry.Client {
	return registry.Client{Address: layout.Address(layout.ControlPort)}
}

// Runtime returns a client of containerd's CRI.
func (n Node) Runtime() (*cri.Client, error) { return cri.Dial(n.ContainerdSocket()) }

// checkURL returns nil if a GET request to a URL returns status 200.
func checkURL(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s responded with %s, want 200", url, response.Status)
	}
	return nil
}

// checkPortFree returns an error if a process listens on the loopback port. checkPortFree retries for a second, because
// a port can remain in use for a moment after its process exits.
func checkPortFree(port int) error {
	const patience, every = time.Second, 20 * time.Millisecond
	for deadline := time.Now().Add(patience); ; time.Sleep(every) {
		listener, err := net.Listen("tcp", layout.Address(port))
		if err == nil {
			return listener.Close()
		}
		if time.Now().After(deadline) {
			return err
		}
	}
}

// checkListening returns nil if a process listens on the loopback port.
func checkListening(port int) error {
	connection, err := net.DialTimeout("tcp", layout.Address(port), time.Second)
	if err != nil {
		return err
	}
	return connection.Close()
}
