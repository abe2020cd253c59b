package imagepull

import "time"

// Download is one image that the runtime is downloading at this moment, whoever asked for it.
type Download struct {
	Registry   string // host, with the port when there is one; empty when it is not known yet
	Repository string // the path in the registry; empty when it is not known yet
	Digest     string // of the manifest; empty when it is not known yet
	// DoneBytes of TotalBytes have come, of its layers and its configuration; TotalBytes is 0 when it is not known yet.
	DoneBytes, TotalBytes int64
	// StartedAt is when the oldest of its running downloads began; one that is resumed keeps its old start.
	StartedAt time.Time
	Blobs     int // that are coming at this moment
}

// Of says that the download is of the image that a reference names.
func (d Download) Of(ref string) bool {
	return d.Repository != "" && d.Registry == Registry(ref) && d.Repository == Repository(ref)
}
