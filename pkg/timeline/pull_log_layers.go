package timeline

import "time"

// maxRecentLayers bounds the layers that are remembered: those of some dozens of images. Who shares a layer with a
// pull pulls at the same time.
const maxRecentLayers = 2048

// recentLayers remembers with which pod each of the latest layers came first. The zero value is empty.
type recentLayers struct {
	owner map[arrivedLayer]string // pod UID
	order []arrivedLayer          // in a ring
	next  int                     // in order, once it is full
}

// arrivedLayer is one layer that came once: after it was removed from the node it may come again.
type arrivedLayer struct {
	digest string
	at     time.Time
}

// add notes a layer of a pod, unless it has come with another one.
func (l *recentLayers) add(layer Layer, uid string) {
	a := arrivedLayer{layer.Digest, layer.DownloadedAt}
	if _, known := l.owner[a]; known {
		return
	}
	if l.owner == nil {
		l.owner = map[arrivedLayer]string{}
	}
	l.owner[a] = uid
	if len(l.order) < maxRecentLayers {
		l.order = append(l.order, a)
		return
	}
	delete(l.owner, l.order[l.next])
	l.order[l.next] = a
	l.next = (l.next + 1) % maxRecentLayers
}

// sharedBy says which of a pod's layers came with another pod; nil for none.
func (l *recentLayers) sharedBy(layers []Layer, uid string) []bool {
	var shared []bool
	for i, layer := range layers {
		owner, known := l.owner[arrivedLayer{layer.Digest, layer.DownloadedAt}]
		if !known || owner == uid {
			continue
		}
		if shared == nil {
			shared = make([]bool, len(layers))
		}
		shared[i] = true
	}
	return shared
}
