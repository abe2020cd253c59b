package timeline

import (
	"slices"
	"time"
)

// Images often have their bottom layers in common. While containerd unpacks a layer for one pull, it locks the layer.
// Another pull that needs the same layer waits for the lock, and downloads none of its own layers in the meantime. A
// pull that holds its first lock downloads all its remaining layers at once (core/unpack/unpacker.go, lockSnChainID and
// startFetch). So if pulls run in parallel, the disk can delay a download. The evidence about one pod does not show for
// which pull the runtime unpacked a layer.

// unpackWait is a period in which a pull might have waited until the runtime had unpacked a layer for another pull.
type unpackWait struct{ from, until time.Time }

// MissesPullsBefore records that the log might lack pulls of other pods that ended before the given time. Before this
// time, either no agent ran, or an earlier agent process ran.
func (l *PullLog) MissesPullsBefore(at time.Time) { l.completeSince = at }

// separateWaits finds the parts of a pull that might be waits for another pull's unpacking. Such a part becomes the
// phase image_pull, because the evidence does not show whether the registry or the disk caused it. If the part is at
// most busySlack long, only the error bound of the pull's phases includes it.
func (l *PullLog) separateWaits(t *Timeline, p *Pull) {
	waits := l.unpackWaits(p, t.UID)
	p.imageLayers, p.resolvedAt = nil, 0
	var short time.Duration
	for _, w := range waits {
		length := w.until.Sub(w.from)
		if length <= busySlack {
			short += length
			continue
		}
		p.waited = true
		phases := make([]Span, 0, len(t.Phases)+2)
		for _, s := range t.Phases {
			phases = w.appendParts(phases, s, p)
		}
		t.Phases = phases
	}
	if short == 0 {
		return
	}
	p.waited = p.waited || short > busySlack
	t.Phases = slices.Clone(t.Phases) // other goroutines can read the original phases
	for i := range t.Phases {
		if s := &t.Phases[i]; s.Phase == PhasePull && s.belongsTo(*p) {
			s.Error = max(s.Error, min(s.Error+short, s.Duration()))
		}
	}
}

// appendParts appends the span s to the list "phases". If s is a download of the pull p, appendParts divides s into up
// to three parts: before, during and after the wait.
func (w unpackWait) appendParts(phases []Span, s Span, p *Pull) []Span {
	from, until := later(w.from, s.StartAt), earlier(s.EndAt, w.until)
	if s.Phase != PhasePull || !s.belongsTo(*p) || !from.Before(until) {
		return append(phases, s)
	}
	return appendWithPart(phases, s, from, until, func(wait *Span) {
		wait.Phase, wait.MergedWith = phaseOrGroup(uniquePhases([]Phase{s.Phase}, s.MergedWith, alsoUnpack))
		wait.Cause = CauseOf(wait.Phase)
	})
}

// unpackWaits returns the periods in which the pull p might have waited for another pull's unpacking, before the last
// byte of p arrived. Each period ends when the runtime had unpacked a layer. Each period begins at the start of p or at
// the arrival of a layer, so no layer arrived in the period.
func (l *PullLog) unpackWaits(p *Pull, uid string) (waits []unpackWait) {
	unpackedMeanwhile := func(layer Layer) bool {
		return layer.UnpackedAt.After(p.StartedAt) && layer.UnpackedAt.Before(p.DownloadedAt)
	}
	if !slices.ContainsFunc(p.imageLayers, unpackedMeanwhile) || l.modeFor(p, uid).serial {
		return nil
	}
	lockedBy := p.lockedBy()
	for _, layer := range p.imageLayers {
		if !unpackedMeanwhile(layer) || !l.mayUnpack(layer, p, uid, lockedBy) {
			continue
		}
		lockedBy = later(lockedBy, layer.UnpackedAt)
		from := p.StartedAt
		for _, o := range p.imageLayers {
			if !o.DownloadedAt.After(layer.UnpackedAt) {
				from = later(from, o.DownloadedAt)
			}
		}
		if n := len(waits); n > 0 && waits[n-1].from.Equal(from) {
			waits[n-1].until = later(waits[n-1].until, layer.UnpackedAt)
		} else {
			waits = append(waits, unpackWait{from, layer.UnpackedAt})
		}
	}
	return waits
}

// mayUnpack reports whether the runtime might have unpacked a layer of the pull p for a pull of another pod. If the
// other pull began after the time "lockedBy", p already held its first lock, and did not wait for the other pull. A
// pull of the same image does not count, because both pulls download the same layers at the same time.
func (l *PullLog) mayUnpack(layer Layer, p *Pull, uid string, lockedBy time.Time) bool {
	if layer.UnpackedAt.Before(l.completeSince) {
		return true
	}
	if slices.ContainsFunc(l.openRequests(lockedBy.Add(loggedError+floorError), uid), func(o runningPull) bool {
		return o.image != textHash(p.Image) && !o.from.Add(-o.error).After(lockedBy)
	}) {
		return true
	}
	image := normalizedName(p.Image)
	if l.requests == nil && l.mayPullUnnoticed(layer, image, uid) {
		return true
	}
	return l.containsOther(uid, func(o *loggedPull) bool {
		return o.image != image && !o.from.Add(-o.error).After(lockedBy) && o.mayRunAt(layer.UnpackedAt) &&
			l.mayContain(o, layer)
	})
}

// mayPullUnnoticed reports whether another pod's pull might have been running when the runtime unpacked a layer. It
// serves an agent without Events, so it uses only the runtime's last responses about images. If the runtime reported an
// image as absent at most staleRequest before the unpacking, or after it, a pull of this image might have been running.
// The pull of a present image counts if it did not end before the unpacking, and if the image might contain the layer.
func (l *PullLog) mayPullUnnoticed(layer Layer, image, uid string) bool {
	for name, o := range l.images {
		switch {
		case o.uid == uid, name == image: // the kubelet pulls the images of a pod one after the other
		case !o.present:
			if layer.UnpackedAt.Sub(o.queriedAt) <= staleRequest {
				return true
			}
		case !o.last.Before(layer.UnpackedAt) && o.mayContain(layer, o.last):
			return true
		}
	}
	return false
}

// containsOther reports whether a pull of another pod matches. Unlike otherPulls, containsOther also considers pulls
// whose pods have no known sandbox.
func (l *PullLog) containsOther(uid string, matches func(*loggedPull) bool) bool {
	for _, pulls := range [...][]loggedPull{l.pulls, l.pending} {
		for i := range pulls {
			if o := &pulls[i]; o.uid != uid && matches(o) {
				return true
			}
		}
	}
	return false
}

// mayRunAt reports whether the pull might have been running at the given time. If the end of the pull is not truncated
// to seconds, the actual end is not later than the logged end, because the kubelet reports the end after the runtime's
// response.
func (o *loggedPull) mayRunAt(at time.Time) bool {
	return !o.from.Add(-o.error).After(at) && !o.until.Add(o.error-loggedError).Before(at)
}

// lockedBy returns the time by which the pull usually holds its first lock, unless another pull holds this lock. Before
// the lock, the runtime fetches the image's index, its manifest and its config, one after the other. The field
// resolvedAt shows when the first of these three arrived. lockedBy assumes that the other two together took at most as
// long as the first.
func (p *Pull) lockedBy() time.Time {
	if p.resolvedAt == 0 || p.resolvedAt <= at(p.StartedAt) {
		return p.StartedAt
	}
	resolved := p.resolvedAt.time()
	return resolved.Add(resolved.Sub(p.StartedAt))
}

// mayContain reports whether the image of the pull o might contain a layer. Two images have an unpacked layer in common
// if the runtime reports the same time of unpacking for both images.
func (l *PullLog) mayContain(o *loggedPull, layer Layer) bool {
	response, known := l.images[o.image]
	return !known || response.mayContain(layer, o.until)
}

// mayContain reports whether the image might contain a layer. The argument "pulled" is the end of the image's pull.
func (i *imageResponseOf) mayContain(layer Layer, pulled time.Time) bool {
	return i.layersAt.Before(pulled) || slices.Contains(i.unpacked, at(layer.UnpackedAt))
}

// unpackTimes returns the times when the runtime unpacked the layers.
func unpackTimes(layers []Layer) []instant {
	times := make([]instant, 0, len(layers))
	for _, l := range layers {
		if !l.UnpackedAt.IsZero() {
			times = append(times, at(l.UnpackedAt))
		}
	}
	return times
}
