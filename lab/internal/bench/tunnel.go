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

// tunnel is the proxy through which an API server outside of the cluster's network reaches pods. On this node nothing listens but on
// loopback, to which the API server proxies nothing: what it sends to the port of an agent at the node's own address goes to
// loopback from here.
type tunnel struct {
	listener net.Listener
	work     sync.WaitGroup
	end      context.Context
}

// OpenTunnel has the API server reach the agent's pod, for which it starts anew. Closing the tunnel ends that; clearing the bench has
// the API server run as usual.
func (b *Bench) OpenTunnel(ctx context.Context) (closeTunnel func() error, err error) {
	dir, err := os.MkdirTemp("", "tunnel")
	if err != nil {
		return nil, fmt.Errorf("make a directory for the tunnel: %w", err)
	}
	socket := filepath.Join(dir, "tunnel.sock")
	var listen net.ListenConfig
	listener, err := listen.Listen(ctx, "unix", socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen as the tunnel: %w", err), os.RemoveAll(dir))
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
			return // it is closed
		}
		t.work.Go(func() { t.carry(connection) })
	}
}

// carry does what one CONNECT asks for, until either side ends.
func (t *tunnel) carry(from net.Conn) {
	defer from.Close()
	reader := bufio.NewReader(from)
	request, err := http.ReadRequest(reader)
	if err != nil {
		return
	}
	_, port, err := net.SplitHostPort(request.Host)
	to := map[string]int{fmt.Sprint(layout.AgentPort): layout.AgentPort, fmt.Sprint(layout.KubeletPort): layout.KubeletPort}[port]
	if err != nil || request.Method != http.MethodConnect || to == 0 { // the kubelet forwards ports of the agent
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
