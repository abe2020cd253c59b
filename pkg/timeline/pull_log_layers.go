package timeline

import (
	"hash/fnv"
	"slices"
	"time"
)

// maxRecentLayers is the maximum number of layers in recentLayers. This number is enough for several dozen images.
// Older layers are not needed, because pulls that share a layer run at the same time.
const maxRecentLayers = 2048

// recentLayers maps each of the latest layers to the pod whose pull downloaded the layer. The zero value is empty.
type recentLayers struct {
	owner map[arrivedLayer]string // pod UID
	order []arrivedLayer          // ring buffer of the keys of the map "owner"
	next  int                     // the index of the next entry to replace, after the ring buffer is full
}

// arrivedLayer identifies one arrival of a layer. A layer that was removed from the node can arrive again.
type arrivedLayer struct {
	digest string
	at     time.Time
}

// addOwner records the pod whose pull downloaded a layer. If this arrival of the layer is already recorded, addOwner
// changes nothing.
func (l *recentLayers) addOwner(layer Layer, uid string) {
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

// sharedBy reports for each layer whether the layer arrived with another pod's pull. The argument "uid" is the UID of
// the pod whose pull contains the layers. If no layer arrived with another pod's pull, the result is nil.
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

// markSharedLayers compares the pull p with o, another pull of the same image. markSharedLayers marks each layer of p
// that arrived before the end of o, because the bytes of such a layer belong to o.
func (p *Pull) markSharedLayers(o *loggedPull) {
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

// sharesAll reports whether all layers of the pull are shared with other pulls.
func (p *Pull) sharesAll() bool {
	for i := range p.Layers {
		if !p.shared(i) {
			return false
		}
	}
	return true
}

// sharesEarlier reports whether content of the pull p might have arrived before p began. Another pull that was already
// running might have downloaded some of the same layers. sharesEarlier ignores a pull that began only just before p.
func (l *PullLog) sharesEarlier(p *Pull, uid string, m pullMode) bool {
	if len(p.Layers) == 0 || m.serial {
		return false
	}
	const hardly = 20 // ignore a pull that began at most 1/20 of p's download time before p
	since := p.StartedAt.Add(-p.DownloadedAt.Sub(p.StartedAt) / hardly)
	return slices.ContainsFunc(l.otherPulls(p.StartedAt, uid), func(o runningPull) bool {
		if !o.from.Before(since) {
			return false
		}
		return o.pull == nil || o.until.Add(o.pull.error).After(p.StartedAt) && o.pull.mayShare(p)
	})
}

// joinsRunningPull reports whether another pull of the same image was running when the pull p began. If another pull
// was running, the manifest on the node can come from the other pull. So the manifest does not prove that an earlier
// attempt of p was interrupted.
func (l *PullLog) joinsRunningPull(p *Pull, uid string) bool {
	image := normalizedName(p.Image)
	return slices.ContainsFunc(l.pulls, func(o loggedPull) bool {
		return o.uid != uid && !o.failed && o.image == image && o.from.Before(p.StartedAt) && o.until.After(p.StartedAt)
	})
}

// mayShare reports whether the pull o might have downloaded layers of the pull p. A successful pull downloaded all its
// layers before it ended.
func (o *loggedPull) mayShare(p *Pull) bool {
	return slices.ContainsFunc(p.Layers, func(layer Layer) bool {
		if !o.failed && layer.DownloadedAt.After(o.until.Add(o.error)) {
			return false
		}
		return o.layers == nil || slices.Contains(o.layers, layerHash(layer))
	})
}

// noteLayers stores in the log which layers the pull p downloaded. The pull p comes from a final timeline.
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

// layerHash returns a hash of a layer's digest. The hash needs much less memory than the digest.
func layerHash(layer Layer) uint64 { return textHash(layer.Digest) }

// textHash returns a hash for comparisons. The hash is not cryptographic.
func textHash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
