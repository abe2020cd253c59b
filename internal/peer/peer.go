// Package peer tells apart who is at the other end of connections, so that limits hold for each of
// them. It does no I/O.
package peer

import (
	"container/list"
	"net/netip"
	"sync"
)

// Of is whom limits are for: an IPv4 address, or the network that one IPv6 host has to itself. What
// has no address is one peer.
func Of(address string) netip.Prefix {
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

// Latest remembers something of each of the peers that came last. It is safe for concurrent use.
type Latest[V any] struct {
	most  int
	start func() V

	mu    sync.Mutex
	known map[netip.Prefix]*list.Element
	order *list.List // of remembered[V], the latest first
}

type remembered[V any] struct {
	peer  netip.Prefix
	value V
}

// NewLatest remembers as many peers at most; start makes what a new one begins with.
func NewLatest[V any](most int, start func() V) *Latest[V] {
	return &Latest[V]{most: most, start: start, known: map[netip.Prefix]*list.Element{}, order: list.New()}
}

// Of is what is remembered of a peer. Of more peers than are remembered, the one that was asked
// about longest ago is forgotten.
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
