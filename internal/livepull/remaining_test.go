package livepull

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
)

func TestRemaining(t *testing.T) {
	known := imagepull.Download{DoneBytes: 40, TotalBytes: 100, BytesPerSecond: 8}
	for name, test := range map[string]struct {
		change func(*imagepull.Download)
		want   time.Duration
	}{
		"known":               {func(*imagepull.Download) {}, 7500 * time.Millisecond},
		"unknown rate":        {func(d *imagepull.Download) { d.BytesPerSecond = 0 }, 0},
		"unknown size":        {func(d *imagepull.Download) { d.TotalBytes = 0 }, 0},
		"nothing left":        {func(d *imagepull.Download) { d.DoneBytes = 100 }, 0},
		"longer than a day":   {func(d *imagepull.Download) { d.TotalBytes = 1 << 30 }, 0},
		"more than the whole": {func(d *imagepull.Download) { d.DoneBytes = 101 }, 0},
	} {
		d := known
		if test.change(&d); remainingTime(d) != test.want {
			t.Errorf("%s: %s, want %s", name, remainingTime(d), test.want)
		}
	}
}

// Only a pull whose content arrives has a rate and a remaining time. If the download can belong to several images, no
// pull has them.
func TestRemainingBelongsToDownload(t *testing.T) {
	s := busy()
	s.Downloads[0].BytesPerSecond, s.Downloads[1].BytesPerSecond = 10, 5
	for _, r := range s.Records() {
		rate, left := int64(0), api.Seconds(0)
		switch r.Pod {
		case "early":
			rate, left = 10, api.Seconds(7*time.Second)
		case "": // the size is unknown
			rate = 5
		}
		if r.BytesPerSecond != rate || r.Remaining != left {
			t.Errorf("%s: %d bytes per second, %s s, want %d and %s", r.Pod, r.BytesPerSecond, r.Remaining, rate, left)
		}
	}
	s.Starting[0].Pulls[1].Image = "r.example:5000/shop/web:3" // another tag of the same repository
	for _, r := range s.Records() {
		if r.Pod != "" && (r.BytesPerSecond != 0 || r.Remaining != 0) {
			t.Errorf("%s: %d bytes per second, %s s", r.Pod, r.BytesPerSecond, r.Remaining)
		}
	}
	over := busy()
	over.Downloads = over.Downloads[:1]
	over.Downloads[0].Complete, over.Downloads[0].BytesPerSecond = true, 10
	if r := over.Records()[0]; r.State != api.PullStateUnpacking || r.BytesPerSecond != 0 || r.Remaining != 0 {
		t.Errorf("%+v", r)
	}
}
