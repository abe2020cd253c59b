package state

import (
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Limits on the content of the state file. A start-up requires about ten observations of 1 KiB each. Only a pod in a
// crash loop exceeds maxObservations or maxPodBytes. If a crash loop exceeds a limit, the file holds only the beginning
// of the crash loop. A node has about a hundred pods.
const (
	maxObservations = 256 // maximum per pod; counts only observations that changed the evidence
	maxPodBytes     = 256 << 10
	maxInFlight     = 1024 // maximum number of pods with observations
	maxReported     = 4096 // maximum number of reported pods in the file
	maxUID          = 128  // maximum length of a UID, in bytes; UIDs of Kubernetes have 36 bytes
	// maxAppended is the maximum size of the sections after the first section, in bytes. A larger value would make the
	// file larger, but would hardly make saves cheaper.
	maxAppended = 256 << 10
	// maxLineBytes is the maximum total size of the observations of all pods, in bytes. The remaining 1 MiB of the file
	// is for the appended sections, the header, the end line and the reported pods.
	maxLineBytes = maxFile - 1<<20
)

// inFlight is the saved data of one pod that is starting or being deleted. The Saver's lock guards the first group of
// fields. Only the goroutine that writes the file uses the second group of fields.
type inFlight struct {
	fresh       []freshObservation
	news        int  // number of observations that changed the evidence
	full        bool // true if the Saver omitted an observation
	gone        bool // true if the pod object was removed; the Saver drops the data after the report
	terminating bool // true if the start-up was reported and the pod is being deleted
	saved       bool // true if the file contains data of the pod for the next agent

	lines  [][]byte
	latest []byte // latest pod object; nil if the field "lines" contains this object
	bytes  int    // total size of the fields "lines" and "latest", in bytes
}

// freshObservation is an observation that is not encoded yet.
type freshObservation struct {
	observation timeline.Observation
	// temporary marks a pod object that the Saver holds only until the next pod object arrives.
	temporary bool
}

// add stores an observation. If the observation exceeds maxObservations, add returns false. Even beyond
// maxObservations, add stores the latest pod object and the deletion of the pod, because no source can repeat the last
// state of a deleted pod.
func (p *inFlight) add(o timeline.Observation, news bool) bool {
	_, seen := o.(timeline.PodSeen)
	_, gone := o.(timeline.PodGone)
	hasRoom := p.news < maxObservations || gone
	switch {
	case news && hasRoom:
		p.news++
		p.fresh = append(p.fresh, freshObservation{o, false})
	case seen:
		if last := len(p.fresh) - 1; last >= 0 && p.fresh[last].temporary {
			p.fresh = p.fresh[:last]
		}
		p.fresh = append(p.fresh, freshObservation{o, true})
	}
	return hasRoom || !news
}

// encode encodes the observations that fit, and omits the others. The total size of the pod's data is at most
// maxPodBytes. In one call of encode, the data grows by at most "room" bytes. encode returns the lines of the encoded
// observations and the number of omitted observations.
func (p *inFlight) encode(observations []freshObservation, room int) (added [][]byte, lost int) {
	before := p.bytes
	for _, f := range observations {
		line, err := recording.Encode(f.observation)
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
		added = append(added, line)
		switch {
		case f.temporary:
			p.latest = line
		case seen:
			p.lines, p.latest = append(p.lines, line), nil
		default:
			p.lines = append(p.lines, line)
		}
	}
	return added, lost
}
