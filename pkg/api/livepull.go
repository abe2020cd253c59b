package api

import (
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Values of LivePullRecord.State. The state is empty if the agent does not know it, or if a download matches pulls of
// different images.
const (
	// PullStateQueued means that no content has arrived. The pull waits in the node's queue, or for the registry's
	// first response.
	PullStateQueued    = "queued"
	PullStatePulling   = "pulling"   // content is arriving
	PullStateUnpacking = "unpacking" // all content has arrived
)

// LivePullRecord is one pull in progress.
type LivePullRecord struct {
	// Namespace, Pod and Container identify the container that requested the pull. Namespace, Pod and Container are
	// absent if no pod of the node requested the pull.
	Namespace string `json:"namespace,omitempty"`
	Pod       string `json:"pod,omitempty"`
	Container string `json:"container,omitempty"`
	// Kind is the kind of the container. Restart is true if the container has run before. The pull of a restarted
	// container belongs to no start-up.
	Kind    timeline.ContainerKind `json:"kind,omitempty"`
	Restart bool                   `json:"restart,omitempty"`

	Image    string            `json:"image"`
	Registry string            `json:"registry"`
	Outcome  imagepull.Outcome `json:"outcome"` // "pulling" or "external"
	// State is absent if the runtime does not report the state, or if a download matches pulls of different images.
	State string `json:"state,omitempty"`
	// Age is the time since the kubelet requested the pull. If the time of the request is unknown, Age is the time
	// since the start of the pull.
	Age Seconds `json:"age_seconds"`
	// DoneBytes is the number of bytes that have arrived. TotalBytes is the size of the image. JSON omits a field if
	// the agent does not know the value.
	DoneBytes  int64 `json:"done_bytes,omitempty"`
	TotalBytes int64 `json:"total_bytes,omitempty"`
	// BytesPerSecond is the download rate over the last few seconds. Remaining is the estimated time until all content
	// has arrived. The estimate assumes that the rate stays the same, and does not include the unpacking. JSON omits a
	// field if the agent does not know the value.
	BytesPerSecond int64   `json:"bytes_per_second,omitempty"`
	Remaining      Seconds `json:"remaining_seconds,omitempty"`
}

// Pulling reports whether content is arriving.
func (r LivePullRecord) Pulling() bool { return r.State == PullStatePulling }

// LivePullList is the response with the pulls in progress.
type LivePullList struct {
	Items []LivePullRecord `json:"items"`
}
