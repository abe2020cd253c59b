package layout

import "strconv"

// Loopback is the only address on which the lab listens.
const Loopback = "127.0.0.1"

// NodeName is the name of the lab's only node.
const NodeName = "node-1"

// The lab's ports are fixed. The ports differ from the usual ports, so that the lab can run alongside a real cluster.
// The ports are below the kernel's ephemeral range, so that no outgoing connection uses them.
const (
	OTLPHTTPPort   = 24318
	OTLPGRPCPort   = 24317
	PrometheusPort = 29090
	NativePort     = 29091 // Prometheus that accepts native histograms
	EtcdPort       = 23790
	EtcdPeerPort   = 23800
	RegistryPort   = 25000
	ControlPort    = 25001
	MirrorPort     = 25002 // second registry, which one scenario runs as a goroutine
	MirrorControl  = 25003
	NodeMirrorPort = 25004 // second port of the lab's registry; some stacks use this port as the registry's mirror
	KubeletHealth  = 26248
	KubeletPort    = 26250
	ControllerPort = 26257
	SchedulerPort  = 26259
	APIServerPort  = 26443
	AgentPort      = 9717
	FirstExtraPort = 9718 // first agent in addition to the node's own agent; further agents use the next ports
)

// Address returns the loopback address with the given port.
func Address(port int) string { return Loopback + ":" + strconv.Itoa(port) }
