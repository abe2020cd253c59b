package manifests

import (
	"slices"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Without these settings, Prometheus does not find the agents, or the rules miss labels.
func TestPodMonitorSelectsAgents(t *testing.T) {
	objects := compose(t, "pod-monitor")
	template := find[*appsv1.DaemonSet](t, objects, "").Spec.Template
	monitor := find[*monitoringv1.PodMonitor](t, objects, "").Spec
	requireSelected(t, monitor.Selector, template.Labels)
	// The rules need the job name to find an agent that Prometheus never scraped.
	if job := template.Labels[monitor.JobLabel]; job != "podlapse" {
		t.Errorf("the job is called %q", job)
	}
	if len(monitor.PodMetricsEndpoints) != 1 {
		t.Fatalf("%d endpoints", len(monitor.PodMetricsEndpoints))
	}
	endpoint := monitor.PodMetricsEndpoints[0]
	if endpoint.Port == nil || *endpoint.Port != template.Spec.Containers[0].Ports[0].Name ||
		endpoint.Path != "/metrics" {
		t.Errorf("it scrapes %s on port %v", endpoint.Path, endpoint.Port)
	}
	if !endpoint.HonorLabels {
		t.Error("honorLabels is false: labels namespace and pod of start-ups would name the agent's pod")
	}
	hasNode := slices.ContainsFunc(endpoint.RelabelConfigs, func(r monitoringv1.RelabelConfig) bool {
		return r.TargetLabel == "node" && slices.Equal(r.SourceLabels,
			[]monitoringv1.LabelName{"__meta_kubernetes_pod_node_name"})
	})
	if !hasNode {
		t.Errorf("no label node: %+v", endpoint.RelabelConfigs)
	}
}

func requireSelected(t *testing.T, selector metav1.LabelSelector, agent map[string]string) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(&selector)
	if err != nil {
		t.Fatal(err)
	}
	if s.Empty() || !s.Matches(labels.Set(agent)) {
		t.Errorf("the selector %s does not match the agents' labels %v", s, agent)
	}
}

// The policy must allow incoming requests of Prometheus and users, and outgoing DNS, API server and OTLP requests. A
// network policy applies to the ports of the pods, not to the port of their Service. Therefore, OpenShift's DNS has
// port 5353, and the API server has the port on which it listens.
func TestNetworkPolicyAllowsAgentTraffic(t *testing.T) {
	objects := compose(t, "network-policy")
	template := find[*appsv1.DaemonSet](t, objects, "").Spec.Template
	policy := find[*networkingv1.NetworkPolicy](t, objects, "").Spec
	requireSelected(t, policy.PodSelector, template.Labels)
	if !slices.Equal(policy.PolicyTypes,
		[]networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}) {
		t.Errorf("policy types %v", policy.PolicyTypes)
	}
	type port struct {
		protocol corev1.Protocol
		port     int32
	}
	var in, out []port
	add := func(to *[]port, ports []networkingv1.NetworkPolicyPort) {
		for _, p := range ports {
			*to = append(*to, port{*p.Protocol, p.Port.IntVal})
		}
	}
	for _, rule := range policy.Ingress {
		add(&in, rule.Ports)
	}
	for _, rule := range policy.Egress {
		add(&out, rule.Ports)
	}
	const tcp, udp = corev1.ProtocolTCP, corev1.ProtocolUDP
	if want := []port{{tcp, template.Spec.Containers[0].Ports[0].ContainerPort}}; !slices.Equal(in, want) {
		t.Errorf("in: %v, want %v", in, want)
	}
	want := []port{{udp, 53}, {tcp, 53}, {udp, 5353}, {tcp, 5353}, {tcp, 443}, {tcp, 6443}, {tcp, 8443}, {tcp, 16443},
		{tcp, 4317}, {tcp, 4318}}
	if !slices.Equal(out, want) {
		t.Errorf("out: %v, want %v", out, want)
	}
}

// The policy limits the permission to patch pods only under two conditions: the policy is enforced, and an error of the
// policy rejects the request.
func TestAnnotationPolicyIsEnforced(t *testing.T) {
	objects := compose(t, "annotate")
	policy := find[*admissionv1.ValidatingAdmissionPolicy](t, objects, "")
	binding := find[*admissionv1.ValidatingAdmissionPolicyBinding](t, objects, "")
	if policy.Spec.FailurePolicy == nil || *policy.Spec.FailurePolicy != admissionv1.Fail ||
		binding.Spec.PolicyName != policy.Name ||
		!slices.Equal(binding.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) ||
		binding.Spec.MatchResources != nil {
		t.Errorf("policy %v, binding %+v", policy.Spec.FailurePolicy, binding.Spec)
	}
}

// Only root and the socket's group can use the socket. A process that is not root needs this group.
func TestPodHasGroupOfRuntimeSocket(t *testing.T) {
	pod := find[*appsv1.DaemonSet](t, compose(t), "").Spec.Template.Spec.SecurityContext
	if *pod.RunAsUser == 0 || !slices.Contains(pod.SupplementalGroups, 0) {
		t.Errorf("user %d with groups %v", *pod.RunAsUser, pod.SupplementalGroups)
	}
}

// Pod Security and the quota must admit the agent's pods on every node.
func TestNamespaceAdmitsAgents(t *testing.T) {
	objects := compose(t)
	for _, mode := range []string{"enforce", "audit", "warn"} {
		if level := find[*corev1.Namespace](t, objects,
			"").Labels["pod-security.kubernetes.io/"+mode]; level != "privileged" {
			t.Errorf("Pod Security has level %s for %s", level, mode)
		}
	}
	pods := find[*corev1.ResourceQuota](t, objects, "").Spec.Hard[corev1.ResourcePods]
	if pods.Value() < 100_000 { // more than the number of nodes in any cluster
		t.Errorf("the quota allows %s pods", &pods)
	}
}

// If a new version of the agent fails, the update must stop after a few agents.
func TestRollingUpdateLimitsUnavailableAgents(t *testing.T) {
	rolling := find[*appsv1.DaemonSet](t, compose(t), "").Spec.UpdateStrategy.RollingUpdate
	if rolling == nil || rolling.MaxUnavailable == nil || rolling.MaxUnavailable.String() != "10%" {
		t.Errorf("the rolling update is %v, want maxUnavailable 10%%", rolling)
	}
}

func TestHostNetworkUsesClusterDNS(t *testing.T) {
	if policy := find[*appsv1.DaemonSet](t, compose(t, "host-network"),
		"").Spec.Template.Spec.DNSPolicy; policy != corev1.DNSClusterFirstWithHostNet {
		t.Errorf("DNS policy %s, want %s", policy, corev1.DNSClusterFirstWithHostNet)
	}
}

// The key must be readable only for root and the group root. The agent has the group root.
func TestTLSKeyIsNotWorldReadable(t *testing.T) {
	pod := find[*appsv1.DaemonSet](t, compose(t, "tls"), "").Spec.Template.Spec
	if mode := volume(t, pod, "web").Projected.DefaultMode; mode == nil || *mode != 0o440 {
		t.Errorf("mode %v", mode)
	}
}
