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

// reasonTexts lists the texts of the kubelet's problems. The kubelet joins its problems in the message of the condition
// Ready: see ReadyCondition in pkg/kubelet/nodestatus/setters.go and pkg/kubelet/runtime.go of Kubernetes 1.36.
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

// reasonsOf returns the problems in the message of the condition Ready.
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

// phases lists the possible phases of a node that has these problems.
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
