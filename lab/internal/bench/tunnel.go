package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"github.com/podlapse/podlapse/lab/internal/layout"
)

// tunnel is a proxy through which the API server connects to the agent and the kubelet. Some clusters have such a
// proxy, because their API server is outside the pod network. On the lab's node, all servers listen only on loopback
// addresses. But the API server does not proxy requests to loopback addresses, so its requests contain other addresses,
// or the name of the node. The tunnel replaces these with the loopback address. The tunnel accepts only requests for
// the ports of the agent and the kubelet.
type tunnel struct {
	listener net.Listener
	work     sync.WaitGroup
	end      context.Context
}

// OpenTunnel opens a tunnel to the agent's pod and restarts the API server, so that the API server uses the tunnel.
// The method Clear of Bench restarts the API server with its usual settings.
func (b *Bench) OpenTunnel(ctx context.Context) (closeTunnel func() error, err error) {
	dir, err := os.MkdirTemp("", "tunnel")
	if err != nil {
		return nil, fmt.Errorf("create a directory for the tunnel: %w", err)
	}
	socket := filepath.Join(dir, "tunnel.sock")
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "unix", socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the tunnel's socket: %w", err), os.RemoveAll(dir))
	}
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	t := &tunnel{listener: listener, end: ended}
	t.work.Go(t.serve)
	closeTunnel = func() error {
		end()
		err := listener.Close()
		t.work.Wait()
		return errors.Join(err, os.RemoveAll(dir))
	}
	if err := b.Node.ReachPodsThrough(ctx, socket); err != nil {
		return nil, errors.Join(err, closeTunnel())
	}
	return closeTunnel, nil
}

func (t *tunnel) serve() {
	for {
		connection, err := t.listener.Accept()
		if err != nil {
			return // Accept fails when closeTunnel closes the listener
		}
		t.work.Go(func() { t.carry(connection) })
	}
}

// carry serves one CONNECT request. carry returns when one side closes its connection or when the tunnel is closed.
func (t *tunnel) carry(from net.Conn) {
	defer from.Close()
	reader := bufio.NewReader(from)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	_, port, err := net.SplitHostPort(request.Host)
	// If a client forwards a port to the agent's pod, the API server connects to the kubelet's port.
	to := map[string]int{fmt.Sprint(layout.AgentPort): layout.AgentPort,
		fmt.Sprint(layout.KubeletPort): layout.KubeletPort}[port]
	if err != nil || request.Method != http.MethodConnect || to == 0 {
		fmt.Fprint(from, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	var dialer net.Dialer
	there, err := dialer.DialContext(t.end, "tcp", layout.Address(to))
	if err != nil {
		fmt.Fprint(from, "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
		return
	}
	defer there.Close()
	fmt.Fprint(from, "HTTP/1.1 200 OK\r\n\r\n")
	stop := context.AfterFunc(t.end, func() { _, _ = from.Close(), there.Close() })
	defer stop()
	var back sync.WaitGroup
	back.Go(func() { _, _ = io.Copy(from, there); _ = from.Close() })
	_, _ = io.Copy(there, reader)
	_ = there.Close()
	back.Wait()
}
