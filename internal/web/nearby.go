package web

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
)

// nearby knows from which addresses the agent's own node asks, as kubelet does. Of a pod with a
// network of its own that is its gateway, on most networks; of one on the node's network, whatever
// asks from an address that is also the agent's. A client that is not taken for the node only has
// less that is sure.
type nearby []netip.Addr

// newNearby reads the gateways, and knows none where there is no table of routes.
func newNearby() nearby {
	file, err := os.Open("/proc/net/route")
	if err != nil {
		return nil
	}
	defer file.Close()
	var gateways nearby
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if gateway, ok := gatewayOf(lines.Text()); ok && !slices.Contains(gateways, gateway) {
			gateways = append(gateways, gateway)
		}
	}
	return gateways
}

// gatewayOf reads a line of /proc/net/route: interface, destination, gateway and so on, addresses
// as hexadecimal words in the order of the machine's bytes.
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

// has says whether a connection comes from the agent's own node.
func (n nearby) has(conn net.Conn) bool {
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
