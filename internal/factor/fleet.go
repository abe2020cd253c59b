package factor

import (
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	// Window is the length of the time window for factors. A factor uses the start-ups that ended in the past hour.
	Window = time.Hour
	// Past is the length of the period before the window. The package compares a registry's pulls on a node with the
	// node's pulls from other registries in the window. If a node has too few pulls from other registries, the package
	// uses the registry's own pulls in the period before the window, on all nodes.
	Past = 24 * time.Hour
)

// Fleet contains the totals of all nodes. The memory of a Fleet grows with the number of nodes and their registries,
// but not with the number of start-ups.
type Fleet struct {
	period     string // name of the time window in texts, for example "the past hour"
	nodes      map[string]*nodeSums
	registries map[string]*registrySums
}

// nodeSums contains the totals of a node's start-ups that ended in the window.
type nodeSums struct {
	ended      int // number of completed start-ups, including failures
	startUps   int // number of start-ups that became ready or succeeded; the phase metrics count the same start-ups
	unreported int // number of milestones that the container runtime can never report
	works      map[string]*workSums
	pulls      map[string]*pullSums // totals by registry
	merged     map[string]bool      // kinds of work with a phase that the evidence could not separate from others
}

// workSums contains the totals of one kind of work.
type workSums struct{ seconds, units float64 }

// pullSums contains the totals of sized pulls (api.PullRecord.Sized).
type pullSums struct{ seconds, pulls, bytes float64 }

func (p *pullSums) add(q pullSums) {
	p.seconds += q.seconds
	p.pulls += q.pulls
	p.bytes += q.bytes
}

func (p *pullSums) minus(q pullSums) pullSums {
	return pullSums{p.seconds - q.seconds, p.pulls - q.pulls, p.bytes - q.bytes}
}

// NewFleet returns an empty fleet for the window of the factors (Window).
func NewFleet() *Fleet { return NewFleetOver("the past hour") }

// NewFleetOver returns an empty fleet for a time window of any length. The argument "period" is the name of the window
// in texts, for example "the past hour".
func NewFleetOver(period string) *Fleet {
	return &Fleet{period: period, nodes: map[string]*nodeSums{}, registries: map[string]*registrySums{}}
}

func (f *Fleet) node(name string) *nodeSums {
	n := f.nodes[name]
	if n == nil {
		n = &nodeSums{works: map[string]*workSums{}, pulls: map[string]*pullSums{}, merged: map[string]bool{}}
		f.nodes[name] = n
	}
	return n
}

func (f *Fleet) registry(name string) *registrySums {
	r := f.registries[name]
	if r == nil {
		r = &registrySums{durations: durationBuckets{}}
		f.registries[name] = r
	}
	return r
}

// Add adds a node's totals for the window. The caller must add each node only once.
func (f *Fleet) Add(node string, totals api.TotalsRecord) {
	n := f.node(node)
	n.ended += totals.Ended
	n.startUps += totals.Started
	n.unreported += totals.Unreported
	for _, phase := range totals.Phases {
		n.addPhase(phase)
	}
	for _, phase := range totals.Merged {
		if work := workOf(phase); work != "" {
			n.merged[work] = true
		}
	}
	for _, r := range totals.Registries {
		f.registry(r.Registry).add(r)
		if content := contentOf(r); content != (pullSums{}) {
			unpack := n.work(workUnpack)
			unpack.seconds += r.Sized.Unpack.Duration().Seconds()
			unpack.units += content.bytes / unpackUnit
			sums := n.pulls[r.Registry]
			if sums == nil {
				sums = &pullSums{}
				n.pulls[r.Registry] = sums
			}
			sums.add(content)
		}
	}
	if unpack := n.works[workUnpack]; unpack != nil && unpack.seconds == 0 {
		// A sum of zero means that the runtime does not report how long unpacking takes. The next line removes the
		// node's unpacking work. If the work stayed, this node's unpacking would seem to take no time, and the other
		// nodes would look slow.
		delete(n.works, workUnpack)
	}
}

// AddPast adds a node's totals for the time before the window.
func (f *Fleet) AddPast(totals api.TotalsRecord) {
	for _, r := range totals.Registries {
		f.registry(r.Registry).past.add(contentOf(r))
	}
}

func contentOf(r api.RegistryTotals) pullSums {
	return pullSums{r.Sized.Length.Duration().Seconds(), float64(r.Sized.Pulls), float64(r.Sized.Bytes)}
}
