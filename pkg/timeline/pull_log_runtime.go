package timeline

import (
	"slices"
	"time"
)

// maxImageResponses is the maximum number of images for which the log keeps the runtime's last response. A node has
// several hundred images.
const maxImageResponses = 512

// maxSandboxes is the maximum number of pods for which the log keeps the runtime's responses about sandboxes. By
// default, the kubelet runs at most 110 pods at the same time.
const maxSandboxes = 1024

// maxMissingFor is the maximum number of pods in imageResponseOf.missingFor.
const maxMissingFor = 16

// imageResponseOf is the runtime's last response about an image.
type imageResponseOf struct {
	uid         string // the pod for which the agent queried the runtime
	queriedAt   time.Time
	present     bool
	first, last time.Time // the ends of the image's first and latest pulls; zero if the runtime does not report them
	// unpacked holds the result of unpackTimes for the image, from the latest response that contains all layers.
	// layersAt is the time of this response. layersAt is zero if no response contained all layers.
	unpacked []instant
	layersAt time.Time
	// missingFor contains the UIDs of pods for which the runtime reported, before the latest pulls of the image, that
	// the image was absent. The list contains at most maxMissingFor pods.
	missingFor []string
}

// ObserveRuntime records the runtime's responses about images and drops the logged pulls that contradict these
// responses. Anyone who can create Events can report a pull that never happened. Such a false pull would change the
// timelines of other pods.
func (l *PullLog) ObserveRuntime(o RuntimeSeen) {
	for _, image := range o.Images {
		name := normalizedName(image.Ref)
		if l.images == nil {
			l.images = map[string]imageResponseOf{}
		}
		known, ok := l.images[name]
		older := ok && !o.QueriedAt.After(known.queriedAt)
		if !image.Present {
			known.noteMissing(o.UID, known.present && !older)
		}
		if older {
			l.images[name] = known
			continue
		}
		response := imageResponseOf{o.UID, o.QueriedAt, image.Present, image.FirstPulledAt, image.PulledAt,
			known.unpacked, known.layersAt, known.missingFor}
		if image.hasLayers() && !image.Incomplete {
			response.unpacked, response.layersAt = unpackTimes(image.Layers), o.QueriedAt
		}
		l.images[name] = response
		forgetOldest(l.images, maxImageResponses, name, func(a imageResponseOf) time.Time { return a.queriedAt })
	}
	if len(o.Images) > 0 && slices.ContainsFunc(l.pulls, l.isRefuted) {
		l.pulls = slices.DeleteFunc(l.pulls, l.isRefuted)
		l.recordModes()
	}
	l.noteSandboxes(o)
}

// noteMissing records that the image was absent when the agent queried the runtime about a pod. If the image was
// removed since the previous response, the earlier pods do not matter any more.
func (r *imageResponseOf) noteMissing(uid string, removed bool) {
	if removed {
		r.missingFor = nil
	}
	if len(r.missingFor) < maxMissingFor && !slices.Contains(r.missingFor, uid) {
		r.missingFor = append(r.missingFor, uid)
	}
}

// mayBeOfOther reports whether another pod might have pulled the image of the pull p, which no Event reports. If the
// kubelet pulls images in parallel, containerd stores the image for all pods within a few milliseconds. So no evidence
// shows which pull downloaded the image. If the list of pods is full, there might be further pods.
func (l *PullLog) mayBeOfOther(p *Pull, uid string) bool {
	pods := l.images[normalizedName(p.Image)].missingFor
	return len(pods) == maxMissingFor || slices.ContainsFunc(pods, func(other string) bool {
		return other != uid && !l.sandboxAfter(other, p.FinishedAt)
	})
}

// sandboxAfter reports whether the runtime's responses show no sandbox of a pod at or before the given time. The
// kubelet pulls images only after the sandbox exists.
func (l *PullLog) sandboxAfter(uid string, at time.Time) bool {
	since, known := l.sandboxes[uid]
	return known && since.queriedAt.After(at) && (since.none || since.begunAt.After(at))
}

// sandboxSince holds the runtime's responses about a pod's sandboxes. The field begunAt is the start of the earliest
// sandbox. The field queriedAt is the time of the latest query to the runtime. The field "none" is true if no response
// contained a sandbox.
type sandboxSince struct {
	begunAt, queriedAt time.Time
	none               bool
}

// noteSandboxes records whether a pod has a sandbox. A pull is pending until the runtime reports a sandbox of its pod.
// If the pod has a sandbox, noteSandboxes moves the pod's pending pulls to the log.
func (l *PullLog) noteSandboxes(o RuntimeSeen) {
	if l.sandboxes == nil {
		// This is the runtime's first response. No earlier response confirmed that the pods of the logged pulls have
		// sandboxes.
		l.sandboxes = map[string]sandboxSince{}
		l.pending, l.pulls = l.pulls, nil
		defer l.addPending()
	}
	since := sandboxSince{queriedAt: o.QueriedAt, none: true}
	for _, s := range o.Sandboxes {
		if at := s.createdSince(); since.none || at.Before(since.begunAt) {
			since.begunAt, since.none = at, false
		}
	}
	if known, ok := l.sandboxes[o.UID]; ok && !known.none && (since.none || known.begunAt.Before(since.begunAt)) {
		since.begunAt, since.none = known.begunAt, false
	} else if ok && known.none && since.none && known.queriedAt.After(since.queriedAt) {
		since = known
	}
	l.sandboxes[o.UID] = since
	forgetOldest(l.sandboxes, maxSandboxes, o.UID, func(s sandboxSince) time.Time {
		if s.none {
			// If there are too many entries, the log first drops the entries of pods without a sandbox. If the runtime
			// later reports a sandbox for one of these pods, the log adds the entry again.
			return time.Time{}
		}
		return s.queriedAt
	})
	if !since.none && slices.ContainsFunc(l.pending, func(p loggedPull) bool { return p.uid == o.UID }) {
		l.addPending()
	}
}

// addPending moves each pending pull to the log if the runtime has reported the pod's sandbox.
func (l *PullLog) addPending() {
	pending := l.pending
	l.pending = nil
	for _, p := range pending {
		p.overlappedUntil, p.dequeued = time.Time{}, false
		l.addUnlessRefuted(p)
	}
}

// createdSince returns the earliest known time of the sandbox's creation, or the zero time if unknown.
func (s *Sandbox) createdSince() time.Time {
	for _, at := range [...]time.Time{s.BegunAt, s.NetworkReadyAt, s.CreatedAt} {
		if !at.IsZero() {
			return at
		}
	}
	return time.Time{}
}

// sandboxKnown reports whether a response of the runtime shows that a pod had a sandbox at the given time. The kubelet
// pulls images only after the sandbox exists (kuberuntime_manager.go, SyncPod). So a sandbox in the runtime's response
// proves that a pull for the pod was possible. An Event alone does not prove a pull, because tenants can create Events.
// If the runtime has not responded about any pod yet, or if the agent does not query the runtime, sandboxKnown returns
// true.
func (l *PullLog) sandboxKnown(uid string, at time.Time) bool {
	if l.sandboxes == nil {
		return true
	}
	since, known := l.sandboxes[uid]
	return known && !since.none && !at.Before(since.begunAt)
}

// requestRefuted reports whether the runtime contradicts the Event about a pull request. The runtime contradicts the
// Event if the pod had no sandbox at the time of the request. Until the runtime responds, the request counts as a pull
// in the queue. Another pod can request a pull later. If this later pull ends while the earlier request is open, the
// two pulls might have run in parallel. Then PullLog does not set BlockedBy of the later pull.
func (l *PullLog) requestRefuted(uid string, request pullRequest) bool {
	latest := request.at.Add(request.error)
	since, known := l.sandboxes[uid]
	return known && latest.Before(since.queriedAt) && (since.none || latest.Before(since.begunAt))
}

// RequestsRuntime reports whether the agent should query the runtime about a pod, because an open pull request of the
// pod might be false. The runtime's response can contradict such a request (requestRefuted).
func (l *PullLog) RequestsRuntime(uid string) bool {
	since, known := l.sandboxes[uid]
	if known && !since.none || l.sandboxes == nil {
		return false
	}
	for of, request := range l.requests {
		if of.uid == uid && !request.over && !l.requestRefuted(uid, request) {
			return true
		}
	}
	return false
}

// forgetOldest removes the oldest response if there are more responses than the limit "most". forgetOldest never
// removes the response whose key is the argument "newest".
func forgetOldest[A any](responses map[string]A, most int, newest string, queriedAt func(A) time.Time) {
	if len(responses) <= most {
		return
	}
	oldest := ""
	for name, response := range responses {
		if name == newest {
			continue
		}
		if c := queriedAt(response).Compare(queriedAt(responses[oldest])); oldest == "" || c < 0 ||
			c == 0 && name < oldest {
			oldest = name
		}
	}
	delete(responses, oldest)
}

// isRefuted reports whether the runtime contradicts a successful pull. The runtime contradicts the pull in three cases:
//   - According to the runtime, the first pull of the image ended later than this pull.
//   - According to the runtime, the latest pull of the image ended before this pull began.
//   - After this pull, the runtime still did not have the image.
func (l *PullLog) isRefuted(p loggedPull) bool {
	response, known := l.images[p.image]
	if !known || p.failed {
		return false
	}
	if !response.present {
		return response.queriedAt.After(p.until.Add(p.error))
	}
	if !response.first.IsZero() && response.first.After(p.until.Add(p.error)) {
		return true
	}
	queriedLater := response.queriedAt.After(p.until.Add(p.error))
	return queriedLater && !response.last.IsZero() && response.last.Before(p.from.Add(-p.error))
}

// recordModes runs after the log drops pulls. recordModes compares all pairs of logged pulls again, because the dropped
// pulls no longer count as evidence of the node's pull settings.
func (l *PullLog) recordModes() {
	all := l.pulls
	for i := range all {
		all[i].overlappedUntil, all[i].dequeued = time.Time{}, false
	}
	for i := range all {
		l.pulls = all[:i]
		l.recordMode(&all[i])
	}
	l.pulls = all
}

// makeRoom drops a pull if the log is full. makeRoom drops the oldest pull of the namespace with the most pulls. So a
// single namespace cannot push all other namespaces out of the log.
func makeRoom(pulls []loggedPull) []loggedPull {
	if len(pulls) < maxPullLog {
		return pulls
	}
	counts := map[string]int{}
	most := pulls[0].blocker.Namespace
	for i := range pulls {
		counts[pulls[i].blocker.Namespace]++
	}
	for i := range pulls { // if several namespaces have the most pulls, the first of them in the log counts
		if namespace := pulls[i].blocker.Namespace; counts[namespace] > counts[most] {
			most = namespace
		}
	}
	oldest := slices.IndexFunc(pulls, func(p loggedPull) bool { return p.blocker.Namespace == most })
	return slices.Delete(pulls, oldest, oldest+1)
}
