package main

import (
	"net"
	"net/netip"
)

// checkWeb reports what was validated when the flags were read, and who may read what.
func checkWeb(c config) []finding {
	transport := "plain HTTP"
	if c.webConfigFile != "" {
		transport = "as configured in " + c.webConfigFile
	}
	names := webFinding("pods", c.who(true))
	metrics := webFinding("metrics", c.who(false))
	if c.podSeries {
		metrics.detail += "; with --metrics-pod-labels=on they name pods: to restrict them, use --web-auth=kubernetes"
	}
	return []finding{
		{"web", checkOK, transport + " at " + c.listenAddress + "; health checks and the list of paths are open to " +
			"every client", ""},
		names, metrics,
	}
}

// webFinding says who may read something.
func webFinding(what, who string) finding {
	return finding{"web " + what, checkOK, "readable by " + who, ""}
}

// who returns who may read names of pods (the API, the page and the stream), or metrics.
func (c config) who(names bool) string {
	everybody := "every client that reaches " + c.listenAddress
	if c.listensLocally() {
		everybody = "clients over loopback, because " + c.listenAddress + " is a loopback address"
	}
	switch {
	case c.webAsks.Passwords:
		everybody = "clients with a password"
	case c.webAsks.Certificates:
		everybody = "clients with a client certificate"
	}
	switch {
	case c.webAuth == webAuthKubernetes:
		return "clients that the API server allows (--web-auth=kubernetes)"
	case c.webAuth == webAuthLocal && names:
		return "clients over loopback (kubectl port-forward, kubectl podlapse); --web-auth=kubernetes opens the " +
			"API to clients with a token, --web-auth=none to every client"
	case names:
		return everybody + " (--web-auth=none): the API, the page and the stream name the pods of all namespaces"
	}
	return everybody
}

// listensLocally reports whether only the node, or the agent's own pod, can reach the address.
func (c config) listensLocally() bool {
	host, _, err := net.SplitHostPort(c.listenAddress)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
