package timeline

import (
	"hash/fnv"
	"slices"
	"time"
)

// maxRecentLayers is the maximum number of remembered layers, which is enough for several dozen images. Pulls
// that share a layer run at the same time.
const maxRecentLayers = 2048

// recentLayers maps each of the latest layers to the pod that first received the layer. The zero value is empty.
type recentLayers struct {
	owner map[arrivedLayer]string // pod UID
	order []arrivedLayer          // a ring
	next  int                     // the index in order of the next entry to replace, after the ring is full
}

// arrivedLayer identifies one arrival of a layer. A layer that was removed from the node can arrive again.
type arrivedLayer struct {
	digest string
	at     time.Time
}

// The method add records a layer of a pod, unless the layer arrived with another pod.
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

// sharedBy reports for each of a pod's layers whether it arrived with another pod. sharedBy returns nil if no layer
// arrived with another pod.
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

// The method share marks the layers that arrived while another pull of the same image was running. These layers count
// for the other pull.
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

// sharesAll reports whether no layer certainly belongs to this pull alone.
func (p *Pull) sharesAll() bool {
	for i := range p.Layers {
		if !p.shared(i) {
			return false
		}
	}
	return true
}

// sharesEarlier reports whether content of a pull can have arrived before the pull began. This is possible if a
// pull that was already running downloaded some of the same layers. The result is false if the running pull had
// only just begun, or if its layers are known to be different.
func (l *PullLog) sharesEarlier(p *Pull, uid string, m pullMode) bool {
	if len(p.Layers) == 0 || m.serial {
		return false
	}
	const hardly = 20 // the largest ignored part, as a fraction of the time in which p's content arrived
	since := p.StartedAt.Add(-p.DownloadedAt.Sub(p.StartedAt) / hardly)
	return slices.ContainsFunc(l.others(p.StartedAt, uid), func(o running) bool {
		if !o.from.Before(since) {
			return false
		}
		return o.pull == nil || o.until.Add(o.pull.error).After(p.StartedAt) && o.pull.mayShare(p)
	})
}

// The method joins reports whether another pull of the same image was running when this pull began. In that case, the
// manifest that this pull found belongs to the other pull. The manifest then does not prove an interrupted attempt.
func (l *PullLog) joins(p *Pull, uid string) bool {
	image := normalized(p.Image)
	return slices.ContainsFunc(l.pulls, func(o loggedPull) bool {
		return o.uid != uid && !o.failed && o.image == image && o.from.Before(p.StartedAt) && o.until.After(p.StartedAt)
	})
}

// mayShare reports whether pull o can have downloaded layers of p. A successful pull downloaded all its layers
// before it ended.
func (o *loggedPull) mayShare(p *Pull) bool {
	return slices.ContainsFunc(p.Layers, func(layer Layer) bool {
		if !o.failed && layer.DownloadedAt.After(o.until.Add(o.error)) {
			return false
		}
		return o.layers == nil || slices.Contains(o.layers, layerHash(layer))
	})
}

// noteLayers records the layers that a settled pull downloaded.
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

// textHash returns a hash of a text that is only compared.
func textHash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
