package nodestart

import "strings"

// reason is a set of problems that make the kubelet report the node as not ready.
type reason uint8

const (
	reasonRuntime reason = 1 << iota
	reasonNetwork
	reasonKubelet // a problem of the kubelet itself, or an unknown problem
	reasonUnknown // the kubelet has not yet checked the runtime and the network
)

// reasonTexts lists the texts with which the kubelet reports its problems. The message of the condition Ready can
// contain several of these texts: see ReadyCondition in pkg/kubelet/nodestatus/setters.go and pkg/kubelet/runtime.go of
// Kubernetes 1.36.
var reasonTexts = []struct {
	text string
	of   reason
}{
	{"container runtime network not ready", reasonNetwork},
	{"network state unknown", reasonUnknown},
	{"container runtime status check may not have completed yet", reasonUnknown},
	{"container runtime is down", reasonRuntime},
	{"container runtime not ready", reasonRuntime},
	{"PLEG is not healthy", reasonRuntime},
	{"CSINode is not yet initialized", reasonKubelet},
	{"node is shutting down", reasonKubelet},
	{"missing node capacity", reasonKubelet},
}

// reasonsOf returns the problems that a message of the condition Ready reports.
func reasonsOf(message string) (found reason) {
	for _, known := range reasonTexts {
		if strings.Contains(message, known.text) {
			found |= known.of
		}
	}
	if found == 0 {
		return reasonKubelet
	}
	return found
}

// phases lists the phases in which a node with these problems can be.
func (r reason) phases() []Phase {
	if r&reasonUnknown != 0 {
		return []Phase{PhaseRuntime, PhaseNetworkPlugin, PhaseKubelet}
	}
	var all []Phase
	for _, one := range []struct {
		of    reason
		phase Phase
	}{{reasonRuntime, PhaseRuntime}, {reasonNetwork, PhaseNetworkPlugin}, {reasonKubelet, PhaseKubelet}} {
		if r&one.of != 0 {
			all = append(all, one.phase)
		}
	}
	return all
}
