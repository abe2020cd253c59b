package podwatch

import (
	"strconv"
	"time"
)

// proof tells when a watch has told all that the API server held when it was opened: there is no mark for
// it. It is when nothing more came for provenAfter, apart from what is certainly new.
//
// What was there comes in the order of names, from one state of etcd, and what is new in the order of versions,
// each newer than all before. So an Event that is older than another before it was there.
type proof struct {
	timer  *time.Timer
	at     time.Time
	newest uint64 // version so far
}

func newProof() *proof {
	return &proof{timer: time.NewTimer(provenAfter), at: time.Now().Add(provenAfter)}
}

// see takes in the version of an Event; one that is no number tells nothing.
func (p *proof) see(version string) {
	v, err := strconv.ParseUint(version, 10, 64)
	switch {
	case err != nil:
	case v < p.newest:
		p.at = time.Now().Add(provenAfter)
	default:
		p.newest = v
	}
}

// postpone makes up for time in which nobody was there to take what came.
func (p *proof) postpone(took time.Duration) {
	p.at = p.at.Add(took)
	p.timer.Reset(time.Until(p.at))
}
