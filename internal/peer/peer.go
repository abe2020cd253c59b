// Package peer identifies the clients of connections, so that limits apply to each of them. It does
// no I/O.
package peer

import (
	"container/list"
	"net/netip"
	"sync"
)

// Of returns the key for limits: an IPv4 address, or the network of one IPv6 host. All addresses
// that are invalid share one key.
func Of(address string) netip.Prefix {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return netip.Prefix{}
	}
	ip, bits := a.Addr().Unmap().WithZone(""), 64
	if ip.Is4() {
		bits = 32
	}
	prefix, _ := ip.Prefix(bits) // fails only for lengths that no address has
	return prefix
}

// Latest holds a value for each of the most recent peers. It is safe for concurrent use.
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

// NewLatest creates a Latest for at most most peers; start creates the value of a new one.
func NewLatest[V any](most int, start func() V) *Latest[V] {
	return &Latest[V]{most: most, start: start, known: map[netip.Prefix]*list.Element{}, order: list.New()}
}

// Of returns the value of a peer. Beyond the limit, the peer that was used longest ago is
// forgotten.
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
