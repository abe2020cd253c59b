package web

import (
	"net"

	"golang.org/x/net/netutil"
)

const (
	// maxConnections bounds what connections cost: some 50 KiB each with TLS. More wait in the kernel's queue.
	maxConnections = 128
	// maxPerClient leaves room for the others, kubelet's probes among them, when one client takes all it can get.
	maxPerClient = 32
)

// limited bounds the connections of a listener, in all and of each client.
func limited(l net.Listener) net.Listener {
	return &perClient{Listener: netutil.LimitListener(l, maxConnections), shares: newShares(maxPerClient)}
}

// perClient closes at once what one client opens beyond its share.
type perClient struct {
	net.Listener
	shares *shares
}

// Accept implements net.Listener.
func (l *perClient) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if leave, ok := l.shares.enter(conn.RemoteAddr().String()); ok {
			return &counted{Conn: conn, left: leave}, nil
		}
		_ = conn.Close() // the client's to notice
	}
}

// counted is a connection that gives its place back.
type counted struct {
	net.Conn
	left func()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.left()
	return c.Conn.Close()
}
