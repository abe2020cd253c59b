package web

import (
	"fmt"
	"net"
	"net/netip"
	"testing"
)

// stub is a connection from an address.
type stub struct {
	net.Conn
	from string
}

func (s stub) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s.from)) }
func (s stub) Close() error         { return nil }

func TestOneClientHasItsShareAtMost(t *testing.T) {
	l := limited(nil).(*fair)
	for i := range 32 {
		if taken, yielded := l.enter(stub{from: fmt.Sprintf("10.0.0.1:%d", i)}); taken == nil || yielded != nil {
			t.Fatalf("connection %d: %v, %v", i, taken, yielded)
		}
	}
	if taken, yielded := l.enter(stub{from: "10.0.0.1:99"}); taken != nil || yielded != nil {
		t.Error("it has one more, although there is room for others")
	}
}

// TestClientsThatLeftAreForgotten: an agent lives for months, and addresses are many.
func TestClientsThatLeftAreForgotten(t *testing.T) {
	l := limited(nil).(*fair)
	for i := range 1000 {
		taken, _ := l.enter(stub{from: fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)})
		if taken == nil {
			t.Fatalf("client %d is refused", i)
		}
		_ = taken.Close()
		_ = taken.Close() // as net/http may
	}
	if len(l.open) != 0 || l.all != 0 {
		t.Errorf("%d connections of %d clients are counted", l.all, len(l.open))
	}
}
