package agent

import (
	"encoding/json"
	"time"
)

// The outcomes of a pull.
const (
	Present    = "present"
	Verified   = "verified"
	Downloaded = "downloaded"
	Joined     = "joined"
	Failed     = "failed"
	Pulling    = "pulling"
	Unknown    = "unknown"
	External   = "external" // only in Live; no pod of the node needs the image
)

// The kinds of containers.
const (
	Init        = "init"
	Sidecar     = "sidecar"
	Main        = "main"
	Ephemeral   = "ephemeral"
	ImageVolume = "image_volume"
)

// Pull is one attempt to pull an image for one container or one image volume.
type Pull struct {
	Container    string    `json:"container"`
	Kind         string    `json:"kind"`
	Image        string    `json:"image"`
	Registry     string    `json:"registry"`
	Digest       string    `json:"digest"`
	Outcome      string    `json:"outcome"`
	Failure      string    `json:"failure"`
	Attempt      int       `json:"attempt"` // number of the attempt, counted from 0
	RequestedAt  time.Time `json:"requested_at"`
	StartedAt    time.Time `json:"started_at"`
	DownloadedAt time.Time `json:"downloaded_at"`
	FinishedAt   time.Time `json:"finished_at"`
	// If no evidence shows the duration of the pull, the next three fields are empty.
	QueueSeconds json.Number `json:"queue_seconds"`
	PullSeconds  json.Number `json:"pull_seconds"`
	Error        json.Number `json:"error_seconds"`
	SizeBytes    int64       `json:"size_bytes"`
	Download     *Download   `json:"download"`
	Unpack       *Unpack     `json:"unpack"`
	Layers       []Layer     `json:"layers"`
	// Lazy is true if a snapshotter mounted layers from the registry. The content of these layers arrives while the
	// container runs.
	Lazy      bool     `json:"lazy"`
	Sized     bool     `json:"sized"` // true if Download.Bytes / PullSeconds is a valid speed of the registry
	BlockedBy *Blocker `json:"blocked_by"`
	Sources   []string `json:"sources"`
}

// Download describes the data that the node received over the network during one pull.
type Download struct {
	StartAt time.Time   `json:"start_at"`
	EndAt   time.Time   `json:"end_at"`
	Seconds json.Number `json:"seconds"`
	Bytes   int64       `json:"bytes"`
	Rate    int64       `json:"bytes_per_second"` // 0 if the agent does not know the rate
}

// Unpack describes how the runtime unpacked the image of one pull. Unpacking overlaps with the download.
type Unpack struct {
	StartAt time.Time   `json:"start_at"`
	EndAt   time.Time   `json:"end_at"`
	Seconds json.Number `json:"seconds"` // time in which the runtime was unpacking at least one layer
}

// Layer is one layer of a pulled image.
type Layer struct {
	Digest       string    `json:"digest"`
	SizeBytes    int64     `json:"size_bytes"`
	DownloadedAt time.Time `json:"downloaded_at"`
	UnpackedAt   time.Time `json:"unpacked_at"`
}

// Blocker is the pull that delayed another pull the most.
type Blocker struct {
	Namespace string      `json:"namespace"`
	Pod       string      `json:"pod"`
	Container string      `json:"container"`
	Image     string      `json:"image"`
	Seconds   json.Number `json:"seconds"`
}

// Live is one pull in progress.
type Live struct {
	Namespace  string `json:"namespace"`
	Pod        string `json:"pod"`
	Container  string `json:"container"`
	Image      string `json:"image"`
	Registry   string `json:"registry"`
	Outcome    string `json:"outcome"` // "pulling" or "external"
	State      string `json:"state"`   // "queued", "pulling" or "unpacking"
	DoneBytes  int64  `json:"done_bytes"`
	TotalBytes int64  `json:"total_bytes"`
}

// PullOf returns the last pull for a container.
func (t Timeline) PullOf(container string) (Pull, bool) {
	pulls := t.PullsOf(container)
	if len(pulls) == 0 {
		return Pull{}, false
	}
	return pulls[len(pulls)-1], true
}

// PullsOf returns the pulls for a container, in the order of the attempts. The container name of an image volume is
// "image:REFERENCE".
func (t Timeline) PullsOf(container string) (pulls []Pull) {
	for _, p := range t.Pulls {
		if p.Container == container {
			pulls = append(pulls, p)
		}
	}
	return pulls
}
