package podwatchtest

import (
	"context"
	"net"
	"net/http"
	"testing"
)

// StartPiped starts a Server that uses pipes in memory instead of a socket. The server runs until the test ends. The
// clock of a synctest bubble advances only while all its goroutines are blocked. A goroutine that waits for a pipe
// counts as blocked, but a goroutine that waits for a socket does not. Clients must use the transport that the method
// Transport returns.
func StartPiped(t testing.TB) *Server {
	t.Helper()
	s := newServer()
	s.url = "http://piped"
	pipes := &pipeListener{calls: make(chan net.Conn), closed: make(chan struct{})}
	s.connect.DialContext = pipes.dial
	server := &http.Server{Handler: http.HandlerFunc(s.serve)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(pipes)
	}()
	t.Cleanup(func() {
		s.Heal()
		s.BreakWatches()
		s.connect.CloseIdleConnections()
		_ = server.Close()
		<-served
	})
	return s
}

// pipeListener is a net.Listener. Its method dial opens a connection to the listener.
type pipeListener struct {
	calls  chan net.Conn // connections that dial passes to Accept; unbuffered
	closed chan struct{}
}

func (p *pipeListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.calls <- there:
		return here, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept implements net.Listener.
func (p *pipeListener) Accept() (net.Conn, error) {
	select {
	case call := <-p.calls:
		return call, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener. A second call of Close panics.
func (p *pipeListener) Close() error {
	close(p.closed)
	return nil
}

// Addr implements net.Listener.
func (p *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: "piped", Net: "pipe"} }
