package eventwatch

import (
	"strconv"
	"time"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// proof detects when a watch has delivered everything that the API server held when the watch was
// opened. The API server does not mark that point: it is reached when only new Events have arrived for
// kubeclient.ProvenAfter.
//
// Existing Events come in the order of names, from one state of etcd. New Events come in the order of versions. So an
// Event that is older than a previous one existed before.
type proof struct {
	timer  *time.Timer
	at     time.Time
	newest uint64 // version so far
}

func newProof() *proof {
	return &proof{timer: time.NewTimer(kubeclient.ProvenAfter), at: time.Now().Add(kubeclient.ProvenAfter)}
}

// see processes the version of an Event. A version that is not a number proves nothing.
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

// postpone adds the time in which events were not read.
func (p *proof) postpone(took time.Duration) {
	p.at = p.at.Add(took)
	p.timer.Reset(time.Until(p.at))
}
