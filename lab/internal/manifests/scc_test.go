package manifests

import (
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
)

// On OpenShift, the constraints must admit the agent's pod with every component that OpenShift supports. The
// constraints must not allow more, because other pods could then get permissions that the agent does not need.
func TestSecurityContextConstraintsAdmitPod(t *testing.T) {
	var others []string
	for _, name := range names(t, directory(t)+"/components") {
		// kube-prometheus-stack includes other components, and kustomize rejects a repeated component.
		excluded := []string{"openshift", "crio", "k3s", "microk8s", "mixed", "no-runtime", "kube-prometheus-stack"}
		if !slices.Contains(excluded, name) {
			others = append(others, name)
		}
	}
	combinations := [][]string{{"openshift"}, append([]string{"openshift"}, others...)}
	for _, name := range others {
		combinations = append(combinations, []string{"openshift", name})
	}
	for _, components := range combinations {
		slices.SortStableFunc(components, byInstallOrder)
		for from, objects := range map[string][]object{"kustomize": compose(t, components...),
			"chart": renderChart(t, valuesOf(components...))} {
			scc := find[*securityContextConstraints](t, objects, "podlapse-agent")
			pod := find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec
			for problem := range violations(*scc, pod) {
				t.Errorf("%s %v: %s", from, components, problem)
			}
		}
	}
}

// byInstallOrder compares two components by their order in the table in docs/install.md.
func byInstallOrder(a, b string) int {
	late := func(name string) int {
		return slices.Index([]string{"node-impersonation", "metrics-auth", "tls"}, name)
	}
	return late(a) - late(b)
}

// violations returns the requirements of the pod that the constraints refuse, and the permissions in the constraints
// that the pod does not need.
func violations(scc securityContextConstraints, pod corev1.PodSpec) map[string]bool {
	problems := map[string]bool{}
	want := func(ok bool, problem string) {
		if !ok {
			problems[problem] = true
		}
	}
	kinds := map[string]bool{}
	for _, v := range pod.Volumes {
		kinds[kindOf(v)] = true
	}
	for kind := range kinds {
		want(slices.Contains(scc.Volumes, kind), "volumes of kind "+kind+" are refused")
	}
	want(scc.AllowHostDirVolumePlugin == kinds["hostPath"], "hostPath differs from the pod's need")
	want(scc.AllowHostNetwork == pod.HostNetwork && scc.AllowHostPorts == pod.HostNetwork,
		"host network differs from the pod's need")
	want(!scc.AllowHostPID && !scc.AllowHostIPC, "the host's PID or IPC namespace is allowed")
	want(!scc.AllowPrivilegedContainer && scc.AllowPrivilegeEscalation != nil && !*scc.AllowPrivilegeEscalation,
		"privileged containers or privilege escalation are allowed")
	want(len(scc.AllowedCapabilities) == 0 && len(scc.DefaultAddCapabilities) == 0 &&
		slices.Equal(scc.RequiredDropCapabilities, []string{"ALL"}), "capabilities are allowed")
	want(scc.ReadOnlyRootFilesystem, "a writable root file system is allowed")
	want(slices.Equal(scc.SeccompProfiles, []string{"runtime/default"}) &&
		pod.SecurityContext.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault,
		"the seccomp profile is not runtime/default")
	for name, s := range map[string]strategy{"user": scc.RunAsUser, "groups": scc.SupplementalGroups,
		"SELinux type": scc.SELinuxContext, "fsGroup": scc.FSGroup} {
		// The pod sets its user, group 0 and the SELinux type spc_t itself. Only the strategy RunAsAny admits such a
		// pod.
		want(s.Type == "RunAsAny", name+" of the pod is refused")
	}
	want(len(scc.Users)+len(scc.Groups) == 0, "they apply to users or groups without RBAC")
	return problems
}

// kindOf returns the name of a volume's type in the constraints.
func kindOf(v corev1.Volume) string {
	switch {
	case v.HostPath != nil:
		return "hostPath"
	case v.Projected != nil:
		return "projected"
	case v.ConfigMap != nil:
		return "configMap"
	case v.Secret != nil:
		return "secret"
	case v.EmptyDir != nil:
		return "emptyDir"
	}
	return "unknown to this test"
}

// Only the agent's service account must be able to use the constraints.
func TestSecurityContextConstraintsOnlyForAgent(t *testing.T) {
	for from, objects := range map[string][]object{"kustomize": compose(t, "openshift"),
		"chart": renderChart(t, "openshift: {enabled: true}")} {
		rules := find[*rbacv1.ClusterRole](t, objects, "podlapse-agent-scc").Rules
		if len(rules) != 1 || !slices.Equal(rules[0].Verbs, []string{"use"}) ||
			!slices.Equal(rules[0].ResourceNames, []string{"podlapse-agent"}) ||
			!slices.Equal(rules[0].Resources, []string{"securitycontextconstraints"}) ||
			!slices.Equal(rules[0].APIGroups, []string{"security.openshift.io"}) {
			t.Errorf("%s: the role is %+v", from, rules)
		}
		binding := find[*rbacv1.RoleBinding](t, objects, "podlapse-agent-scc")
		account := rbacv1.Subject{Kind: "ServiceAccount", Name: "podlapse-agent", Namespace: "podlapse"}
		if binding.RoleRef.Name != "podlapse-agent-scc" || !slices.Equal(binding.Subjects, []rbacv1.Subject{account}) {
			t.Errorf("%s: %s is bound to %+v", from, binding.RoleRef.Name, binding.Subjects)
		}
	}
}

func TestSecurityContextConstraintsViolations(t *testing.T) {
	objects := compose(t, "openshift")
	pod := find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec
	pod.Volumes = append(pod.Volumes,
		corev1.Volume{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	pod.HostNetwork = true
	problems := violations(*find[*securityContextConstraints](t, objects, ""), pod)
	if got := slices.Sorted(maps.Keys(problems)); !slices.Equal(got,
		[]string{"host network differs from the pod's need", "volumes of kind emptyDir are refused"}) {
		t.Errorf("violations %q", got)
	}
}
