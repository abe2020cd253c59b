package livepull

import (
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// maxRemaining is the longest remaining time that podlapse reports. If the recent rate of a download leads to a time
// longer than maxRemaining, the rate does not predict the end of the download.
const maxRemaining = 24 * time.Hour

// remainingTime returns the time until all content of a download has arrived. The calculation assumes that the recent
// rate stays the same. The result excludes the unpacking. The result is 0 if the rate or the size is unknown, or if the
// remaining time is longer than maxRemaining.
func remainingTime(d imagepull.Download) time.Duration {
	rest := d.TotalBytes - d.DoneBytes
	if d.BytesPerSecond <= 0 || d.TotalBytes <= 0 || rest <= 0 {
		return 0
	}
	seconds := float64(rest) / float64(d.BytesPerSecond)
	if seconds > maxRemaining.Seconds() {
		return 0
	}
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Millisecond)
}
