package web

import (
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// nodeAddresses lists addresses from which the agent's own node connects, so that the agent recognizes the kubelet. If
// the agent uses the pod network, the node usually connects from the address of the pod's gateway. If the agent uses
// the host network, the node connects from the agent's own address, which isFromNode also accepts. If isFromNode does
// not recognize a client on the node, this client has the same limits as a client on another host.
type nodeAddresses []netip.Addr

// newNodeAddresses reads the gateways from the kernel's routing table. If newNodeAddresses cannot read the routing
// table, it returns no gateways.
func newNodeAddresses() nodeAddresses {
	routes, _ := os.ReadFile("/proc/net/route")
	var gateways nodeAddresses
	for line := range strings.Lines(string(routes)) {
		if gateway, ok := gatewayOf(line); ok && !slices.Contains(gateways, gateway) {
			gateways = append(gateways, gateway)
		}
	}
	return gateways
}

// gatewayOf parses a line of /proc/net/route. The first fields are the interface, the destination and the gateway.
// Addresses are hexadecimal words in the machine's byte order.
func gatewayOf(line string) (netip.Addr, bool) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return netip.Addr{}, false
	}
	word, err := hex.DecodeString(fields[2])
	if err != nil || len(word) != 4 {
		return netip.Addr{}, false
	}
	var bytes [4]byte
	binary.NativeEndian.PutUint32(bytes[:], binary.BigEndian.Uint32(word))
	gateway := netip.AddrFrom4(bytes)
	return gateway, !gateway.IsUnspecified()
}

// isFromNode reports whether a connection comes from the agent's own node.
func (n nodeAddresses) isFromNode(conn net.Conn) bool {
	remote, ok := addressOf(conn.RemoteAddr())
	if !ok {
		return false
	}
	local, ok := addressOf(conn.LocalAddr())
	return ok && local == remote || slices.Contains(n, remote)
}

func addressOf(a net.Addr) (netip.Addr, bool) {
	if a == nil {
		return netip.Addr{}, false
	}
	address, err := netip.ParseAddrPort(a.String())
	return address.Addr().Unmap().WithZone(""), err == nil
}
