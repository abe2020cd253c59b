package web

import (
	"net/netip"
	"sync"

	"github.com/podlapse/podlapse/internal/peer"
)

// shares limits how many slots each client can hold at the same time. Each slot is for one request, or for one stream.
// shares is safe for concurrent use.
type shares struct {
	most int

	mu   sync.Mutex
	have map[netip.Prefix]int // number of held slots, by client
}

func newShares(most int) *shares { return &shares{most: most, have: map[netip.Prefix]int{}} }

// takeSlot takes a slot for the client at an address. The caller releases the slot with the returned
// function. If the client already holds the maximum number of slots, the method returns false.
func (s *shares) takeSlot(address string) (leave func(), ok bool) {
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
