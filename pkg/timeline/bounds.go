package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// bound is the interval that all trusted claims about one mark leave, both ends included.
type bound struct {
	key              markKey
	earliest, latest instant
	lean             lean
	origins          origins // those that agree
	// Where the estimates of its neighbors limit this one's; zero when they do not.
	notBefore, notAfter instant
}

// estimate is the best single instant inside the bound.
func (b *bound) estimate() instant {
	best := max(b.leaning(), b.notBefore)
	if b.notAfter != 0 {
		best = min(best, b.notAfter)
	}
	return best
}

// leaning is where the evidence of this mark alone leans.
func (b *bound) leaning() instant {
	switch {
	case b.earliest == minInstant || b.lean == leanLatest:
		return b.latest
	case b.latest == maxInstant || b.lean == leanEarliest:
		return b.earliest
	case b.lean == leanSlack:
		return max(b.earliest, b.latest-eventSlack)
	}
	return b.earliest + (b.latest-b.earliest)/2
}

// origins is a set of origins, a bit each.
type origins uint16

func (os origins) with(o origin) origins { return os | 1<<o }

// ofControlPlane says that nothing on the node's clock tells of the mark but when the news arrived.
func (os origins) ofControlPlane() bool {
	return os.has(originControlPlane) && os&^(1<<originControlPlane|1<<originArrival) == 0
}

// datedOnNode says that the kubelet or the runtime dated the mark itself.
func (os origins) datedOnNode() bool {
	return os.has(originRuntime) || os.has(originStore) || os.has(originStatus)
}

func (os origins) has(o origin) bool { return os&(1<<o) != 0 }

// String names each, in the order of trust.
func (os origins) String() string {
	var names []string
	for o := range originSources {
		if os.has(origin(o)) {
			names = append(names, origin(o).String())
		}
	}
	return strings.Join(names, ", ")
}

// sources lists who is behind the origins, each once, in the order of trust. Nobody may change the list.
func (os origins) sources() []Source {
	var set int
	for o, source := range originSources {
		if os.has(origin(o)) {
			set |= 1 << slices.Index(trusted[:], source)
		}
	}
	return sourceLists[set]
}

// trusted is the sources in the order of trust.
var trusted = [...]Source{SourceCRI, SourceContainerd, SourceEventWatch, SourcePodWatch}

// sourceLists has a list for each set of sources: the many parts of a timeline share them.
var sourceLists = func() (lists [1 << len(trusted)][]Source) {
	for set := range lists {
		for i, source := range trusted {
			if set&(1<<i) != 0 {
				lists[set] = append(lists[set], source)
			}
		}
		lists[set] = slices.Clip(lists[set])
	}
	return lists
}()

// overlaps says that either mark may have come first.
func (b *bound) overlaps(o *bound) bool { return b.earliest < o.latest && o.earliest < b.latest }

// bounds is the evidence of every known mark, sorted by key.
type bounds []bound

func (bs bounds) find(k markKey) *bound {
	if i := bs.search(k); i < len(bs) && bs[i].key == k {
		return &bs[i]
	}
	return nil
}

// search is the place of the first mark that is not before the key. Nothing in a fold is called as often, which a search by
// a function doubles in cost.
func (bs bounds) search(k markKey) int {
	rank, low, high := k.rank(), 0, len(bs)
	for low < high {
		if middle := (low + high) / 2; bs[middle].key.rank() < rank {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// ofContainer is the marks of one container, or of the pod.
func (bs bounds) ofContainer(container int16) bounds {
	return bs[bs.search(markKey{container: container}):bs.search(markKey{container: container + 1})]
}

// markConflict is a contradiction between claims, or between two marks that should be in order.
type markConflict struct {
	key    markKey
	detail string
}

// capAt ends what is open: no mark that was told of lies after now. It says whether any of them could.
func (bs bounds) capAt(now instant) (cut bool) {
	for i := range bs {
		cut = cut || bs[i].latest >= now
		bs[i].latest = max(bs[i].earliest, min(bs[i].latest, now))
	}
	return cut
}

// leanToPickup leans the kubelet's taking the pod up to the moment when the pod came to the node: the kubelet hears of it
// as the agent does and takes it up at once, while the status that tells of it waits for its turn and for the
// API server (on a quiet node now and then 50 to 300 ms). Not so if the kubelet's own stamp says otherwise.
func (bs bounds) leanToPickup() {
	scheduled, acknowledged := bs.find(podMark(MarkScheduled)), bs.find(podMark(MarkAcknowledged))
	if scheduled == nil || acknowledged == nil || scheduled.lean != leanLatest {
		return
	}
	came := scheduled.estimate()
	if acknowledged.earliest <= came+liveSlack && came <= acknowledged.latest {
		acknowledged.lean, acknowledged.notBefore = leanEarliest, came
	}
}

// intersect takes the claims, sorted by key and trust, to one bound per mark. A claim that leaves
// nothing of what more trusted claims allow is a disagreement and is left out.
func intersect(constraints []constraint) (bounds, []markConflict) {
	marks := 0
	for i := range constraints {
		if i == 0 || constraints[i].key != constraints[i-1].key {
			marks++
		}
	}
	all := make(bounds, 0, marks)
	var conflicts []markConflict
	for _, c := range constraints {
		if len(all) == 0 || all[len(all)-1].key != c.key {
			all = append(all, bound{key: c.key, earliest: minInstant, latest: maxInstant})
		}
		b := &all[len(all)-1]
		earliest, latest := max(b.earliest, c.earliest), min(b.latest, c.latest)
		if earliest > latest {
			d := markConflict{c.key, fmt.Sprintf("%s says %s, %s allows %s",
				c.origin, interval(c.earliest, c.latest), b.origins, interval(b.earliest, b.latest))}
			if c.origin == originControlPlane {
				d.detail += ": the clocks of control plane and node may differ"
				if b.earliest == minInstant { // as far off as the stamp is, the truth may be
					b.earliest = b.latest - (c.latest - b.latest)
				}
			}
			conflicts = append(conflicts, d)
			continue
		}
		// The most trusted claim that leans, and sets the end it leans to, decides.
		if b.lean == leanSlack && latest < b.latest || b.lean == leanLatest && b.latest-latest >= liveSlack || b.lean == leanEarliest && earliest > b.earliest {
			b.lean = leanNone
		}
		if b.lean == leanNone && (c.lean == leanLatest && c.latest-latest < liveSlack || c.lean == leanEarliest && c.earliest == earliest ||
			c.lean == leanSlack && c.latest == latest) {
			b.lean = c.lean
		}
		b.earliest, b.latest = earliest, latest
		b.origins = b.origins.with(c.origin)
	}
	return all, conflicts
}

func interval(earliest, latest instant) string {
	text := func(i instant) string {
		if i == minInstant || i == maxInstant {
			return "…"
		}
		return i.time().Format(time.RFC3339Nano)
	}
	if earliest == latest {
		return text(earliest)
	}
	return "[" + text(earliest) + ", " + text(latest) + "]"
}
