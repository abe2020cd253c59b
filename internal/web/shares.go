package web

import (
	"net/netip"
	"sync"

	"github.com/podlapse/podlapse/internal/peer"
)

// shares limits how many slots of one kind a client can hold at once. It is safe for concurrent use.
type shares struct {
	most int

	mu   sync.Mutex
	have map[netip.Prefix]int // only clients that have any
}

func newShares(most int) *shares { return &shares{most: most, have: map[netip.Prefix]int{}} }

// enter takes a slot for the client at an address, until leave is called. It returns false if the client already holds
// as many as it may.
func (s *shares) enter(address string) (leave func(), ok bool) {
	client := peer.Of(address)
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
