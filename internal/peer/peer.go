// Package peer identifies the clients of connections, so that each client has its own limits. The package does no
// I/O.
package peer

import (
	"container/list"
	"net/netip"
	"sync"
)

// Of returns the key for the limits of a client: the IPv4 address, or the /64 network of an IPv6 address. All
// invalid addresses have the same key.
func Of(address string) netip.Prefix {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := a.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // fails only if the number of bits is invalid
	return prefix
}

// Latest holds one value for each of the most recently used peers. Latest is safe for concurrent use.
type Latest[V any] struct {
	most  int
	start func() V

	mu    sync.Mutex
	known map[netip.Prefix]*list.Element
	order *list.List // list of remembered[V], most recently used first
}

type remembered[V any] struct {
	peer  netip.Prefix
	value V
}

// NewLatest creates a Latest for at most the given number of peers. The function "start" creates the value of a new
// peer.
func NewLatest[V any](most int, start func() V) *Latest[V] {
	return &Latest[V]{most: most, start: start, known: map[netip.Prefix]*list.Element{}, order: list.New()}
}

// Of returns the value of a peer. If the maximum is reached, a new peer replaces the least recently used peer.
func (l *Latest[V]) Of(peer netip.Prefix) V {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e, ok := l.known[peer]; ok {
		l.order.MoveToFront(e)
		return e.Value.(remembered[V]).value
	}
	if l.order.Len() >= l.most {
		delete(l.known, l.order.Remove(l.order.Back()).(remembered[V]).peer)
	}
	value := l.start()
	l.known[peer] = l.order.PushFront(remembered[V]{peer, value})
	return value
}
