// Package registrylabel limits the values of the label registry of metrics. It is pure. Labels serves counters and
// histograms, which count for as long as the agent runs; OfMoment serves gauges of pulls in progress.
package registrylabel

import (
	"strings"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// Max limits the values of the label registry: anyone who may create a pod can invent host names, and each host has
	// about 100 series.
	Max = 6
	// maxConfirmed is how many labels are for registries from which the runtime is known to have pulled. The last label
	// is for a registry that has been down since the agent started.
	maxConfirmed = Max - 1
	// maxClaimed is how many of the remaining labels are for registries that only pods and Events name. Each namespace
	// may have one of them.
	maxClaimed = Max / 2
	// maxCandidates limits the registries of either kind whose pulls are counted, to find out which
	// get a label of their own.
	maxCandidates = 8 * Max
	// takeover is the factor by which another registry must have more pulls than the least used
	// registry with a label to take that label. So registries with similar use do not keep taking the label from each
	// other.
	takeover = 2
	// halveAfter is the number of pulls after which all counts are halved: recent use counts, not
	// total use.
	halveAfter = 1024
)

// other is the label of the registries that are not among the Max with a label of their own.
const other = "other"

// Help is appended to the help of metrics with the label registry.
const Help = " The registry is the host in the image reference; the content may have come from a mirror."

// ReasonHelp is appended to the help of metrics that count failed pulls by reason.
const ReasonHelp = " The reason is unconfirmed while only Events report the failure, not the pod's status."

// Labels gives a label value of its own to the registries with the most pulls. What was
// counted under other stays there, and the series of a registry that loses its label must be
// deleted: a counter never decreases. It is not safe for concurrent use.
//
// A pod can name any host, and an Event can say that an image came from it. So registries with a
// confirmed pull compete among themselves, and take a label from any without one; the others
// compete for the rest.
type Labels struct {
	confirmed, claimed *table
}

// New returns Labels before any pull.
func New() *Labels {
	return &Labels{confirmed: newTable(), claimed: newTable()}
}

// Label returns the label for one pull from a registry, for a pod of a namespace. lost is the registry that loses its
// label as a result, possibly this one; empty if none does.
func (l *Labels) Label(registry, namespace string, confirmed bool) (label, lost string) {
	registry = strings.ToValidUTF8(registry, "") // label values must be valid
	switch {
	case registry == "" || registry == imagepull.UnknownRegistry:
		return imagepull.UnknownRegistry, ""
	case confirmed || l.confirmed.counted[registry] != nil:
		return l.confirmedLabel(registry, confirmed)
	}
	return l.claimedLabel(registry, namespace)
}

func (l *Labels) confirmedLabel(registry string, confirmed bool) (label, lost string) {
	c := l.confirmed.count(registry, confirmed)
	if c.own {
		return registry, ""
	}
	had := l.claimed.counted[registry] != nil && l.claimed.counted[registry].own
	delete(l.claimed.counted, registry)
	own, least := l.confirmed.own()
	claimed, leastClaimed := l.claimed.own()
	switch {
	case own < maxConfirmed:
		c.own = true
		if !had && own+claimed == Max {
			l.claimed.counted[leastClaimed].own = false
			return registry, leastClaimed
		}
		return registry, ""
	case had: // there are too many confirmed ones now: it starts again among them
		return other, registry
	case c.certain() > takeover*l.confirmed.counted[least].pulls:
		c.own, l.confirmed.counted[least].own = true, false
		return registry, least
	}
	return other, ""
}

func (l *Labels) claimedLabel(registry, namespace string) (label, lost string) {
	c := l.claimed.count(registry, true)
	if c.own {
		return registry, ""
	}
	confirmed, _ := l.confirmed.own()
	claimed, least := l.claimed.own()
	if of := l.claimed.ownOf(namespace); of != "" {
		least = of
	} else if claimed < min(maxClaimed, Max-confirmed) {
		c.own, c.namespace = true, namespace
		return registry, ""
	}
	if least != "" && c.certain() > takeover*l.claimed.counted[least].pulls {
		c.own, c.namespace, l.claimed.counted[least].own = true, namespace, false
		return registry, least
	}
	return other, ""
}
