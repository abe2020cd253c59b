package web

import (
	"net"
	"net/netip"
	"slices"
	"sync"

	"github.com/podlapse/podlapse/pkg/peer"
)

const (
	// maxConnections bounds what connections cost: some 50 KiB each with TLS.
	maxConnections = 128
	// maxPerClient leaves room for the others when one client takes all it can get.
	maxPerClient = 32
)

// limited bounds the connections of a listener, in all and of each client.
func limited(l net.Listener) net.Listener {
	return &fair{Listener: l, open: map[netip.Prefix][]*counted{}}
}

// fair closes at once what one client opens beyond its share. When there are as many as may be, whoever has the most yields one
// to a client that has less: a few clients that hold on to all they can get keep neither kubelet's probes out nor a scraper, and
// nobody waits in the kernel's queue behind them.
type fair struct {
	net.Listener

	mu   sync.Mutex
	open map[netip.Prefix][]*counted // of clients that have any, the latest last
	all  int
}

// Accept implements net.Listener.
func (l *fair) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		taken, yielded := l.enter(conn)
		if yielded != nil {
			_ = yielded.Close() // the client's to notice, like the next one
		}
		if taken != nil {
			return taken, nil
		}
		_ = conn.Close()
	}
}

// enter counts a connection, or returns none if there is no place for it. What yields its place is counted no more.
func (l *fair) enter(conn net.Conn) (taken, yielded *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := &counted{Conn: conn, client: peer.Of(conn.RemoteAddr().String()), listener: l}
	have := len(l.open[c.client])
	if have >= maxPerClient {
		return nil, nil
	}
	if l.all >= maxConnections {
		if yielded = l.latestOfMost(); len(l.open[yielded.client]) <= have+1 {
			return nil, nil
		}
		l.remove(yielded)
	}
	l.open[c.client] = append(l.open[c.client], c)
	l.all++
	return c, yielded
}

// latestOfMost is the latest connection of the client that has the most.
func (l *fair) latestOfMost() *counted {
	var most []*counted
	for _, of := range l.open {
		if len(of) > len(most) {
			most = of
		}
	}
	return most[len(most)-1]
}

func (l *fair) leave(c *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
}

// remove does nothing for one that is counted no more.
func (l *fair) remove(c *counted) {
	i := slices.Index(l.open[c.client], c)
	if i < 0 {
		return
	}
	l.all--
	if l.open[c.client] = slices.Delete(l.open[c.client], i, i+1); len(l.open[c.client]) == 0 {
		delete(l.open, c.client)
	}
}

// counted is a connection that gives its place back.
type counted struct {
	net.Conn
	client   netip.Prefix
	listener *fair
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.listener.leave(c)
	return c.Conn.Close()
}
