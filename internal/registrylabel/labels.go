// Package registrylabel limits the number of values of the label "registry" in metrics. The package does no I/O and
// reads no clock. Counters and histograms use Labels. The type Labels changes a registry's label only if necessary,
// because the series of a counter must continue. Gauges of pulls in progress use OfMoment, which assigns new labels at
// each scrape.
package registrylabel

import (
	"strings"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

const (
	// Max is the maximum number of registries with their own label value. A limit is necessary because users who can
	// create pods can invent host names, and each host has about 100 series.
	Max = 6
	// maxConfirmed is the maximum number of labels for registries with a confirmed pull. A pull is confirmed if the
	// container runtime or the container status in the pod shows that the pull succeeded. One label stays free for a
	// registry without a confirmed pull, for example a registry that has never responded.
	maxConfirmed = Max - 1
	// maxUnconfirmed is the maximum number of labels for registries without a confirmed pull. The name of a registry
	// without a confirmed pull comes only from pods and Events, so a user can invent the name. Each namespace can have
	// at most one label for a registry without a confirmed pull.
	maxUnconfirmed = Max / 2
	// maxCandidates is the maximum number of registries whose pulls one table counts. The counts decide which
	// registries get their own label.
	maxCandidates = 8 * Max
	// takeover is a factor. Registry A can take the label of registry B only if A has more than takeover times as many
	// pulls as B. The factor applies only if both registries have a confirmed pull, or if neither registry has a
	// confirmed pull. Without the factor, two registries with similar numbers of pulls could repeatedly take the label
	// from each other.
	takeover = 2
	// halveAfter is the number of pulls after which all counts are halved. Halving gives recent pulls more weight than
	// old pulls.
	halveAfter = 1024
)

// otherLabel is the common label of all registries without their own label.
const otherLabel = "other"

// Help is a suffix for the help of metrics with the label "registry".
const Help = " The label \"registry\" contains the host in the image reference. The content can come from a mirror " +
	"of this host."

// ReasonHelp is a suffix for the help of metrics that count failed pulls by reason.
const ReasonHelp = " reason=\"unconfirmed\": Events report the failure, but the pod's status does not confirm it."

// Labels assigns a separate label value to each of the registries with the most pulls. If a registry gets its own label
// later, its earlier pulls stay in the series with the label value "other", because a counter must never decrease. The
// caller must delete the series of a registry that loses its label, because these series would otherwise stay forever.
// Labels is not safe for concurrent use.
//
// A user can invent registries: a pod can name any host, and a forged Event can claim that the node pulled an image
// from this host. Only a confirmed pull proves that the node uses a registry. Therefore, a registry with a confirmed
// pull can take a label from a registry without a confirmed pull. The reverse is impossible: a registry without a
// confirmed pull never takes a label from a registry with a confirmed pull. Registries without a confirmed pull compete
// for the remaining labels.
type Labels struct {
	confirmed, unconfirmed *table
}

// New returns Labels that have not counted any pulls yet.
func New() *Labels {
	return &Labels{confirmed: newTable(), unconfirmed: newTable()}
}

// Label returns the label value for one pull. The arguments describe the pull: its registry, the namespace of its pod,
// and whether the pull is confirmed. If a registry loses its label because of this pull, the second result is this
// registry. The pull's own registry can also lose its label. If no registry loses its label, the second result is
// empty.
func (l *Labels) Label(registry, namespace string, confirmed bool) (label, lost string) {
	registry = strings.ToValidUTF8(registry, "") // label values must be valid UTF-8
	switch {
	case registry == "" || registry == imagepull.UnknownRegistry:
		return imagepull.UnknownRegistry, ""
	case confirmed || l.confirmed.counted[registry] != nil:
		return l.confirmedLabel(registry, confirmed)
	}
	return l.unconfirmedLabel(registry, namespace)
}

func (l *Labels) confirmedLabel(registry string, confirmed bool) (label, lost string) {
	c := l.confirmed.countPull(registry, confirmed)
	if c.own {
		return registry, ""
	}
	had := l.unconfirmed.counted[registry] != nil && l.unconfirmed.counted[registry].own
	delete(l.unconfirmed.counted, registry)
	own, least := l.confirmed.ownLabels()
	unconfirmed, leastUnconfirmed := l.unconfirmed.ownLabels()
	switch {
	case own < maxConfirmed:
		c.own = true
		if !had && own+unconfirmed == Max {
			l.unconfirmed.counted[leastUnconfirmed].own = false
			return registry, leastUnconfirmed
		}
		return registry, ""
	// The registry now has a confirmed pull, but all labels for registries with a confirmed pull are in use. Therefore,
	// the registry loses the label that it had without a confirmed pull.
	case had:
		return otherLabel, registry
	case c.certain() > takeover*l.confirmed.counted[least].pulls:
		c.own, l.confirmed.counted[least].own = true, false
		return registry, least
	}
	return otherLabel, ""
}

func (l *Labels) unconfirmedLabel(registry, namespace string) (label, lost string) {
	c := l.unconfirmed.countPull(registry, true)
	if c.own {
		return registry, ""
	}
	confirmed, _ := l.confirmed.ownLabels()
	unconfirmed, least := l.unconfirmed.ownLabels()
	if of := l.unconfirmed.ownOf(namespace); of != "" {
		least = of
	} else if unconfirmed < min(maxUnconfirmed, Max-confirmed) {
		c.own, c.namespace = true, namespace
		return registry, ""
	}
	if least != "" && c.certain() > takeover*l.unconfirmed.counted[least].pulls {
		c.own, c.namespace, l.unconfirmed.counted[least].own = true, namespace, false
		return registry, least
	}
	return otherLabel, ""
}
