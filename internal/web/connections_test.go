package web

import (
	"encoding/binary"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/peer"
)

// stub is a connection from an address.
type stub struct {
	net.Conn
	from string
}

func (s stub) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(s.from)) }
func (s stub) LocalAddr() net.Addr {
	return net.TCPAddrFromAddrPort(netip.MustParseAddrPort("10.0.9.9:9717"))
}
func (s stub) Close() error { return nil }

func TestClientIsLimitedToItsShare(t *testing.T) {
	l := limited(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
	for i := range 32 {
		if taken, yielded := l.enter(stub{from: fmt.Sprintf("10.0.0.1:%d", i)}); taken == nil || yielded != nil {
			t.Fatalf("connection %d: %v, %v", i, taken, yielded)
		}
	}
	if taken, yielded := l.enter(stub{from: "10.0.0.1:99"}); taken != nil || yielded != nil {
		t.Error("it has one more, although there is room for others")
	}
}

// TestDisconnectedClientsAreForgotten: an agent lives for months, and addresses are many.
func TestDisconnectedClientsAreForgotten(t *testing.T) {
	l := limited(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
	for i := range 1000 {
		taken, _ := l.enter(stub{from: fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)})
		if taken == nil {
			t.Fatalf("client %d is refused", i)
		}
		_ = taken.Close()
		_ = taken.Close() // as net/http may
	}
	if len(l.open) != 0 || len(l.have) != 0 {
		t.Errorf("%d connections of %d clients are counted", len(l.open), len(l.have))
	}
}

// TestLeastUsefulConnectionIsClosed fills all places by clients with one connection each, one of which
// is of less use than the others.
func TestLeastUsefulConnectionIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		others, one activity
		age         time.Duration // of the one
	}{
		"never asked, of some that are idle":         {idle, waiting, waitingYoung},
		"idle, of some that just came":               {waiting, idle, 0},
		"idle for longer":                            {idle, idle, time.Second},
		"does not read, of some that just came":      {waiting, answering, answeringYoung},
		"just came, of some that are answered":       {answering, waiting, 0},
		"is answered for longer":                     {answering, answering, time.Second},
		"is answered, of some that follow changes":   {streaming, answering, 0},
		"follows changes for longer than the others": {streaming, streaming, time.Hour},
	} {
		now := time.Unix(1e9, 0)
		l := limited(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
		l.now = func() time.Time { return now }
		var worst *counted
		for i := range maxConnections {
			taken, _ := l.enter(stub{from: fmt.Sprintf("10.1.0.%d:1", i)})
			taken.activity = test.others
			if i == maxConnections/2 {
				taken.activity, taken.since, worst = test.one, now.Add(-test.age), taken
			}
		}
		if taken, yielded := l.enter(stub{from: "10.2.0.1:1"}); taken == nil || yielded != worst {
			t.Errorf("%s: %v, %v", name, taken, yielded)
		}
	}
}

// TestConnectionsAreReservedForTheNode: whoever comes from elsewhere takes none of the last that the node
// has, and kubelet always gets in.
func TestConnectionsAreReservedForTheNode(t *testing.T) {
	l := limited(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
	l.near = nearby{netip.MustParseAddr("10.0.9.1")}
	var probes []*counted
	for range reservedForNearby {
		probe, _ := l.enter(stub{from: "10.0.9.1:1"})
		probes = append(probes, probe)
	}
	for i := range 3 * maxConnections {
		_, yielded := l.enter(stub{from: fmt.Sprintf("10.1.%d.%d:1", i/256, i%256)})
		if slices.Contains(probes, yielded) {
			t.Fatal("a probe yielded to a client from elsewhere")
		}
	}
	for _, probe := range probes {
		_ = probe.Close()
	}
	for range 3 { // liveness, readiness, and one that is late
		if taken, _ := l.enter(stub{from: "10.0.9.1:1"}); taken == nil {
			t.Error("a probe is refused")
		}
	}
	for i := range maxConnections { // that look like kubelet
		taken, _ := l.enter(stub{from: fmt.Sprintf("10.0.9.1:%d", i+1)})
		if taken == nil && l.have[peer.Of("10.0.9.1:1")] >= maxPerClient {
			t.Error("a probe is refused behind others of its address")
		}
	}
}

func TestGatewaysAreRead(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the lines are of a little-endian machine")
	}
	for line, want := range map[string]string{
		"eth0\t00000000\t0100F40A\t0003\t0\t0\t0\t00000000\t0\t0\t0": "10.244.0.1",
		"eth0\t00000000\t0101FEA9\t0003\t0\t0\t0\t00000000\t0\t0\t0": "169.254.1.1",
		"eth0\t0000F40A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0": "",
		"Iface\tDestination\tGateway \tFlags":                        "", "": "", "eth0\t0\t1": "",
	} {
		got, ok := gatewayOf(line)
		if ok != (want != "") || ok && got.String() != want {
			t.Errorf("%q: %s, %t", line, got, ok)
		}
	}
}
