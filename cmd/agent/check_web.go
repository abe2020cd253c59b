package main

import (
	"net"
	"net/netip"
)

// checkWeb reports the address and the access rules of the HTTP server. The flag parser has already validated the
// address and the access rules.
func checkWeb(c config) []finding {
	transport := "plain HTTP"
	if c.webConfigFile != "" {
		transport = "as configured in " + c.webConfigFile
	}
	names := webFinding("pods", c.who(true))
	metrics := webFinding("metrics", c.who(false))
	const remedy = ": to restrict metrics, use --web-auth=kubernetes"
	switch {
	case c.podSeries:
		metrics.detail += "; with --metrics-pod-labels=on, metrics contain pod names" + remedy
	case c.workloads > 0:
		metrics.detail += "; with --metrics-workloads, metrics contain names of workloads" + remedy
	}
	return []finding{
		{"web", checkOK, transport + " at " + c.listenAddress + "; health checks and the list of paths are open to " +
			"every client", ""},
		names, metrics,
	}
}

// webFinding returns the finding that names the clients with read access.
func webFinding(what, who string) finding {
	return finding{"web " + what, checkOK, "readable by " + who, ""}
}

// The method "who" returns a text that describes the clients with read access. If the argument "names" is true, the
// text describes the clients that can read pod names (API, page and stream). If the argument "names" is false, the text
// describes the clients that can read metrics.
func (c config) who(names bool) string {
	readers := "every client that reaches " + c.listenAddress
	if c.listensLocally() {
		readers = "clients over loopback, because " + c.listenAddress + " is a loopback address"
	}
	switch {
	case c.webRequires.Passwords:
		readers = "clients with a password"
	case c.webRequires.Certificates:
		readers = "clients with a client certificate"
	}
	switch {
	case c.webAuth == webAuthKubernetes:
		return "clients that the API server allows (--web-auth=kubernetes)"
	case c.webAuth == webAuthLocal && names:
		return "clients over loopback (kubectl port-forward, kubectl podlapse); --web-auth=kubernetes also opens the " +
			"API to clients with a token; --web-auth=none opens the API to every client"
	case names:
		return readers + " (--web-auth=none): the API, the page and the stream show pods of all namespaces"
	}
	return readers
}

// listensLocally reports whether only clients on the node or in the agent's own pod can reach the listen address.
func (c config) listensLocally() bool {
	host, _, err := net.SplitHostPort(c.listenAddress)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
