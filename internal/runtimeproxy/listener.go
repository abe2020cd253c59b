package runtimeproxy

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"
)

// socketMode lets only the user and the group of the proxy connect, which are those of the agent.
const socketMode = 0o660

// listen creates the socket. It removes a socket that a previous proxy left behind. Any other file,
// and a socket on which a process listens, is an error.
func listen(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	case info.Mode()&fs.ModeType != fs.ModeSocket:
		return nil, fmt.Errorf(
			"listen on %s: the path exists and is not a socket: remove it, or choose another path",
			path,
		)
	default:
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("listen on %s: another process listens on it: stop it, or choose another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("remove the socket of the previous proxy: %w", err)
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	if err := os.Chmod(path, socketMode); err != nil {
		_ = listener.Close()
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	}
	return listener, nil
}

// bounded closes connections beyond maxConnections at once, and knows when the last connection is
// closed.
type bounded struct {
	net.Listener

	mu     sync.Mutex
	open   int
	leave  bool          // a caller waits until no connection is open
	closed chan struct{} // closed when no connection is open and a caller waits for that
}

func newBounded(listener net.Listener) *bounded {
	return &bounded{Listener: listener, closed: make(chan struct{})}
}

// Accept implements net.Listener.
func (l *bounded) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.enter() {
			return &counted{Conn: conn, left: l.left}, nil
		}
		_ = conn.Close()
	}
}

func (l *bounded) enter() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == maxConnections {
		return false
	}
	l.open++
	return true
}

func (l *bounded) left() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.report()
}

// empty returns a channel that is closed once no connection is open. It may be called once.
func (l *bounded) empty() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leave = true
	l.report()
	return l.closed
}

func (l *bounded) report() {
	if !l.leave || l.open > 0 {
		return
	}
	l.leave = false // later connections are not waited for
	close(l.closed)
}

// counted is a connection that reports when it is closed.
type counted struct {
	net.Conn
	once sync.Once
	left func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.once.Do(c.left)
	return c.Conn.Close()
}
