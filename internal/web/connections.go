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
	// maxConnections limits the memory for connections: some 50 KiB each with TLS.
	maxConnections = 128
	// maxPerClient leaves connections for other clients when one client opens as many as it can.
	maxPerClient = 32
	// guaranteedPerClient is how many connections every client can always have, even if all slots are taken: the
	// kubelet's two probes, or a scraper's old connection and its new one.
	guaranteedPerClient = 2
	// guaranteedNearby is guaranteedPerClient for clients on the agent's own node, such as the kubelet. Forwarded
	// ports come from there as well.
	guaranteedNearby = 4
	// takeRate and takeBurst limit how often one client may replace the connections of others to
	// get its guaranteedPerClient, per second and at once. This leaves a scraper the time to send its request, even if
	// many clients keep reconnecting.
	takeRate, takeBurst = 1, guaranteedPerClient
	// reservedForNearby is how many connections from the agent's own node do not yield to clients from
	// elsewhere: both probes, twice.
	reservedForNearby = 4
)

// limited limits the connections of a listener, in total and per client.
func limited(l net.Listener, reads func(netip.Prefix) bool, dropped counters) *fair {
	return &fair{Listener: l, dropped: dropped, reads: reads, near: newNearby(), now: time.Now,
		open: map[*counted]bool{}, have: map[netip.Prefix]int{},
		takes: peer.NewLatest(maxClients, func() *rate.Limiter { return rate.NewLimiter(takeRate, takeBurst) })}
}

// fair closes a connection at once if its client already has its share. When all slots are taken,
// the least useful connection yields to a client that has fewer. So neither a few clients that hold
// all the connections they can get, nor many clients with one connection each, keep out the
// kubelet's probes or a scraper, and no connection waits in the kernel's queue behind them.
type fair struct {
	net.Listener
	dropped counters
	reads   func(netip.Prefix) bool // reports whether a client is known to read its responses
	near    nearby
	now     func() time.Time
	takes   *peer.Latest[*rate.Limiter]

	mu   sync.Mutex
	open map[*counted]bool
	have map[netip.Prefix]int // connections; only clients that have any
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
			_ = yielded.Close() // the client notices, as with the next one
		}
		if taken != nil {
			return taken, nil
		}
		_ = conn.Close()
	}
}

// enter counts a connection, or returns nil if there is no slot for it. It no longer counts the
// connection that yields.
func (l *fair) enter(conn net.Conn) (taken, yielded *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	client := peer.Of(conn.RemoteAddr().String())
	c := &counted{
		Conn: conn, client: client, near: l.near.has(conn), reads: l.reads(client), listener: l, since: l.now(),
	}
	have := l.have[c.client]
	switch {
	case have >= maxPerClient && !c.near:
		l.dropped.count(droppedConnection)
		return nil, nil
	case have >= maxPerClient: // every client behind the node's address looks like the kubelet
		yielded = l.least(func(other *counted) bool { return other.client == c.client })
	case len(l.open) >= maxConnections:
		if yielded = l.least(l.yieldsTo(c, have)); yielded == nil {
			l.dropped.count(droppedFull)
			return nil, nil
		}
	}
	if yielded != nil {
		l.dropped.count(droppedYielded)
		l.remove(yielded)
	}
	l.open[c] = true
	l.have[c.client]++
	return c, yielded
}

// yieldsTo returns which connections yield to c, whose client already has the given number: any
// connection if the client is below its guaranteed number, otherwise those of clients that still
// have more after that.
func (l *fair) yieldsTo(c *counted, have int) func(*counted) bool {
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

// least returns the least useful connection that may yield, or nil if there is none.
func (l *fair) least(may func(*counted) bool) *counted {
	now := l.now()
	var least *counted
	for c := range l.open {
		if may(c) && (least == nil || l.lessUse(c, least, now)) {
			least = c
		}
	}
	return least
}

// lessUse reports whether a yields before b: the less useful one yields first, then the one whose client has more
// connections, then the one that has been in its state longer.
func (l *fair) lessUse(a, b *counted, now time.Time) bool {
	if p, q := a.use(now), b.use(now); p != q {
		return p < q
	}
	if p, q := l.have[a.client], l.have[b.client]; p != q {
		return p > q
	}
	return a.since.Before(b.since)
}

func (l *fair) leave(c *counted) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remove(c)
}

// remove does nothing if the connection is no longer counted.
func (l *fair) remove(c *counted) {
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
	waiting   activity = iota // for the end of its first header
	idle                      // between two requests
	answering                 // a request
	streaming                 // an event stream
)

const (
	// waitingYoung is how long a client may take to send its first request. After that, its connection is less useful
	// than one that was answered.
	waitingYoung = time.Second
	// answeringYoung is how long a response usually takes at most, also on a slow network.
	answeringYoung = 2 * time.Second
)

// counted is a connection that frees its slot when it is closed.
type counted struct {
	net.Conn
	client   netip.Prefix
	near     bool
	reads    bool // the client was known to read its responses when it connected
	listener *fair

	activity activity // guarded by listener.mu, as is since
	since    time.Time
}

// use ranks connections by how useful they are, the least useful first.
func (c *counted) use(now time.Time) int {
	age := now.Sub(c.since)
	switch {
	case c.activity == waiting && age >= waitingYoung:
		return 0
	case c.activity == idle:
		return 1
	case c.activity == answering && age >= answeringYoung:
		return 2
	case c.activity == waiting && !c.reads:
		return 3
	case c.activity == answering && !c.reads:
		return 4
	case c.activity == waiting, c.activity == answering:
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

// followActivity makes the server record what its connections are used for.
func followActivity(server *http.Server) {
	server.ConnState = func(conn net.Conn, state http.ConnState) {
		c := countedOf(conn)
		switch {
		case c == nil:
		case state == http.StateActive:
			c.become(answering)
		case state == http.StateIdle:
			c.become(idle)
		}
	}
	server.ConnContext = func(ctx context.Context, conn net.Conn) context.Context {
		return context.WithValue(ctx, countedKey{}, countedOf(conn))
	}
}

type countedKey struct{}

// streams records that the request's connection carries an event stream.
func streams(r *http.Request) {
	if c, _ := r.Context().Value(countedKey{}).(*counted); c != nil {
		c.become(streaming)
	}
}

// countedOf returns nil for a connection of another listener.
func countedOf(conn net.Conn) *counted {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*counted)
	return c
}
