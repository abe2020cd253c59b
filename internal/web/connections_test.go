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

// stub is a fake connection from the address in the field "from".
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
	l := limitConnections(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
	for i := range 32 {
		if taken, yielded := l.enter(stub{from: fmt.Sprintf("10.0.0.1:%d", i)}); taken == nil || yielded != nil {
			t.Fatalf("connection %d: %v, %v", i, taken, yielded)
		}
	}
	if taken, yielded := l.enter(stub{from: "10.0.0.1:99"}); taken != nil || yielded != nil {
		t.Error("a client has more than its share")
	}
}

// An agent runs for months and sees an unlimited number of addresses, so it must forget disconnected clients.
func TestDisconnectedClientsAreForgotten(t *testing.T) {
	l := limitConnections(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
	for i := range 1000 {
		taken, _ := l.enter(stub{from: fmt.Sprintf("10.0.%d.%d:1", i/256, i%256)})
		if taken == nil {
			t.Fatalf("client %d was refused", i)
		}
		_ = taken.Close()
		_ = taken.Close() // net/http can close a connection twice
	}
	if len(l.open) != 0 || len(l.have) != 0 {
		t.Errorf("still counting %d connections of %d clients", len(l.open), len(l.have))
	}
}

// TestLeastUsefulConnectionIsClosed fills all slots with clients that have one connection each. One of these
// connections is less useful than the others.
func TestLeastUsefulConnectionIsClosed(t *testing.T) {
	for name, test := range map[string]struct {
		others, one activity
		age         time.Duration // age of the less useful connection
	}{
		"no request yet, among idle ones": {idle, waiting, waitingYoung},
		"idle, among new ones":            {waiting, idle, 0},
		"idle for longest":                {idle, idle, time.Second},
		"not reading, among new ones":     {waiting, responding, respondingYoung},
		"new, among ones being served":    {responding, waiting, 0},
		"being served for longest":        {responding, responding, time.Second},
		"being served, among streams":     {streaming, responding, 0},
		"the longest stream":              {streaming, streaming, time.Hour},
	} {
		now := time.Unix(1e9, 0)
		l := limitConnections(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
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

// Clients from other hosts cannot use the last slots, which are reserved for the node. The kubelet can always
// connect.
func TestConnectionsAreReservedForTheNode(t *testing.T) {
	l := limitConnections(nil, func(netip.Prefix) bool { return false }, newCounters(nil))
	l.near = nodeAddresses{netip.MustParseAddr("10.0.9.1")}
	var probes []*counted
	for range reservedForNearby {
		probe, _ := l.enter(stub{from: "10.0.9.1:1"})
		probes = append(probes, probe)
	}
	for i := range 3 * maxConnections {
		_, yielded := l.enter(stub{from: fmt.Sprintf("10.1.%d.%d:1", i/256, i%256)})
		if slices.Contains(probes, yielded) {
			t.Fatal("a probe's connection was closed for a client from another host")
		}
	}
	for _, probe := range probes {
		_ = probe.Close()
	}
	for range 3 { // a liveness probe, a readiness probe, and a late probe
		if taken, _ := l.enter(stub{from: "10.0.9.1:1"}); taken == nil {
			t.Error("a probe was refused")
		}
	}
	for i := range maxConnections { // these clients have the kubelet's address
		taken, _ := l.enter(stub{from: fmt.Sprintf("10.0.9.1:%d", i+1)})
		if taken == nil && l.have[peer.Of("10.0.9.1:1")] >= maxPerClient {
			t.Error("a probe was refused because of others with its address")
		}
	}
}

func TestGatewaysAreRead(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the lines are from a little-endian machine")
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
