package probe

import (
	"fmt"
	"net"
	"net/netip"
	"syscall"
)

// If the agent knows a registry only from a pod's image reference, the agent does not connect to the addresses in the
// list "refused". The list contains, for example, the addresses of clouds' metadata services, which return credentials.
// The list also contains addresses that no host can have.
var refused = []netip.Prefix{
	// link-local addresses: metadata services of AWS, Azure, Google Cloud, OpenStack, Oracle, ECS and EKS Pod Identity
	netip.MustParsePrefix("169.254.0.0/16"),
	netip.MustParsePrefix("fe80::/10"),        // link-local addresses
	netip.MustParsePrefix("fd00:ec2::/32"),    // services of AWS: metadata, time, DNS and EKS Pod Identity
	netip.MustParsePrefix("fd20:ce::/32"),     // metadata service of Google Cloud
	netip.MustParsePrefix("100.100.100.0/24"), // metadata service of Alibaba Cloud
	netip.MustParsePrefix("192.0.0.192/32"),   // metadata service of Oracle Cloud Classic
	netip.MustParsePrefix("168.63.129.16/32"), // WireServer of Azure
	netip.MustParsePrefix("0.0.0.0/8"),        // the kernel treats 0.0.0.0 as an address of the host itself
	netip.MustParsePrefix("::/128"),
	netip.MustParsePrefix("224.0.0.0/4"), // multicast addresses and reserved addresses
	netip.MustParsePrefix("240.0.0.0/4"),
	netip.MustParsePrefix("ff00::/8"),
}

// nat64 is the prefix of IPv6 addresses that contain an IPv4 address in their last four bytes (RFC 6052).
var nat64 = netip.MustParsePrefix("64:ff9b::/96")

// checkAddress refuses the addresses in the list "refused". If the argument "loopback" is false, checkAddress also
// refuses loopback addresses. A loopback address belongs to the agent's own pod or, with host networking, to the node.
func checkAddress(address netip.Addr, loopback bool) error {
	address = address.Unmap().WithZone("")
	if nat64.Contains(address) {
		bytes := address.As16()
		address = netip.AddrFrom4([4]byte(bytes[12:]))
	}
	if address.IsLoopback() {
		if loopback {
			return nil
		}
		return fmt.Errorf("%s is a loopback address, and the agent does not probe registries at loopback addresses by "+
			"default: for an HTTP registry, add the registry to registries.plain_http; for an HTTPS registry, add "+
			"a probe to the list \"probes\"",
			address)
	}
	for _, prefix := range refused {
		if prefix.Contains(address) {
			return fmt.Errorf("%s is in the reserved range %s: registries cannot have this address", address, prefix)
		}
	}
	return nil
}

// checkFollowed returns an error if a registry's host is invalid. If the host is an IP address, checkFollowed also
// returns the error of checkAddress.
func checkFollowed(host string, loopback bool) error {
	if err := checkRegistry(host); err != nil {
		return err
	}
	name := host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		name = bare
	}
	if address, err := netip.ParseAddr(name); err == nil {
		return checkAddress(address, loopback)
	}
	return nil
}

// guardedDialer returns a dialer that checks each address immediately before it connects to this address. An earlier
// check is not sufficient, because each DNS lookup of a name can return different addresses.
func guardedDialer(loopback bool) *net.Dialer {
	return &net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("connect to a registry: %w", err)
		}
		return checkAddress(at.Addr(), loopback)
	}}
}
