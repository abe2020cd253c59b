package main

import (
	"net"
	"net/netip"
)

// checkWeb tells what was tested when the flags were read, and what is open to whom.
func checkWeb(c config) []finding {
	transport := "plain HTTP"
	if c.webConfigFile != "" {
		transport = "as " + c.webConfigFile + " says"
	}
	names := webFinding("pods", c.who(true))
	metrics := webFinding("metrics", c.who(false))
	if c.podSeries {
		metrics.detail += "; with --metrics-pod-labels=on they name pods: use --web-auth=kubernetes where others must not see that"
	}
	return []finding{
		{"web", checkOK, transport + " at " + c.listenAddress + "; health checks and the list of addresses are open to every client", ""},
		names, metrics,
	}
}

// webFinding is about what is served.
func webFinding(what, who string) finding {
	return finding{"web " + what, checkOK, "may be read by " + who, ""}
}

// who may read names of pods (the API, the page and the stream), or metrics.
func (c config) who(names bool) string {
	everybody := "everybody who reaches " + c.listenAddress
	if c.listensLocally() {
		everybody = "who asks over loopback, which " + c.listenAddress + " is"
	}
	switch {
	case c.webAsks.Passwords:
		everybody = "who has a password"
	case c.webAsks.Certificates:
		everybody = "who has a client certificate"
	}
	switch {
	case c.webAuth == webAuthKubernetes:
		return "whom the API server lets (--web-auth=kubernetes)"
	case c.webAuth == webAuthLocal && names:
		return "who asks over loopback (kubectl port-forward, kubectl podlapse); --web-auth=kubernetes opens the API for tokens, --web-auth=none for everybody"
	case names:
		return everybody + " (--web-auth=none): the API, the page and the stream name the pods of all namespaces"
	}
	return everybody
}

// listensLocally says that nothing but the node, or the agent's own pod, reaches the address.
func (c config) listensLocally() bool {
	host, _, err := net.SplitHostPort(c.listenAddress)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}
