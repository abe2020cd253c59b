package node

import (
	"cmp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// maxConditions is the maximum number of reported conditions. Kubernetes defines five conditions, and
// node-problem-detector adds a dozen conditions.
const maxConditions = 32

// Names of the requirements that an available node meets, in the order of the checks.
const (
	AspectReady       = "ready"       // the status of the condition Ready is True
	AspectSchedulable = "schedulable" // the node is not cordoned
	AspectWarmedUp    = "warmed_up"   // the age of the Node object has reached the warm-up time
)

// Reasons why a node does not meet a requirement. The agent uses one of the reasons below if the Node object does not
// contain a reason.
const (
	reasonCordoned    = "Cordoned"
	reasonWarmingUp   = "WarmingUp"
	reasonNoObject    = "NodeObjectMissing"
	reasonNoCondition = "ConditionMissing"
)

// Health is the state of a node according to the Node object.
type Health struct {
	Known      bool // true if the API server has responded
	Exists     bool // true if the API server has the Node object
	Place      Place
	Conditions []Condition // conditions, sorted by type
	Dropped    int         // number of conditions omitted because of maxConditions
	CreatedAt  time.Time
	Cordoned   bool
	NotReady   string // why the node is not ready; empty if the status of the condition Ready is True
}

// Place is the pool, zone, region and instance type of a node, from well-known labels. If a label is missing, its field
// is empty.
type Place struct{ Pool, Zone, Region, InstanceType string }

// Condition is one condition of a node. Status is "true", "false" or "unknown".
type Condition struct{ Type, Status string }

// Aspect is one requirement for the node's availability.
type Aspect struct {
	Name   string
	Given  bool
	Reason string // reason why the node does not meet the requirement; empty if the node meets it
}

// poolLabels lists the labels in which cloud providers and provisioners write a node's pool. If a node has several
// of these labels, the first label in the list determines the pool.
var poolLabels = []string{
	"karpenter.sh/nodepool", "karpenter.sh/provisioner-name", // provisioner-name was used before Karpenter 0.32
	"cloud.google.com/gke-nodepool", "eks.amazonaws.com/nodegroup", "alpha.eksctl.io/nodegroup-name",
	"kubernetes.azure.com/agentpool", "agentpool",
	"doks.digitalocean.com/node-pool", "k8s.scaleway.com/pool-name", "lke.linode.com/pool-id",
	"oke.oraclecloud.com/pool.name",
	"node.cluster.x-k8s.io/pool", "worker.gardener.cloud/pool", "kops.k8s.io/instancegroup",
}

// Labels of the zone, region and instance type. Kubernetes before 1.17 used the beta labels.
var (
	zoneLabels     = []string{corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone}
	regionLabels   = []string{corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaRegion}
	instanceLabels = []string{corev1.LabelInstanceTypeStable, corev1.LabelInstanceType}
)

// HealthOf converts a Node object. A nil object means that the Node object does not exist. HealthOf keeps no
// reference to the object.
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
		Cordoned:  isCordoned(n),
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

// isCordoned reports whether the node is unschedulable. isCordoned checks the field spec.unschedulable and the taint
// node.kubernetes.io/unschedulable, because either of them can be set first.
func isCordoned(n *corev1.Node) bool {
	return n.Spec.Unschedulable || slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == corev1.TaintNodeUnschedulable
	})
}

// status returns "true", "false" or "unknown". An unexpected value in the object becomes "unknown".
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

// Aspects returns the requirements for the node's availability. The node is warmed up as soon as the age of the Node
// object reaches warmUp.
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

// Available returns true if the node meets all requirements.
func (h Health) Available(now time.Time, warmUp time.Duration) bool {
	return !slices.ContainsFunc(h.Aspects(now, warmUp), func(a Aspect) bool { return !a.Given })
}

// Latest holds the latest Health. Before the first call of the method See, the Health is unknown. Latest is safe for
// concurrent use.
type Latest struct{ health atomic.Pointer[Health] }

// See stores the Health of a Node object as the latest Health. The method ignores its second argument, the time of the
// request.
func (l *Latest) See(n *corev1.Node, _ time.Time) {
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

// maxText is the maximum length of a label value, in bytes. The API server enforces the same limit for the values of
// pod labels and for container names. For annotations and for reasons of conditions, the API server allows more than
// maxText bytes.
const maxText = 63

// text returns a copy of s that is a valid label value of at most maxText bytes. If a label value were not valid UTF-8,
// prometheus.MustNewConstMetric would panic.
func text(s string) string { return strings.ToValidUTF8(strings.Clone(s[:min(len(s), maxText)]), "") }
