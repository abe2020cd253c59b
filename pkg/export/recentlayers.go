package export

import (
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxRecentLayers bounds the layers that are remembered: those of some dozens of images. Who shares a layer with a
// pull pulls at the same time.
const maxRecentLayers = 4096

// recentLayers remembers the layers counted last. Not safe for concurrent use.
type recentLayers struct {
	known map[arrivedLayer]struct{}
	order []arrivedLayer // in a ring
	next  int            // in order, once it is full
}

// arrivedLayer is one layer that came once: after it was removed from the node it may come again.
type arrivedLayer struct {
	digest string
	at     time.Time
}

func newRecentLayers() *recentLayers { return &recentLayers{known: map[arrivedLayer]struct{}{}} }

// add says whether the layer is new.
func (l *recentLayers) add(layer timeline.Layer) bool {
	a := arrivedLayer{layer.Digest, layer.DownloadedAt}
	if _, known := l.known[a]; known {
		return false
	}
	l.known[a] = struct{}{}
	if len(l.order) < maxRecentLayers {
		l.order = append(l.order, a)
		return true
	}
	delete(l.known, l.order[l.next])
	l.order[l.next] = a
	l.next = (l.next + 1) % maxRecentLayers
	return true
}
