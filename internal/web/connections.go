package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/podlapse/podlapse/internal/peer"
)

const (
	// maxConnections is the maximum number of open connections. maxConnections limits the memory for connections. A
	// connection with TLS uses about 50 KiB.
	maxConnections = 128
	// maxPerClient limits the connections of one client, so that other clients can still connect.
	maxPerClient = 32
	// guaranteedPerClient is the number of connections that a client can open even if no slot is free. Two connections
	// are enough for a scraper that reconnects.
	guaranteedPerClient = 2
	// guaranteedNearby replaces guaranteedPerClient for clients on the agent's own node, such as the kubelet.
	// Connections through kubectl port-forward also count as connections from the node.
	guaranteedNearby = 4
	// If no slot is free and a client has fewer connections than its guaranteed number, the agent can close an existing
	// connection to free a slot for this client. For one client outside the node, the agent closes at most takeBurst
	// connections immediately for this reason, and then at most takeRate connections per second. The limit protects
	// scrapers. Even if many clients keep reconnecting, a scraper has enough time to send its request before the agent
	// closes the scraper's connection.
	takeRate, takeBurst = 1, guaranteedPerClient
	// reservedForNearby is the number of connections that clients on the agent's own node can always keep. If at most
	// reservedForNearby connections come from the node, the agent does not close them to free a slot for a client
	// outside the node. Four connections are enough: two for each of the kubelet's two probes.
	reservedForNearby = 4
)

// limitConnections limits the connections of a listener, in total and for each client.
func limitConnections(l net.Listener, reads func(netip.Prefix) bool, dropped counters) *fairListener {
	return &fairListener{Listener: l, dropped: dropped, reads: reads, near: newNodeAddresses(), now: time.Now,
		open: map[*counted]bool{}, have: map[netip.Prefix]int{},
		takes: peer.NewLatest(maxClients, func() *rate.Limiter { return rate.NewLimiter(takeRate, takeBurst) })}
}

// fairListener closes a new connection immediately if the client is outside the node and already has maxPerClient
// connections. If all slots are taken, fairListener closes the least useful connection whose slot the new connection
// can take (see yieldsTo). If the new connection cannot take any slot, fairListener closes the new connection. Scrapers
// and the kubelet's probes can connect even if a few clients hold many connections, or if many clients hold one
// connection each. fairListener accepts or closes each connection immediately, so no connection waits in the kernel's
// queue.
//
// The agent does not use netutil.LimitListener, which has one limit for all clients together. At its limit,
// netutil.LimitListener makes further connections wait. So one client could use up the limit and lock out all other
// clients.
type fairListener struct {
	net.Listener
	dropped counters
	reads   func(netip.Prefix) bool // reports whether a client read earlier responses
	near    nodeAddresses
	now     func() time.Time
	takes   *peer.Latest[*rate.Limiter]

	mu   sync.Mutex
	open map[*counted]bool
	have map[netip.Prefix]int // number of open connections, by client
}

// Accept implements net.Listener.
func (l *fairListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		taken, yielded := l.enter(conn)
		if yielded != nil {
			_ = yielded.Close() // enter has already released the slot, so a failed Close changes nothing
		}
		if taken != nil {
			return taken, nil
		}
		_ = conn.Close()
	}
}

// enter takes a slot for a connection. If the connection gets no slot, both results are nil. If another connection must
// give up its slot, enter releases that slot and returns the other connection as the second result. The caller must
// close the connection in the second result. If no connection gives up its slot, the second result is nil.
func (l *fairListener) enter(conn net.Conn) (taken, yielded *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	client := peer.Of(conn.RemoteAddr().String())
	c := &counted{
		Conn: conn, client: client, near: l.near.isFromNode(conn), reads: l.reads(client), listener: l, since: l.now(),
	}
	have := l.have[c.client]
	switch {
	case have >= maxPerClient && !c.near:
		l.dropped.count(droppedConnection)
		return nil, nil
	case have >= maxPerClient: // another client with the kubelet's address might hold all maxPerClient slots
		yielded = l.leastUseful(func(other *counted) bool { return other.client == c.client })
	case len(l.open) >= maxConnections:
		if yielded = l.leastUseful(l.yieldsTo(c, have)); yielded == nil {
			l.dropped.count(droppedFull)
			return nil, nil
		}
	}
	if yielded != nil {
		l.dropped.count(droppedYielded)
		l.releaseSlot(yielded)
	}
	l.open[c] = true
	l.have[c.client]++
	return c, yielded
}

// yieldsTo returns a function that reports whether c can take the slot of another connection. The argument "have" is
// the current number of connections of c's client. If "have" is below the client's guaranteed number, c can take the
// slot of any connection. If "have" is at least the guaranteed number, c can take slots only from clients that have at
// least two connections more than c's client.
//
// Two limits apply to clients outside the node. A client outside the node cannot take the slots that reservedForNearby
// protects. If a client outside the node exceeds takeRate, it can take slots only from clients that have at least two
// connections more than itself.
func (l *fairListener) yieldsTo(c *counted, have int) func(*counted) bool {
	sure, near := guaranteedPerClient, 0
	if c.near {
		sure = guaranteedNearby
	}
	for other := range l.open {
		if other.near {
			near++
		}
	}
	takes := have < sure && (c.near || l.takes.Of(c.client).AllowN(l.now(), 1))
	return func(other *counted) bool {
		if other.near && !c.near && near <= reservedForNearby {
			return false
		}
		return takes || l.have[other.client] >= have+2
	}
}

// leastUseful returns the least useful connection for which the function "may" returns true. If there is no such
// connection, leastUseful returns nil.
func (l *fairListener) leastUseful(may func(*counted) bool) *counted {
	now := l.now()
	var least *counted
	for c := range l.open {
		if may(c) && (least == nil || l.yieldsBefore(c, least, now)) {
			least = c
		}
	}
	return least
}

// yieldsBefore reports whether the listener closes the connection "a" before the connection "b". The listener first
// closes the less useful connection. If both connections are equally useful, the listener first closes the connection
// of the client with more connections. If both clients also have the same number of connections, the listener first
// closes the connection whose current activity began earlier.
func (l *fairListener) yieldsBefore(a, b *counted, now time.Time) bool {
	if p, q := a.rank(now), b.rank(now); p != q {
		return p < q
	}
	if p, q := l.have[a.client], l.have[b.client]; p != q {
		return p > q
	}
	return a.since.Before(b.since)
}

func (l *fairListener) leave(c *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.releaseSlot(c)
}

// releaseSlot releases the slot of a connection. A second call for the same connection has no effect.
func (l *fairListener) releaseSlot(c *counted) {
	if !l.open[c] {
		return
	}
	delete(l.open, c)
	if l.have[c.client]--; l.have[c.client] == 0 {
		delete(l.have, c.client)
	}
}

// activity is the current use of a connection.
type activity int

const (
	waiting    activity = iota // the client has not sent its first request completely
	idle                       // the connection is between two requests
	responding                 // the server responds to a request
	streaming                  // the server sends an event stream
)

const (
	// waitingYoung is the time within which a client should send its first request. A connection that has waited longer
	// than waitingYoung for its first request is less useful than an idle connection.
	waitingYoung = time.Second
	// respondingYoung is the time within which most responses end, even on a slow network.
	respondingYoung = 2 * time.Second
)

// counted is a connection that releases its slot when the connection is closed.
type counted struct {
	net.Conn
	client   netip.Prefix
	near     bool
	reads    bool // true if the client had read responses before it opened this connection
	listener *fairListener

	activity activity // listener.mu guards the fields activity and since
	since    time.Time
}

// rank returns a number for the usefulness of a connection. A larger number means a more useful connection.
func (c *counted) rank(now time.Time) int {
	age := now.Sub(c.since)
	switch {
	case c.activity == waiting && age >= waitingYoung:
		return 0
	case c.activity == idle:
		return 1
	case c.activity == responding && age >= respondingYoung:
		return 2
	case c.activity == waiting && !c.reads:
		return 3
	case c.activity == responding && !c.reads:
		return 4
	case c.activity == waiting, c.activity == responding:
		return 5
	}
	return 6
}

func (c *counted) become(now activity) {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	c.activity, c.since = now, c.listener.now()
}

// Close implements net.Conn.
func (c *counted) Close() error {
	c.listener.leave(c)
	return c.Conn.Close()
}

// followActivity makes the server record the current activity of each connection.
func followActivity(server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		c := countedOf(conn)
		switch {
		case c == nil:
		case state == http.StateActive:
			c.become(responding)
		case state == http.StateIdle:
			c.become(idle)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, countedKey{}, countedOf(conn))
	}
}

type countedKey struct{}

// markStreaming records that the request's connection is used for an event stream.
func markStreaming(r *http.Request) {
	if c, _ := r.Context().Value(countedKey{}).(*counted); c != nil {
		c.become(streaming)
	}
}

// countedOf returns conn as a connection of fairListener. If conn is a TLS connection, countedOf returns the connection
// under TLS. If conn belongs to another listener, countedOf returns nil.
func countedOf(conn net.Conn) *counted {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*counted)
	return c
}
