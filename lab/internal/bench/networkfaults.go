package bench

import (
	"maps"
	"slices"
	"sync"

	"github.com/podlapse/podlapse/lab/internal/cni"
)

// NetworkFaults contains the faults of the network plugin. Each pod has at most one fault. NetworkFaults is safe for
// concurrent use.
type NetworkFaults struct {
	bench *Bench
	mu    sync.Mutex
	pods  map[string]cni.Faults
}

// NetworkFaults returns an empty set of network faults.
func (b *Bench) NetworkFaults() *NetworkFaults {
	return &NetworkFaults{bench: b, pods: make(map[string]cni.Faults)}
}

// Set replaces the network fault of one of the bench's pods. If the new fault has no delay and no failure, Set removes
// the pod's fault.
func (f *NetworkFaults) Set(pod string, fault cni.Faults) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	fault.Namespace, fault.Pods = f.bench.Namespace, []string{pod}
	f.pods[pod] = fault
	var all cni.Faults
	for _, pod := range slices.Sorted(maps.Keys(f.pods)) {
		all.More = append(all.More, f.pods[pod])
	}
	return cni.WriteFaults(f.bench.Node.CNIFaults(), all)
}
