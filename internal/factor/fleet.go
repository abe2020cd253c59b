package factor

import (
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// Window is the length of the time window for factors. A factor uses the start-ups that ended in the past hour.
	Window = time.Hour
	// Past is the length of the time before the window. A registry's pulls in the window are compared with its
	// pulls in this time.
	Past = 24 * time.Hour
)

// Fleet contains the totals of start-ups. The memory of a Fleet grows with the number of nodes, registries, and
// pulls in the window, but not with the number of records.
type Fleet struct {
	now        time.Time
	nodes      map[string]*nodeSums
	registries map[string]*registrySums
}

// nodeSums contains the totals of a node's start-ups that ended in the window.
type nodeSums struct {
	startUps int // number of start-ups that became ready or succeeded; the phase metrics count the same start-ups
	works    map[string]*workSums
	pulls    map[string]*pullSums // totals by registry
	merged   map[string]bool      // kinds of work whose phases the evidence could not separate
}

// workSums contains the totals of one kind of work.
type workSums struct{ seconds, units float64 }

// pullSums contains the totals of pulls that downloaded content.
type pullSums struct{ seconds, pulls, bytes float64 }

func (p *pullSums) add(q pullSums) {
	p.seconds += q.seconds
	p.pulls += q.pulls
	p.bytes += q.bytes
}

func (p *pullSums) without(q pullSums) pullSums {
	return pullSums{p.seconds - q.seconds, p.pulls - q.pulls, p.bytes - q.bytes}
}

// NewFleet returns an empty fleet. The argument now is the end of the window.
func NewFleet(now time.Time) *Fleet {
	return &Fleet{now: now, nodes: map[string]*nodeSums{}, registries: map[string]*registrySums{}}
}

// AddNode adds a node that might have no start-ups.
func (f *Fleet) AddNode(node string) { f.node(node) }

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
		r = &registrySums{}
		f.registries[name] = r
	}
	return r
}

// Add adds a record from the agent of a node. The caller must add each record only once.
func (f *Fleet) Add(node string, record api.Record) {
	f.addLive(node, record)
	if record.State == timeline.StateStarting || record.SettledAt.IsZero() || record.Reconstructed {
		return
	}
	switch age := f.now.Sub(record.SettledAt.Time); {
	case age < 0, age >= Window+Past:
	case age >= Window:
		for _, pull := range record.Pulls {
			if content, ok := contentOf(pull); ok {
				f.registry(pull.Registry).past.add(content)
			}
		}
	default:
		f.addEnded(f.node(node), record)
	}
}

// addEnded adds a start-up that ended in the window.
func (f *Fleet) addEnded(n *nodeSums, record api.Record) {
	if record.State == timeline.StateReady || record.State == timeline.StateSucceeded {
		n.startUps++
		for _, phase := range record.Phases {
			n.addPhase(phase)
		}
	}
	for _, pull := range record.Pulls {
		if pull.Outcome != imagepull.OutcomePresent && pull.Unpack != nil {
			n.work(workUnpack).seconds += pull.Unpack.Busy.Duration().Seconds()
		}
		if pull.Outcome == imagepull.OutcomeDownloaded && pull.Pull != nil && !pull.Resumed {
			f.registry(pull.Registry).durations = append(f.registry(pull.Registry).durations, pull.Pull.Duration())
		}
		content, ok := contentOf(pull)
		if !ok {
			continue
		}
		n.work(workUnpack).units += content.bytes / unpackUnit
		sums := n.pulls[pull.Registry]
		if sums == nil {
			sums = &pullSums{}
			n.pulls[pull.Registry] = sums
		}
		sums.add(content)
	}
}

// contentOf returns the contribution of a pull to the metrics
// podlapse_image_pull_duration_seconds{outcome="downloaded"} and podlapse_image_pull_bytes_total.
func contentOf(pull api.PullRecord) (sums pullSums, ok bool) {
	if pull.Outcome == imagepull.OutcomePresent || pull.Resumed {
		return pullSums{}, false
	}
	if pull.Download != nil && pull.Download.Bytes > 0 {
		sums.bytes = float64(pull.Download.Bytes)
	}
	if pull.Outcome == imagepull.OutcomeDownloaded && pull.Pull != nil {
		sums.seconds, sums.pulls = pull.Pull.Duration().Seconds(), 1
	}
	return sums, sums != pullSums{}
}
