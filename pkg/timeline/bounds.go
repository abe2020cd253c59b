package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// bound is the interval that remains when all trusted constraints on a milestone are combined. Both ends are included.
type bound struct {
	key              milestoneKey
	earliest, latest instant
	lean             lean
	origins          origins // the origins that agree
	// notBefore and notAfter limit the estimate by the estimates of neighboring milestones; zero without such a limit.
	notBefore, notAfter instant
}

// estimate is the most likely instant inside the bound.
func (b *bound) estimate() instant {
	best := max(b.leaning(), b.notBefore)
	if b.notAfter != 0 {
		best = min(best, b.notAfter)
	}
	return best
}

// leaning is the estimate from the evidence of this milestone alone.
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

// origins is a set of origins, one bit each.
type origins uint16

func (os origins) with(o origin) origins { return os | 1<<o }

// ofControlPlane reports whether only the control plane's clock dates the milestone, apart from the arrival of the
// observation.
func (os origins) ofControlPlane() bool {
	return os.has(originControlPlane) && os&^(1<<originControlPlane|1<<originArrival) == 0
}

// datedOnNode reports whether the kubelet or the runtime dated the milestone itself.
func (os origins) datedOnNode() bool {
	return os.has(originRuntime) || os.has(originStore) || os.has(originStatus)
}

func (os origins) has(o origin) bool { return os&(1<<o) != 0 }

// String names each origin, the most trusted first.
func (os origins) String() string {
	var names []string
	for o := range originSources {
		if os.has(origin(o)) {
			names = append(names, origin(o).String())
		}
	}
	return strings.Join(names, ", ")
}

// sources lists the sources of the origins, each once, the most trusted first. Callers must not change the list.
func (os origins) sources() []Source {
	var set int
	for o, source := range originSources {
		if os.has(origin(o)) {
			set |= 1 << slices.Index(trusted[:], source)
		}
	}
	return sourceLists[set]
}

// trusted is the sources, the most trusted first.
var trusted = [...]Source{SourceCRI, SourceContainerd, SourceEventWatch, SourcePodWatch}

// sourceLists has a list for each set of sources, so that the many parts of a timeline share them.
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

// overlaps reports whether the intervals overlap, so that either milestone may have come first.
func (b *bound) overlaps(o *bound) bool { return b.earliest < o.latest && o.earliest < b.latest }

// bounds is the bounds of all known milestones, sorted by key.
type bounds []bound

func (bs bounds) find(k milestoneKey) *bound {
	if i := bs.search(k); i < len(bs) && bs[i].key == k {
		return &bs[i]
	}
	return nil
}

// search returns the index of the first milestone that is not before the key. A fold calls this more often than
// anything else, and a search with a callback costs twice as much.
func (bs bounds) search(k milestoneKey) int {
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

// ofContainer is the milestones of one container, or of the pod.
func (bs bounds) ofContainer(container int16) bounds {
	return bs[bs.search(milestoneKey{container: container}):bs.search(milestoneKey{container: container + 1})]
}

// milestoneConflict is a contradiction between constraints, or between two milestones that must be in order.
type milestoneConflict struct {
	key    milestoneKey
	detail string
}

// capAt ends every interval at now at the latest, because a reported milestone cannot be in the future. It reports
// whether any interval reached beyond now.
func (bs bounds) capAt(now instant) (cut bool) {
	for i := range bs {
		cut = cut || bs[i].latest >= now
		bs[i].latest = max(bs[i].earliest, min(bs[i].latest, now))
	}
	return cut
}

// leanToPickup moves the estimate of the kubelet's pickup to the moment when the pod reached the node. The kubelet
// learns of the pod when the agent does and picks it up at once, but the status that reports the pickup waits for
// its turn and for the API server (sometimes 50 to 300 ms on a quiet node). The estimate does not move if the
// kubelet's own timestamp says otherwise.
func (bs bounds) leanToPickup() {
	scheduled, acknowledged := bs.find(podMilestone(MilestoneScheduled)), bs.find(podMilestone(MilestoneAcknowledged))
	if scheduled == nil || acknowledged == nil || scheduled.lean != leanLatest {
		return
	}
	came := scheduled.estimate()
	if acknowledged.earliest <= came+liveSlack && came <= acknowledged.latest {
		acknowledged.lean, acknowledged.notBefore = leanEarliest, came
	}
}

// intersect combines the constraints, sorted by key and trust, into one bound per milestone. A constraint that does not
// overlap the interval of more trusted constraints is a conflict and is not used.
func intersect(constraints []constraint) (bounds, []milestoneConflict) {
	milestones := 0
	for i := range constraints {
		if i == 0 || constraints[i].key != constraints[i-1].key {
			milestones++
		}
	}
	all := make(bounds, 0, milestones)
	var conflicts []milestoneConflict
	for _, c := range constraints {
		if len(all) == 0 || all[len(all)-1].key != c.key {
			all = append(all, bound{key: c.key, earliest: minInstant, latest: maxInstant})
		}
		b := &all[len(all)-1]
		earliest, latest := max(b.earliest, c.earliest), min(b.latest, c.latest)
		if earliest > latest {
			d := milestoneConflict{c.key, fmt.Sprintf("%s says %s, %s allows %s",
				c.origin, interval(c.earliest, c.latest), b.origins, interval(b.earliest, b.latest))}
			if c.origin == originControlPlane {
				d.detail += ": the clocks of control plane and node may differ"
				if b.earliest == minInstant { // the truth may differ from the estimate by as much as the timestamp does
					b.earliest = b.latest - (c.latest - b.latest)
				}
			}
			conflicts = append(conflicts, d)
			continue
		}
		// The estimate follows the most trusted constraint that leans to an end of its interval and also sets that end
		// of the bound.
		if b.lean == leanSlack && latest < b.latest || b.lean == leanLatest && b.latest-latest >= liveSlack ||
			b.lean == leanEarliest && earliest > b.earliest {
			b.lean = leanNone
		}
		if b.lean == leanNone &&
			(c.lean == leanLatest && c.latest-latest < liveSlack || c.lean == leanEarliest && c.earliest == earliest ||
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
