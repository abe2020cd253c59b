package timeline

import (
	"hash/fnv"
	"slices"
	"time"
)

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

// share counts the layers that came while another pull of the same image went on with that one.
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

// sharesAll says that no layer came with this pull alone, as far as anybody tells of layers.
func (p *Pull) sharesAll() bool {
	for i := range p.Layers {
		if !p.shared(i) {
			return false
		}
	}
	return true
}

// sharesEarlier says that content of a pull may have come before it began: another pull that went on by then may have
// brought a part of the same layers. Not so if that one had hardly begun, or if its layers are known to be others.
func (l *PullLog) sharesEarlier(p *Pull, uid string, m pullMode) bool {
	if len(p.Layers) == 0 || m.serial {
		return false
	}
	const hardly = 20 // as a share of the time in which p came
	since := p.StartedAt.Add(-p.DownloadedAt.Sub(p.StartedAt) / hardly)
	return slices.ContainsFunc(l.others(p.StartedAt, uid), func(o running) bool {
		if !o.from.Before(since) {
			return false
		}
		return o.pull == nil || o.until.Add(o.pull.error).After(p.StartedAt) && o.pull.mayShare(p)
	})
}

// joins says that another pull of the same image went on when this one began: the manifest that this one found is
// that one's, and no attempt was broken off.
func (l *PullLog) joins(p *Pull, uid string) bool {
	image := normalized(p.Image)
	return slices.ContainsFunc(l.pulls, func(o loggedPull) bool {
		return o.uid != uid && !o.failed && o.image == image && o.from.Before(p.StartedAt) && o.until.After(p.StartedAt)
	})
}

// mayShare says that a pull may have brought layers of another one. All that one brought which went well had come
// when it ended.
func (o *loggedPull) mayShare(p *Pull) bool {
	return slices.ContainsFunc(p.Layers, func(layer Layer) bool {
		if !o.failed && layer.DownloadedAt.After(o.until.Add(o.error)) {
			return false
		}
		return o.layers == nil || slices.Contains(o.layers, layerHash(layer))
	})
}

// noteLayers notes which layers a settled pull brought.
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

// layerHash stands for a layer's digest, in an eighth of the memory.
func layerHash(layer Layer) uint64 { return textHash(layer.Digest) }

// textHash stands for a text that is only compared.
func textHash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
