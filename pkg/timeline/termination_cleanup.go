package timeline

import "time"

// usualCleanup is more than the usual time of the cleanup after a pod's last container, if no component is slow. The
// kubelet lists the containers once a second and limits the rate of its status updates. The kubelet looks for volumes
// to unmount every 100 ms, and checks every 300 ms whether all volumes are unmounted (pkg/kubelet/volumemanager).
const usualCleanup = 2 * time.Second

// hiddenInSandboxStop returns the phases of other parties that can delay the end of the sandbox. CRI-O calls the
// network plugin before it stops the sandbox (server/sandbox_stop.go).
func (f *terminationFold) hiddenInSandboxStop() []Phase {
	if f.e.networkLast {
		return nil
	}
	return f.networkRemoval()
}

// hiddenInObjectDeletion returns phases that no evidence separates from object_deletion. In these phases, other parties
// delay the kubelet before it releases the pod's object. containerd calls the network plugin after it has stopped the
// sandbox (internal/cri/server/sandbox_stop.go), and the kubelet waits for this call. Then the kubelet waits until all
// volumes are unmounted. Finally, the kubelet calls the API server.
func (f *terminationFold) hiddenInObjectDeletion() []Phase {
	hidden := f.networkRemoval()
	if f.e.pod.RemoteVolumes {
		hidden = append(hidden, PhaseVolumes)
	}
	return append(hidden, PhaseAPIServer)
}

// networkRemoval returns the phase in which the network plugin removes the pod from the network. For a pod on the
// node's network, the runtime calls no network plugin.
func (f *terminationFold) networkRemoval() []Phase {
	if f.e.pod.HostNetwork {
		return nil
	}
	return []Phase{PhaseNetwork}
}
