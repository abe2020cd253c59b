package api

import (
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Values of LivePullRecord.State. The state is empty if it is unknown, or if it may belong to one of several pulls.
const (
	// nothing has arrived: it waits in the node's queue, or for the registry's first response
	PullStateQueued    = "queued"
	PullStatePulling   = "pulling"   // content is arriving
	PullStateUnpacking = "unpacking" // all content has arrived
)

// LivePullRecord is one pull in progress.
type LivePullRecord struct {
	// The container that requested it; absent if no pod of the node did.
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Kind is the container's. Restart says that the container has run before, so that the pull
	// belongs to no start-up.
	Kind    timeline.ContainerKind `json:"kind,omitempty"`
	Restart bool                   `json:"restart,omitempty"`

	Image    string            `json:"image"`
	Registry string            `json:"registry"`
	Outcome  imagepull.Outcome `json:"outcome"` // pulling or external
	// absent if the runtime does not report it, or if it may belong to one of several pulls
	State string  `json:"state,omitempty"`
	Age   Seconds `json:"age_seconds"` // since the kubelet requested it, or since it began
	// The bytes that have arrived, and the total; absent while unknown.
	DoneBytes  int64 `json:"done_bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
}

// Pulling reports whether content is arriving.
func (r LivePullRecord) Pulling() bool { return r.State == PullStatePulling }

// LivePullList is the response with the pulls in progress.
type LivePullList struct {
	Items []LivePullRecord `json:"items"`
}
