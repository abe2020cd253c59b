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

// inFlight is what is kept of one pod that is starting, or being deleted. The lock of the keeper
// guards the first group of fields; only the goroutine that saves uses the second.
type inFlight struct {
	fresh []fresh
	news  int  // observations that were news
	full  bool // something was omitted
	gone  bool // its object was removed: nothing must be kept once it is reported
	ends  bool // its start-up is reported, and it is being deleted
	saved bool // a part of it is in the file: the next agent finds it in flight

	lines  [][]byte
	latest []byte // the latest pod object, if it is not the last one in lines
	bytes  int    // of both
}

// fresh is an observation that is not encoded yet.
type fresh struct {
	observation timeline.Observation
	// passing marks a pod object that is kept only as long as it is the latest.
	passing bool
}

// take keeps an observation, or returns false if there is no room. There is always room for the
// latest pod object, because no source reports the last state of a deleted pod, and for the end of
// the pod.
func (p *inFlight) take(o timeline.Observation, news bool) bool {
	_, seen := o.(timeline.PodSeen)
	_, gone := o.(timeline.PodGone)
	room := p.news < maxObservations || gone
	switch {
	case news && room:
		p.news++
		p.fresh = append(p.fresh, fresh{o, false})
	case seen:
		if last := len(p.fresh) - 1; last >= 0 && p.fresh[last].passing {
			p.fresh = p.fresh[:last]
		}
		p.fresh = append(p.fresh, fresh{o, true})
	}
	return room || !news
}

// encode encodes fresh observations as far as there is room. It returns how many did not fit, and
// how many bytes it added.
func (p *inFlight) encode(observations []fresh, room int) (lost, added int) {
	before := p.bytes
	for _, f := range observations {
		line, err := record.Encode(f.observation)
		_, seen := f.observation.(timeline.PodSeen)
		replaced := 0
		if seen {
			replaced = len(p.latest)
		}
		growth := len(line) - replaced
		if err != nil || p.bytes+growth > maxPodBytes || p.bytes-before+growth > room {
			lost++
			continue
		}
		p.bytes += growth
		switch {
		case f.passing:
			p.latest = line
		case seen:
			p.lines, p.latest = append(p.lines, line), nil
		default:
			p.lines = append(p.lines, line)
		}
	}
	return lost, p.bytes - before
}
