package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// bound is the interval of time that contains a milestone, according to all trusted constraints. The bound is the
// intersection of the constraints' intervals, and includes its two ends.
type bound struct {
	key              milestoneKey
	earliest, latest instant
	bias             bias
	origins          origins // the origins of the combined constraints
	// The estimate must lie between notBefore and notAfter. The two limits usually come from the estimates of
	// neighboring milestones. Zero means no limit.
	notBefore, notAfter instant
}

// estimate returns the most likely instant inside the bound.
func (b *bound) estimate() instant {
	best := max(b.ownEstimate(), b.notBefore)
	if b.notAfter != 0 {
		best = min(best, b.notAfter)
	}
	return best
}

// ownEstimate returns the estimate from the evidence of this milestone alone, without notBefore and notAfter.
func (b *bound) ownEstimate() instant {
	switch {
	case b.earliest == minInstant || b.bias == biasLatest:
		return b.latest
	case b.latest == maxInstant || b.bias == biasEarliest:
		return b.earliest
	case b.bias == biasSlack:
		return max(b.earliest, b.latest-eventSlack)
	case b.bias == biasNextSync:
		return max(b.earliest, b.latest-instant(usualSync))
	}
	return b.earliest + (b.latest-b.earliest)/2
}

// origins is a set of origins, with one bit for each origin.
type origins uint16

func (os origins) with(o origin) origins { return os | 1<<o }

// ofControlPlane reports whether all known timestamps of the milestone come from the control plane's clock. The arrival
// time of the pod object does not count.
func (os origins) ofControlPlane() bool {
	return os.has(originControlPlane) && os&^(1<<originControlPlane|1<<originArrival) == 0
}

// datedOnNode reports whether the runtime, containerd's stores or the kubelet's pod status has a timestamp for the
// milestone.
func (os origins) datedOnNode() bool {
	return os.has(originRuntime) || os.has(originStore) || os.has(originStatus)
}

func (os origins) has(o origin) bool { return os&(1<<o) != 0 }

// String lists the names of the origins, the most trusted origin first.
func (os origins) String() string {
	var names []string
	for o := range originSources {
		if os.has(origin(o)) {
			names = append(names, origin(o).String())
		}
	}
	return strings.Join(names, ", ")
}

// sources returns the sources of the origins without duplicates, the most trusted source first. Callers must not change
// the list.
func (os origins) sources() []Source {
	var set int
	for o, source := range originSources {
		if os.has(origin(o)) {
			set |= 1 << slices.Index(sourcesByTrust[:], source)
		}
	}
	return sourceLists[set]
}

// sourcesByTrust lists the sources, the most trusted source first.
var sourcesByTrust = [...]Source{SourceCRI, SourceContainerd, SourceEventWatch, SourcePodWatch}

// sourceLists holds one list for each possible set of sources. All timelines share these lists, so the lists must not
// change.
var sourceLists = func() (lists [1 << len(sourcesByTrust)][]Source) {
	for set := range lists {
		for i, source := range sourcesByTrust {
			if set&(1<<i) != 0 {
				lists[set] = append(lists[set], source)
			}
		}
		lists[set] = slices.Clip(lists[set])
	}
	return lists
}()

// overlapsWith reports whether two intervals overlap. If the intervals of two milestones overlap, the order of the two
// milestones is unknown.
func (b *bound) overlapsWith(o *bound) bool { return b.earliest < o.latest && o.earliest < b.latest }

// bounds holds the bounds of all known milestones, sorted by key.
type bounds []bound

func (bs bounds) find(k milestoneKey) *bound {
	if i := bs.firstNotBefore(k); i < len(bs) && bs[i].key == k {
		return &bs[i]
	}
	return nil
}

// firstNotBefore returns the index of the first bound whose key is equal to k or comes after k. A fold calls
// firstNotBefore more often than any other method. So firstNotBefore contains its own binary search. A search with a
// callback would cost twice as much.
func (bs bounds) firstNotBefore(k milestoneKey) int {
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

// ofContainer returns the bounds of one container's milestones. For the index podWide, ofContainer returns the bounds
// of the milestones of the whole pod.
func (bs bounds) ofContainer(container int16) bounds {
	begin := bs.firstNotBefore(milestoneKey{container: container})
	end := bs.firstNotBefore(milestoneKey{container: container + 1})
	return bs[begin:end]
}

// milestoneConflict describes a contradiction. Either constraints contradict each other, or two milestones are in the
// wrong order.
type milestoneConflict struct {
	key    milestoneKey
	detail string
}

// capAt cuts each interval that ends after the instant "now" at this instant, because a reported milestone cannot be in
// the future. The kubelet can send an Event just before the milestone that the Event reports. So capAt does not cut an
// interval that begins at the time of an Event and is at most eventSlack long. If at least one interval originally
// ended at the instant "now" or later, capAt returns true.
func (bs bounds) capAt(now instant) (cut bool) {
	for i := range bs {
		cut = cut || bs[i].latest >= now
		if bs[i].bias != biasEarliest || bs[i].earliest+eventSlack < bs[i].latest {
			bs[i].latest = max(bs[i].earliest, min(bs[i].latest, now))
		}
	}
	return cut
}

// biasToPickup changes the estimate of MilestoneAcknowledged, which is the time when the kubelet picked up the pod. The
// new estimate is the time when the pod reached the node. The kubelet receives the pod at the same time as the agent
// and starts work immediately. The status that reports this milestone reaches the agent later, because the kubelet
// queues status updates and the API server adds delay. Even on an idle node, the status sometimes arrives 50 to 300 ms
// after the kubelet has picked up the pod. If the kubelet's own timestamp contradicts the new estimate, biasToPickup
// changes nothing. The argument reachedNode is the milestone at which the pod reached the node.
func (bs bounds) biasToPickup(reachedNode milestoneKey) {
	reached, acknowledged := bs.find(reachedNode), bs.find(podMilestone(MilestoneAcknowledged))
	if reached == nil || acknowledged == nil || reached.bias != biasLatest {
		return
	}
	came := reached.estimate()
	if acknowledged.earliest <= came+liveSlack && came <= acknowledged.latest {
		acknowledged.bias, acknowledged.notBefore = biasEarliest, came
	}
}

// intersect combines all constraints on a milestone into one bound. The constraints must be sorted by key. Constraints
// with the same key must be sorted by trust, the most trusted constraint first. If a constraint does not overlap the
// intersection of more trusted constraints, intersect ignores the constraint and reports a conflict.
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
			d := milestoneConflict{c.key, fmt.Sprintf("%s reports %s, %s allows %s",
				c.origin, interval(c.earliest, c.latest), b.origins, interval(b.earliest, b.latest))}
			if c.origin == originControlPlane {
				d.detail += ": the clocks of control plane and node may differ"
				// If the bound has no lower limit, the control plane's timestamp is later than b.latest, which is on
				// the node's clock. Then the new lower limit is as far before b.latest as the end of the timestamp's
				// interval is after b.latest.
				if b.earliest == minInstant {
					b.earliest = b.latest - (c.latest - b.latest)
				}
			}
			conflicts = append(conflicts, d)
			continue
		}
		// If a constraint has a bias, the true instant is probably near one end of the constraint's interval. The bound
		// takes the constraint's bias only if this end is also an end of the bound's interval. For biasLatest, it is
		// enough if the bound's interval ends less than liveSlack before the constraint's interval. If several
		// constraints have a suitable bias, the bound takes the bias of the most trusted constraint.
		atEnd := b.bias == biasSlack || b.bias == biasNextSync
		if atEnd && latest < b.latest || b.bias == biasLatest && b.latest-latest >= liveSlack ||
			b.bias == biasEarliest && earliest > b.earliest {
			b.bias = biasNone
		}
		if b.bias == biasNone &&
			(c.bias == biasLatest && c.latest-latest < liveSlack || c.bias == biasEarliest && c.earliest == earliest ||
				(c.bias == biasSlack || c.bias == biasNextSync) && c.latest == latest) {
			b.bias = c.bias
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
