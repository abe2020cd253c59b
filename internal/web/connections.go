package web

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/podlapse/podlapse/internal/peer"
)

const (
	// maxConnections bounds what connections cost: some 50 KiB each with TLS.
	maxConnections = 128
	// maxPerClient leaves room for the others when one client takes all it can get.
	maxPerClient = 32
	// sureOfOne is how many connections any client gets, even if all others have no more: kubelet's
	// two probes, or a scraper's old connection and its new one.
	sureOfOne = 2
	// sureOfNear is the same for a client on the agent's own node, as kubelet is; forwarded ports
	// come from there as well.
	sureOfNear = 4
	// takeRate and takeBurst are how often one client may take from others what it is sure of, a
	// second and at once: a crowd that comes again and again must leave a scraper the time to ask.
	takeRate, takeBurst = 1, sureOfOne
	// keptForNear is how many connections of such clients yield to none from elsewhere: both probes, twice.
	keptForNear = 4
)

// limited bounds the connections of a listener, in all and of each client.
func limited(l net.Listener, reads func(netip.Prefix) bool, dropped counters) *fair {
	return &fair{Listener: l, dropped: dropped, reads: reads, near: newNearby(), now: time.Now,
		open:  map[netip.Prefix][]*counted{},
		takes: peer.NewLatest(maxClients, func() *rate.Limiter { return rate.NewLimiter(takeRate, takeBurst) })}
}

// fair closes at once what one client opens beyond its share. When there are as many as may be, the
// connection that is of the least use yields to a client that has less: neither a few clients that
// hold on to all they can get nor many with one connection each keep kubelet's probes out, or a
// scraper, and nobody waits in the kernel's queue behind them.
type fair struct {
	net.Listener
	dropped counters
	reads   func(netip.Prefix) bool // whether a client is known to read its answers
	near    nearby
	now     func() time.Time
	takes   *peer.Latest[*rate.Limiter]

	mu   sync.Mutex
	open map[netip.Prefix][]*counted // of clients that have any
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
	c := &counted{Conn: conn, client: peer.Of(conn.RemoteAddr().String()), near: l.near.has(conn), listener: l,
		since: l.now()}
	c.reads = l.reads(c.client)
	have := len(l.open[c.client])
	switch {
	case have >= maxPerClient && !c.near:
		l.dropped.count(droppedConnection)
		return nil, nil
	case have >= maxPerClient: // all that comes through the node's address can look like kubelet
		yielded = l.least(func(other *counted) bool { return other.client == c.client })
	case l.all >= maxConnections:
		if yielded = l.least(l.yieldsTo(c, have)); yielded == nil {
			l.dropped.count(droppedFull)
			return nil, nil
		}
	}
	if yielded != nil {
		l.dropped.count(droppedYielded)
		l.remove(yielded)
	}
	l.open[c.client] = append(l.open[c.client], c)
	l.all++
	return c, yielded
}

// yieldsTo says which connections yield to one of a client that has so many: any to what it is sure
// of, else those of clients that have more even after that.
func (l *fair) yieldsTo(c *counted, have int) func(*counted) bool {
	sure, near := sureOfOne, 0
	if c.near {
		sure = sureOfNear
	}
	for _, other := range l.every() {
		if other.near {
			near++
		}
	}
	takes := have < sure && (c.near || l.takes.Of(c.client).AllowN(l.now(), 1))
	return func(other *counted) bool {
		if other.near && !c.near && near <= keptForNear {
			return false
		}
		return takes || len(l.open[other.client]) >= have+2
	}
}

// least is the connection that is of the least use, of those that may yield; nil if there is none.
func (l *fair) least(may func(*counted) bool) *counted {
	now := l.now()
	var least *counted
	for _, c := range l.every() {
		if may(c) && (least == nil || l.lessUse(c, least, now)) {
			least = c
		}
	}
	return least
}

// lessUse prefers what yields in the order of use, then what is of the client that has the most,
// then what has been so the longest.
func (l *fair) lessUse(a, b *counted, now time.Time) bool {
	if p, q := a.use(now), b.use(now); p != q {
		return p < q
	}
	if p, q := len(l.open[a.client]), len(l.open[b.client]); p != q {
		return p > q
	}
	return a.since.Before(b.since)
}

func (l *fair) every() []*counted {
	every := make([]*counted, 0, l.all)
	for _, of := range l.open {
		every = append(every, of...)
	}
	return every
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

// activity is what a connection is used for.
type activity int

const (
	waiting   activity = iota // for the end of its first header
	idle                      // between two requests
	answering                 // a request
	streaming                 // changes, for as long as they are read
)

const (
	// waitingYoung is how long a client may take to ask, before its connection is worth less than
	// one that was answered.
	waitingYoung = time.Second
	// answeringYoung is how long an answer usually takes at most, also on a slow network.
	answeringYoung = 2 * time.Second
)

// counted is a connection that gives its place back.
type counted struct {
	net.Conn
	client   netip.Prefix
	near     bool
	reads    bool // the client was known to read its answers
	listener *fair

	activity activity // guarded by listener.mu, as since is
	since    time.Time
}

// use orders connections: the least first.
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

// followActivity has a server say what its connections are used for.
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

// streams says that the request's connection is used for a stream.
func streams(r *http.Request) {
	if c, _ := r.Context().Value(countedKey{}).(*counted); c != nil {
		c.become(streaming)
	}
}

// countedOf is nil for a connection of another listener.
func countedOf(conn net.Conn) *counted {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	c, _ := conn.(*counted)
	return c
}
