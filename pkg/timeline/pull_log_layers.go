package timeline

import (
	"hash/fnv"
	"slices"
	"time"
)

// maxRecentLayers is the number of layers that are remembered: those of some dozens of images. Pulls that share a
// layer run at the same time.
const maxRecentLayers = 2048

// recentLayers holds the pod with which each of the latest layers first arrived. The zero value is empty.
type recentLayers struct {
	owner map[arrivedLayer]string // pod UID
	order []arrivedLayer          // a ring
	next  int                     // index in order of the next entry to replace, once the ring is full
}

// arrivedLayer is one arrival of a layer. A layer that was removed from the node may arrive again.
type arrivedLayer struct {
	digest string
	at     time.Time
}

// add records a layer of a pod, unless it arrived with another pod.
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

// sharedBy returns for each of a pod's layers whether it arrived with another pod; nil if none did.
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

// share marks the layers that arrived while another pull of the same image was running. They count at that pull.
func (p *Pull) share(o *loggedPull) {
	for i, layer := range p.Layers {
		if layer.DownloadedAt.After(o.until) {
			continue
		}
		if p.Shared == nil {
			p.Shared = make([]bool, len(p.Layers))
		}
		p.Shared[i] = true
	}
}

// sharesAll reports whether no layer is known to have come with this pull alone.
func (p *Pull) sharesAll() bool {
	for i := range p.Layers {
		if !p.shared(i) {
			return false
		}
	}
	return true
}

// sharesEarlier reports whether content of a pull may have arrived before it began: a pull that was already running
// may have brought a part of the same layers. It is false if that pull had hardly begun, or if its layers are known
// to be different ones.
func (l *PullLog) sharesEarlier(p *Pull, uid string, m pullMode) bool {
	if len(p.Layers) == 0 || m.serial {
		return false
	}
	const hardly = 20 // as a share of the time in which p's content arrived
	since := p.StartedAt.Add(-p.DownloadedAt.Sub(p.StartedAt) / hardly)
	return slices.ContainsFunc(l.others(p.StartedAt, uid), func(o running) bool {
		if !o.from.Before(since) {
			return false
		}
		return o.pull == nil || o.until.Add(o.pull.error).After(p.StartedAt) && o.pull.mayShare(p)
	})
}

// joins reports whether another pull of the same image was running when this one began. If so, the manifest that this
// pull found belongs to the other pull, so it does not prove an interrupted attempt.
func (l *PullLog) joins(p *Pull, uid string) bool {
	image := normalized(p.Image)
	return slices.ContainsFunc(l.pulls, func(o loggedPull) bool {
		return o.uid != uid && !o.failed && o.image == image && o.from.Before(p.StartedAt) && o.until.After(p.StartedAt)
	})
}

// mayShare reports whether a pull may have brought layers of another pull. A successful pull brought all its layers
// before it ended.
func (o *loggedPull) mayShare(p *Pull) bool {
	return slices.ContainsFunc(p.Layers, func(layer Layer) bool {
		if !o.failed && layer.DownloadedAt.After(o.until.Add(o.error)) {
			return false
		}
		return o.layers == nil || slices.Contains(o.layers, layerHash(layer))
	})
}

// noteLayers records which layers a settled pull brought.
func (l *PullLog) noteLayers(p *Pull, uid string) {
	if p.DownloadedAt.IsZero() {
		return
	}
	for i := range l.pulls {
		o := &l.pulls[i]
		if o.uid != uid || o.blocker.Container != p.Container || o.until.Sub(p.FinishedAt).Abs() > o.error+loggedError {
			continue
		}
		o.layers = make([]uint64, 0, len(p.Layers))
		for _, layer := range p.Layers {
			o.layers = append(o.layers, layerHash(layer))
		}
	}
}

// layerHash represents a layer's digest in an eighth of the memory.
func layerHash(layer Layer) uint64 { return textHash(layer.Digest) }

// textHash represents a text that is only compared.
func textHash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
