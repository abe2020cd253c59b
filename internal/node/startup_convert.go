package node

import (
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/internal/nodestart"
	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/internal/untrusted"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

const (
	// maxTaints is the maximum number of taints that the agent keeps from a Node object.
	maxTaints = 32
	// maxTaintKey is the maximum length of a taint's key: a DNS name, a slash and a name.
	maxTaintKey = 253 + 1 + 63
)

// nodeSeen converts a Node object. The argument n is nil if the object does not exist. nodeSeen keeps no reference to
// the object.
func nodeSeen(n *corev1.Node, requestedAt, now time.Time) nodestart.NodeSeen {
	o := nodestart.NodeSeen{ArrivedAt: now, RequestedAt: requestedAt}
	if n == nil {
		return o
	}
	o.Exists, o.CreatedAt = true, untrusted.Time(n.CreationTimestamp)
	o.Name, o.BootID = untrusted.Name(n.Name), text(n.Status.NodeInfo.BootID)
	o.Version, _ = strconv.ParseUint(n.ResourceVersion, 10, 64)
	for _, c := range n.Status.Conditions[:min(len(n.Status.Conditions), maxConditions)] {
		o.Conditions = append(o.Conditions, nodestart.Condition{
			Type: text(string(c.Type)), Status: text(string(c.Status)), Reason: untrusted.Reason(c.Reason),
			Message:   untrusted.Message(redact.Text(c.Message)),
			ChangedAt: untrusted.Time(c.LastTransitionTime),
		})
	}
	for _, t := range n.Spec.Taints[:min(len(n.Spec.Taints), maxTaints)] {
		o.Taints = append(o.Taints, nodestart.Taint{Key: untrusted.Text(t.Key, maxTaintKey),
			Effect: text(string(t.Effect))})
	}
	return o
}

func isReady(n *corev1.Node) bool {
	return n != nil && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// podReady converts a workload pod that is ready. The second result is false for all other pods, for example static
// pods and the pods of DaemonSets.
func podReady(pod *corev1.Pod, now time.Time) (nodestart.PodReady, bool) {
	p := nodestart.PodReady{ArrivedAt: now, UID: strings.Clone(string(pod.UID))}
	switch podwatch.OwnerOf(pod).Kind {
	case "DaemonSet", "Node":
		return p, false
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			p.Namespace, p.Name = untrusted.Name(pod.Namespace), untrusted.Name(pod.Name)
			p.CreatedAt, p.ReadyAt = untrusted.Time(pod.CreationTimestamp), untrusted.Time(c.LastTransitionTime)
			return p, true
		}
	}
	return p, false
}
