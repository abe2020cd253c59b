package nodestart

import (
	"slices"
	"strings"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// taintRow describes a start-up taint. A component adds such a taint before the node can take workloads, and removes it
// later. A key that ends in "/" stands for all keys with this prefix.
type taintRow struct {
	key   string
	owner string // the component that removes the taint
	// daemonSets lists the usual names of one DaemonSet. The owner removes the taint when the DaemonSet's pod is ready.
	daemonSets []string
	// recurs is true if the taint can return after the start-up. A taint that can return might have been absent when
	// the node registered.
	recurs bool
	// decided is true if a user or a program can set the taint for any length of time, for example to cordon the node.
	// While such a taint exists, it does not count as a start-up taint, because it might never be removed.
	decided bool
}

var taintTable = []taintRow{
	{key: "node.kubernetes.io/not-ready", owner: "node lifecycle controller", recurs: true},
	{key: "node.kubernetes.io/unreachable", owner: "node lifecycle controller", recurs: true},
	{key: "node.kubernetes.io/network-unavailable", owner: "writer of the condition NetworkUnavailable", recurs: true},
	{key: "node.kubernetes.io/unschedulable", owner: "the user or program that cordoned the node", recurs: true,
		decided: true},
	{key: "node.cloudprovider.kubernetes.io/uninitialized", owner: "cloud provider"},
	{key: "karpenter.sh/unregistered", owner: "Karpenter"},
	{key: "node.cilium.io/agent-not-ready", owner: "Cilium", daemonSets: []string{"cilium"}, recurs: true},
	{key: "cni.istio.io/not-ready", owner: "Istio CNI", daemonSets: []string{"istio-cni-node"}},
	{key: "k8s.ovn.org/network-unavailable", owner: "OVN-Kubernetes"},
	{key: "ebs.csi.aws.com/agent-not-ready", owner: "EBS CSI driver", daemonSets: []string{"ebs-csi-node"}},
	{key: "efs.csi.aws.com/agent-not-ready", owner: "EFS CSI driver", daemonSets: []string{"efs-csi-node"}},
	{key: "fsx.csi.aws.com/agent-not-ready", owner: "FSx CSI driver", daemonSets: []string{"fsx-csi-node"}},
	{key: "startup-taint.cluster-autoscaler.kubernetes.io/", owner: "owner of the start-up taint"},
	{key: "readiness.k8s.io/", owner: "node readiness controller", recurs: true},
}

// taintRowOf returns the description of a taint. The second result is true if the taint is certainly a start-up taint.
// If the second result is false, the taint counts as a start-up taint only after its removal.
func taintRowOf(key string) (taintRow, bool) {
	i := slices.IndexFunc(taintTable, func(row taintRow) bool {
		return row.key == key || strings.HasSuffix(row.key, "/") && strings.HasPrefix(key, row.key)
	})
	if i < 0 {
		return taintRow{key: key, owner: "owner of the taint"}, false
	}
	return taintTable[i], !taintTable[i].decided
}

// networkDaemonSets lists the usual names of the DaemonSets that install the network plugin of a node. RKE2 names the
// DaemonSet of Canal after its Helm release, rke2-canal (rancher/rke2-charts,
// packages/rke2-canal/charts/templates/daemonset.yaml).
var networkDaemonSets = []string{
	"cilium", "calico-node", "canal", "rke2-canal", "kube-flannel-ds", "kube-flannel", "aws-node", "azure-cns",
	"antrea-agent", "kube-router", "weave-net", "ovnkube-node", "kindnet", "kube-ovn-cni", "anetd", "netd",
}

// networkPairs lists the pairs of DaemonSets that install one network together.
var networkPairs = [][]string{
	// Azure CNI powered by Cilium: azure-cns writes the CNI configuration for the plugin of Cilium
	// (Azure/azure-container-networking, cns/cniconflist/generator_linux.go, CiliumGenerator).
	{"azure-cns", "cilium"},
	// GKE Dataplane V2: anetd is Cilium, and netd writes the CNI configuration when Cilium is healthy
	// (cloud.google.com/kubernetes-engine/docs/concepts/dataplane-v2, and GoogleCloudPlatform/netd,
	// scripts/install-cni.sh).
	{"anetd", "netd"},
}

// networkPairOf returns the names of the two DaemonSets that the pods belong to, if these two are a pair in
// networkPairs. If the pods' DaemonSets are not such a pair, the result is empty.
func networkPairOf(pods []timeline.Timeline) string {
	var names []string
	for _, t := range pods {
		names = append(names, t.Owner.Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if !slices.ContainsFunc(networkPairs, func(pair []string) bool { return slices.Equal(pair, names) }) {
		return ""
	}
	return strings.Join(names, " and ")
}
