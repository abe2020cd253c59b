package node

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxConditions limits the reported conditions: the kubelet has five, node-problem-detector adds a
// dozen.
const maxConditions = 32

// The aspects of availability, in the order in which they are checked.
const (
	AspectReady       = "ready"       // condition Ready is True
	AspectSchedulable = "schedulable" // not cordoned
	AspectWarmedUp    = "warmed_up"   // old enough for everything that starts with a node to be up
)

// Reasons for a missing aspect, if no condition gives one.
const (
	reasonCordoned    = "Cordoned"
	reasonWarmingUp   = "WarmingUp"
	reasonNoObject    = "NodeObjectMissing"
	reasonNoCondition = "ConditionMissing"
)

// Health holds the state of a node, from its Node object. It is a value.
type Health struct {
	Known      bool // the API server was queried
	Exists     bool // and has the object
	Place      Place
	Conditions []Condition // by type
	Dropped    int         // conditions beyond the limit
	CreatedAt  time.Time
	Cordoned   bool
	NotReady   string // the reason of condition Ready if it is not True; otherwise empty
}

// Place is the pool, zone, region and instance type of a node, from well-known labels. Absent ones are empty.
type Place struct{ Pool, Zone, Region, InstanceType string }

// Condition is one condition of a node. Status is true, false or unknown.
type Condition struct{ Type, Status string }

// Aspect is one requirement for the node's availability.
type Aspect struct {
	Name   string
	Given  bool
	Reason string // why it is not met; empty if it is
}

// poolLabels are the labels in which clouds and provisioners name a node's pool, in order of
// precedence.
var poolLabels = []string{
	"karpenter.sh/nodepool", "karpenter.sh/provisioner-name", // the latter before 0.32
	"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
	"kubernetes.azure.com/agentpool", "agentpool",
	"doks.digitalocean.com/node-pool", "k8s.scaleway.com/pool-name", "lke.linode.com/pool-id",
	"oke.oraclecloud.com/pool.name",
	"node.cluster.x-k8s.io/pool", "worker.gardener.cloud/pool", "kops.k8s.io/instancegroup",
}

// The other labels; the beta ones are older than 1.17.
var (
	zoneLabels     = []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone}
	regionLabels   = []string{corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion}
	instanceLabels = []string{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType}
)

// HealthOf converts a Node object; nil means that the node has no object. It keeps no reference to the object.
func HealthOf(n *corev1.Node) Health {
	if n == nil {
		return Health{Known: true, NotReady: reasonNoObject}
	}
	h := Health{
		Known: true, Exists: true,
		Place: Place{
			Pool: first(n.Labels, poolLabels), Zone: first(n.Labels, zoneLabels),
			Region: first(n.Labels, regionLabels), InstanceType: first(n.Labels, instanceLabels),
		},
		CreatedAt: n.CreationTimestamp.Time,
		Cordoned:  cordoned(n),
		NotReady:  reasonNoCondition,
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			h.NotReady = ""
			if c.Status != corev1.ConditionTrue {
				h.NotReady = text(cmp.Or(c.Reason, "NotReady"))
			}
		}
		known := Condition{text(string(c.Type)), status(c.Status)}
		if !slices.ContainsFunc(h.Conditions, known.sameType) {
			h.Conditions = append(h.Conditions, known)
		}
	}
	slices.SortFunc(h.Conditions, func(a, b Condition) int { return cmp.Compare(a.Type, b.Type) })
	if over := len(h.Conditions) - maxConditions; over > 0 {
		h.Conditions, h.Dropped = h.Conditions[:maxConditions], over
	}
	return h
}

func (c Condition) sameType(other Condition) bool { return c.Type == other.Type }

// cordoned checks the field and the taint that follows from it: either may come first.
func cordoned(n *corev1.Node) bool {
	return n.Spec.Unschedulable || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnschedulable
	})
}

// status returns one of three words, whatever the object contains.
func status(s corev1.ConditionStatus) string {
	switch s {
	case corev1.ConditionTrue:
		return "true"
	case corev1.ConditionFalse:
		return "false"
	}
	return "unknown"
}

func first(labels map[string]string, keys []string) string {
	for _, key := range keys {
		if value := labels[key]; value != "" {
			return text(value)
		}
	}
	return ""
}

// Aspects returns the requirements for the node's availability. Warming up ends when the object is
// older than warmUp.
func (h Health) Aspects(now time.Time, warmUp time.Duration) []Aspect {
	aspects := []Aspect{
		{AspectReady, h.Exists && h.NotReady == "", h.NotReady},
		{AspectSchedulable, h.Exists && !h.Cordoned, reasonCordoned},
		{AspectWarmedUp, h.Exists && now.Sub(h.CreatedAt) >= warmUp, reasonWarmingUp},
	}
	for i := range aspects {
		switch a := &aspects[i]; {
		case a.Given:
			a.Reason = ""
		case !h.Exists:
			a.Reason = reasonNoObject
		}
	}
	return aspects
}

// Available reports whether all aspects are met.
func (h Health) Available(now time.Time, warmUp time.Duration) bool {
	return !slices.ContainsFunc(h.Aspects(now, warmUp), func(a Aspect) bool { return !a.Given })
}

// Latest holds the latest Health. It is safe for concurrent use. The zero value holds an unknown
// Health.
type Latest struct{ health atomic.Pointer[Health] }

// See processes the Node object.
func (l *Latest) See(n *corev1.Node) {
	h := HealthOf(n)
	l.health.Store(&h)
}

// Health returns the latest Health.
func (l *Latest) Health() Health {
	if h := l.health.Load(); h != nil {
		return *h
	}
	return Health{}
}

// maxText limits texts of an object that become label values, in bytes. The API server limits most
// of them to the same length.
const maxText = 63

// text returns a short copy that is valid as a label value: with an invalid value, all series of
// its metric would be lost.
func text(s string) string { return strings.ToValidUTF8(strings.Clone(s[:min(len(s), maxText)]), "") }
