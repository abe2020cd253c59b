package eventwatch

import (
	"strconv"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// The type proof detects when a watch has delivered everything that the API server held when the watch was opened.
// The API server does not mark this point. The point is reached when only new Events have arrived for the time
// kubeclient.ProvenAfter.
//
// Existing Events arrive in the order of their names, from one state of etcd. New Events arrive in the order of
// their versions. So an Event with an older version than a previous Event is an existing Event.
type proof struct {
	timer  *time.Timer
	at     time.Time
	newest uint64 // highest version so far
}

func newProof() *proof {
	return &proof{timer: time.NewTimer(kubeclient.ProvenAfter), at: time.Now().Add(kubeclient.ProvenAfter)}
}

// The method see processes the version of an Event. The method see ignores a version that is not a number.
func (p *proof) see(version string) {
	v, err := strconv.ParseUint(version, 10, 64)
	switch {
	case err != nil:
	case v < p.newest:
		p.at = time.Now().Add(kubeclient.ProvenAfter)
	default:
		p.newest = v
	}
}

// The method postpone extends the deadline by a time in which no goroutine read the watch.
func (p *proof) postpone(took time.Duration) {
	p.at = p.at.Add(took)
	p.timer.Reset(time.Until(p.at))
}
