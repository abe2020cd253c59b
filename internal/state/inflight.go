package state

import (
	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Limits of the file. A start-up needs about ten observations of 1 KiB. If it needs more than the limit, it is a crash
// loop, and only its beginning is kept. A node has about a hundred pods.
const (
	maxObservations = 256 // of a pod that were news
	maxPodBytes     = 256 << 10
	maxInFlight     = 1024 // pods
	maxReported     = 4096 // pods
	maxUID          = 128  // bytes; Kubernetes has 36
	// maxLineBytes leaves room for header, end and reported pods.
	maxLineBytes = maxFile - 1<<20
)

// inFlight holds the observations of one pod that is starting or being deleted. The lock of the keeper guards it.
type inFlight struct {
	lines  [][]byte
	latest []byte // the latest pod object, if it is not the last one in lines
	bytes  int    // of both
	news   int    // observations that were news
	full   bool   // something was omitted
	gone   bool   // its object was removed: nothing must be kept once it is reported
	ends   bool   // its start-up is reported, and it is being deleted
	saved  bool   // a part of it is in the file: the next agent finds it in flight
}

// take keeps an observation that adds at most room bytes, or returns false if it does not. A pod object without new
// evidence is kept only as long as it is the latest. The limit on the number of observations does not apply to pod
// objects and to the removal of the pod, because no source reports these again for a deleted pod.
func (p *inFlight) take(o timeline.Observation, news bool, room int) bool {
	_, seen := o.(timeline.PodSeen)
	_, gone := o.(timeline.PodGone)
	lasts := news && (p.news < maxObservations || gone)
	if lasts {
		p.news++
	} else if !seen {
		return !news
	}
	line, err := record.Encode(o)
	growth := len(line)
	if seen {
		growth -= len(p.latest)
	}
	if err != nil || growth > min(room, maxPodBytes-p.bytes) {
		return false
	}
	p.bytes += growth
	switch {
	case !lasts:
		p.latest = line
	case seen:
		p.lines, p.latest = append(p.lines, line), nil
	default:
		p.lines = append(p.lines, line)
	}
	return lasts || !news
}
