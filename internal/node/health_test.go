package node

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func noon() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// readyNode applies a change to a Node object that is ready and one hour old.
func readyNode(change func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a",
		CreationTimestamp: metav1.NewTime(noon().Add(-time.Hour))}}
	n.Status.Conditions = []corev1.NodeCondition{
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
	}
	change(n)
	return n
}

func TestAvailability(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*corev1.Node)
		want   string // unmet requirements, with reasons
	}{
		{"well", func(*corev1.Node) {}, ""},
		{"cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }, "schedulable Cordoned "},
		{"cordoned, by the taint alone", func(n *corev1.Node) {
			n.Spec.Taints = []corev1.Taint{{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}}
		}, "schedulable Cordoned "},
		{"another taint", func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "gpu"}} }, ""},
		{"kubelet says that it is not", func(n *corev1.Node) {
			n.Status.Conditions[0].Status, n.Status.Conditions[0].Reason = corev1.ConditionFalse, "KubeletNotReady"
		}, "ready KubeletNotReady "},
		{"kubelet is silent", func(n *corev1.Node) {
			n.Status.Conditions[0].Status, n.Status.Conditions[0].Reason = corev1.ConditionUnknown, "NodeStatusUnknown"
		}, "ready NodeStatusUnknown "},
		{"no reason", func(n *corev1.Node) { n.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady} },
			"ready NotReady "},
		{"no such condition", func(n *corev1.Node) { n.Status.Conditions = nil }, "ready ConditionMissing "},
		{"young", func(n *corev1.Node) {
			n.CreationTimestamp = metav1.NewTime(noon().Add(-5*time.Minute + time.Second))
		}, "warmed_up WarmingUp "},
		{"old enough", func(n *corev1.Node) { n.CreationTimestamp = metav1.NewTime(noon().Add(-5 * time.Minute)) }, ""},
		{"all at once", func(n *corev1.Node) {
			n.Spec.Unschedulable, n.CreationTimestamp, n.Status.Conditions = true, metav1.NewTime(noon()), nil
		}, "ready ConditionMissing schedulable Cordoned warmed_up WarmingUp "},
	} {
		h := HealthOf(readyNode(c.change))
		got := ""
		for _, a := range h.Aspects(noon(), 5*time.Minute) {
			if !a.Given {
				got += a.Name + " " + a.Reason + " "
			} else if a.Reason != "" {
				t.Errorf("%s: %s is met but has the reason %s", c.what, a.Name, a.Reason)
			}
		}
		if got != c.want || h.Available(noon(), 5*time.Minute) != (c.want == "") {
			t.Errorf("%s: missing %q, available %t, want %q", c.what, got, h.Available(noon(), 5*time.Minute), c.want)
		}
	}
	var none Latest
	none.See(nil, time.Time{})
	for _, a := range none.Health().Aspects(noon(), 0) {
		if a.Given || a.Reason != reasonNoObject {
			t.Errorf("without an object: %+v", a)
		}
	}
}

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		labels map[string]string
		want   Place
	}{
		{nil, Place{}},
		{map[string]string{"cloud.google.com/gke-nodepool": "pool-1", "topology.kubernetes.io/zone": "europe-west1-b",
			"topology.kubernetes.io/region": "europe-west1", "node.kubernetes.io/instance-type": "e2"},
			Place{"pool-1", "europe-west1-b", "europe-west1", "e2"}},
		{map[string]string{"eks.amazonaws.com/nodegroup": "ng", "failure-domain.beta.kubernetes.io/zone": "a"},
			Place{Pool: "ng", Zone: "a"}},
		{map[string]string{"kubernetes.azure.com/agentpool": "np", "agentpool": "other"}, Place{Pool: "np"}},
		{map[string]string{"karpenter.sh/nodepool": "spot", "eks.amazonaws.com/nodegroup": "seed"},
			Place{Pool: "spot"}},
	} {
		n := readyNode(func(n *corev1.Node) { n.Labels = c.labels })
		if got := HealthOf(n).Place; got != c.want {
			t.Errorf("%v: %+v, want %+v", c.labels, got, c.want)
		}
	}
}

func TestConditionsAreBounded(t *testing.T) {
	h := HealthOf(readyNode(func(n *corev1.Node) {
		n.Status.Conditions = append(n.Status.Conditions, n.Status.Conditions...) // duplicates
		for i := range 40 {
			n.Status.Conditions = append(n.Status.Conditions,
				corev1.NodeCondition{Type: corev1.NodeConditionType(fmt.Sprintf("X%02d", i)), Status: "Odd"})
		}
	}))
	if len(h.Conditions) != maxConditions || h.Dropped != 42-maxConditions || h.NotReady != "" {
		t.Errorf("%d conditions, %d dropped, %q", len(h.Conditions), h.Dropped, h.NotReady)
	}
	if !slices.Contains(h.Conditions, Condition{"DiskPressure", "false"}) ||
		!slices.Contains(h.Conditions, Condition{"X00", "unknown"}) {
		t.Errorf("conditions are %v", h.Conditions)
	}
}
