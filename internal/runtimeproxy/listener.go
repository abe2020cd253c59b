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

// socketMode allows only the proxy's user and group to connect. The agent runs with the proxy's user and group.
const socketMode = 0o660

// listen creates the socket. listen removes a socket that a previous proxy left behind. listen fails if the path is a
// file of another type, or if a process listens on the socket.
func listen(path string) (net.Listener, error) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", path, err)
	case info.Mode()&fs.ModeType != fs.ModeSocket:
		return nil, fmt.Errorf(
			"listen on %s: the path exists and is not a socket: remove the file, or choose another path",
			path,
		)
	default:
		if conn, err := net.DialTimeout("unix", path, time.Second); err == nil {
			_ = conn.Close()
			return nil, fmt.Errorf("listen on %s: another process listens on this socket: stop that process, or "+
				"choose another path", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("cannot remove the socket of the previous proxy: %w", err)
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

// boundedListener limits the open connections. While maxConnections connections are open, boundedListener closes each
// new connection immediately.
type boundedListener struct {
	net.Listener
	open chan struct{} // semaphore with capacity maxConnections; one element for each open connection
}

// Accept implements net.Listener.
func (l *boundedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		select {
		case l.open <- struct{}{}:
			return &countedConn{conn, sync.OnceFunc(func() { <-l.open })}, nil
		default:
			_ = conn.Close()
		}
	}
}

// countedConn is a connection that calls a function when the connection is closed.
type countedConn struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.left()
	return c.Conn.Close()
}
