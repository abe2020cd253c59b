package web

import (
	"net/netip"
	"sync"
)

// shares bounds how many of something one client has at once. It is safe for concurrent use.
type shares struct {
	most int

	mu   sync.Mutex
	have map[netip.Prefix]int // of clients that have any
}

func newShares(most int) *shares { return &shares{most: most, have: map[netip.Prefix]int{}} }

// enter takes one for the client at an address, if that leaves it within its share, until leave is called.
func (s *shares) enter(address string) (leave func(), ok bool) {
	client := clientOf(address)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[client] >= s.most {
		return nil, false
	}
	s.have[client]++
	return sync.OnceFunc(func() { s.leave(client) }), true
}

func (s *shares) leave(client netip.Prefix) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.have[client]--; s.have[client] == 0 {
		delete(s.have, client)
	}
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
