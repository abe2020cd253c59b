package web

import (
	"net"
	"net/netip"
	"sync"

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
	return &perClient{Listener: netutil.LimitListener(l, maxConnections), open: map[netip.Prefix]int{}}
}

// perClient closes at once what one client opens beyond its share.
type perClient struct {
	net.Listener

	mu   sync.Mutex
	open map[netip.Prefix]int // of those that have any, so maxConnections at most
}

// Accept implements net.Listener.
func (l *perClient) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		client := clientOf(conn.RemoteAddr().String())
		if l.enter(client) {
			return &counted{Conn: conn, left: sync.OnceFunc(func() { l.leave(client) })}, nil
		}
		_ = conn.Close() // the client's to notice
	}
}

func (l *perClient) enter(client netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[client] >= maxPerClient {
		return false
	}
	l.open[client]++
	return true
}

func (l *perClient) leave(client netip.Prefix) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[client]--; l.open[client] == 0 {
		delete(l.open, client)
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

// clientOf is whom limits are for: an IPv4 address, or the network that one IPv6 host has to itself. What has no
// address is one client.
func clientOf(address string) netip.Prefix {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := a.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // fails for lengths that no address has
	return prefix
}
