package manifests

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// endsWithin is the longest time that the agent needs to stop.
const endsWithin = 5 * time.Second

// hostPaths lists the host paths that each component mounts, with the prefix ro or rw. The key "" is the base.
var hostPaths = map[string][]string{
	"":          {"ro /run/containerd"},
	"crio":      {"ro /run/crio"},
	"openshift": {"ro /run/crio"},
	"k3s":       {"ro /run/k3s/containerd"},
	"microk8s":  {"ro /var/snap/microk8s/common/run"},
	"mixed":     {"ro /run/containerd", "ro /run/crio"},
	// Some platforms do not allow pods to mount the socket.
	"no-runtime": nil,
	"state-dir":  {"ro /run/containerd", "rw /var/lib/podlapse"},
	// The agent mounts no host path. Another test checks the host paths of the proxy.
	"runtime-proxy": nil,
}

// volumes is the name of a violation in Pod Security. The hostPath of the runtime's socket violates the level
// "restricted".
const volumes = "restricted volume types"

// furtherViolations lists the other violations of the level "restricted", for each component.
var furtherViolations = map[string][]string{
	"host-network": {"host namespaces"},
	"microk8s":     {"runAsNonRoot != true", "runAsUser=0"},
	"state-dir":    {"runAsNonRoot != true", "runAsUser=0"},
	"openshift":    {"seLinuxOptions"},
	"selinux":      {"seLinuxOptions"},
}

func TestPodPrivileges(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}
	for _, component := range append(names(t, directory(t)+"/components"), "") {
		t.Run("base "+component, func(t *testing.T) {
			var components []string
			if component != "" {
				components = []string{component}
			}
			template := find[*appsv1.DaemonSet](t, compose(t, components...), "").Spec.Template
			pod := template.Spec
			if len(pod.Containers) != 1 && component != "runtime-proxy" || len(pod.InitContainers) != 0 {
				t.Fatalf("%d containers, %d init containers", len(pod.Containers), len(pod.InitContainers))
			}

			want, ok := hostPaths[component]
			if !ok {
				want = hostPaths[""]
			}
			if got := hostMounts(t, pod, pod.Containers[0]); !slices.Equal(got, want) {
				t.Errorf("it mounts the host paths %v, want %v", got, want)
			}
			requireVolumesMounted(t, pod)

			var refused []string
			for _, result := range checks.EvaluatePod(restricted, &template.ObjectMeta, &pod) {
				if !result.Allowed {
					refused = append(refused, result.ForbiddenReason)
				}
			}
			rights := slices.Clone(furtherViolations[component])
			if component != "no-runtime" {
				rights = append([]string{volumes}, rights...)
			}
			slices.Sort(rights)
			slices.Sort(refused)
			if !slices.Equal(refused, rights) {
				t.Errorf("the level \"restricted\" rejects %q, want %q", refused, rights)
			}

			// Pod Security does not check the following fields.
			for _, container := range pod.Containers {
				if readOnly := container.SecurityContext.ReadOnlyRootFilesystem; readOnly == nil || !*readOnly {
					t.Errorf("the root file system of %s is writable", container.Name)
				}
				if c := container.SecurityContext.Capabilities; len(c.Add) != 0 ||
					!slices.Equal(c.Drop, []corev1.Capability{"ALL"}) {
					t.Errorf("%s has capabilities %v", container.Name, c)
				}
			}
			if pod.SecurityContext.RunAsUser == nil || pod.SecurityContext.RunAsGroup == nil {
				t.Error("the pod does not set the user and group, so the image decides")
			}
			if pod.HostPID || pod.HostIPC || pod.ShareProcessNamespace != nil {
				t.Error("the pod shares the host's PID or IPC namespace, or sets shareProcessNamespace")
			}
		})
	}
}

func hostMounts(t *testing.T, pod corev1.PodSpec, container corev1.Container) []string {
	t.Helper()
	var mounted []string
	for _, mount := range container.VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 {
			t.Fatalf("mount %s has no volume", mount.Name)
		}
		source := pod.Volumes[i].HostPath
		if source == nil {
			continue
		}
		if source.Path != mount.MountPath {
			t.Errorf("%s is mounted at %s: messages would name a path that does not exist on the node", source.Path,
				mount.MountPath)
		}
		mode := "rw"
		if mount.ReadOnly {
			mode = "ro"
		}
		mounted = append(mounted, mode+" "+source.Path)
	}
	slices.Sort(mounted)
	return mounted
}

func requireVolumesMounted(t *testing.T, pod corev1.PodSpec) {
	t.Helper()
	for _, v := range pod.Volumes {
		if !slices.ContainsFunc(pod.Containers, func(c corev1.Container) bool {
			return slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
		}) {
			t.Errorf("no container mounts volume %s", v.Name)
		}
	}
}

func TestServiceAccountTokenIsProjected(t *testing.T) {
	objects := compose(t)
	if mounts := find[*corev1.ServiceAccount](t, objects, "").AutomountServiceAccountToken; mounts == nil || *mounts {
		t.Error("the ServiceAccount mounts its token into every pod")
	}
	pod := find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec
	if pod.AutomountServiceAccountToken == nil || *pod.AutomountServiceAccountToken {
		t.Error("the token is mounted twice")
	}
	var got []string
	for _, v := range pod.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			switch {
			case source.ServiceAccountToken != nil && source.ServiceAccountToken.Audience == "":
				got = append(got, fmt.Sprintf("%s for %ds", source.ServiceAccountToken.Path,
					*source.ServiceAccountToken.ExpirationSeconds))
			case source.ConfigMap != nil && len(source.ConfigMap.Items) == 1:
				got = append(got, source.ConfigMap.Name+" "+source.ConfigMap.Items[0].Path)
			default:
				t.Errorf("projects %+v", source)
			}
		}
	}
	// rest.InClusterConfig reads these files. A token for 3600 s is the shortest token that the kubelet renews without
	// a warning.
	if want := []string{"token for 3600s", "kube-root-ca.crt ca.crt"}; !slices.Equal(got, want) {
		t.Errorf("projects %q, want %q", got, want)
	}
}

func TestDaemonSetSettings(t *testing.T) {
	daemonSet := find[*appsv1.DaemonSet](t, compose(t), "")
	pod := daemonSet.Spec.Template.Spec
	if len(pod.Tolerations) != 1 || pod.Tolerations[0] != (corev1.Toleration{Operator: corev1.TolerationOpExists}) {
		t.Errorf("tolerates %v", pod.Tolerations)
	}
	if pod.PriorityClassName != "system-node-critical" {
		t.Errorf("priority class %q", pod.PriorityClassName)
	}
	quota := find[*corev1.ResourceQuota](t, compose(t), "")
	if !slices.Equal(quota.Spec.ScopeSelector.MatchExpressions[0].Values, []string{pod.PriorityClassName}) {
		t.Errorf("the quota applies to the priority classes %v", quota.Spec.ScopeSelector.MatchExpressions[0].Values)
	}
	if daemonSet.Spec.UpdateStrategy.Type != appsv1.RollingUpdateDaemonSetStrategyType {
		t.Errorf("update strategy %s", daemonSet.Spec.UpdateStrategy.Type)
	}
	if grace := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; grace <= endsWithin {
		t.Errorf("a grace period of %s is too short for an agent that stops within %s", grace, endsWithin)
	}

	container := pod.Containers[0]
	if container.LivenessProbe.HTTPGet.Path != "/livez" || container.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("probes %s and %s", container.LivenessProbe.HTTPGet.Path, container.ReadinessProbe.HTTPGet.Path)
	}
	port := container.Ports[0]
	if port.Name != "metrics" || port.ContainerPort != 9717 || port.HostPort != 0 {
		t.Errorf("port %+v", port)
	}
	// The budget is for resident memory. The kernel also counts the page cache of the container, but can reclaim the
	// cache.
	budget := resource.MustParse("45Mi")
	if got := container.Resources.Requests.Memory(); got.Cmp(budget) != 0 {
		t.Errorf("requests %s of memory, the budget is %s", got, &budget)
	}
	if got := container.Resources.Limits.Memory(); got.Value() < budget.Value()*3/2 || got.Value() > budget.Value()*3 {
		t.Errorf("a memory limit of %s for a budget of %s", got, &budget)
	}
	if container.Resources.Requests.Cpu().IsZero() || container.Resources.Limits.Cpu().IsZero() {
		t.Error("no CPU request or no CPU limit")
	}
}

func TestPodValues(t *testing.T) {
	template := find[*appsv1.DaemonSet](t, renderChart(t, `
imagePullSecrets: [{name: pull}]
podLabels: {team: nodes}
podAnnotations: {ad.datadoghq.com/agent.checks: "{}"}
nodeSelector: {pool: small}
tolerations: [{key: gpu, operator: Exists}]
resources: {requests: {cpu: 7m}}
priorityClassName: ours
`), "").Spec.Template
	if template.Labels["team"] != "nodes" || template.Annotations["ad.datadoghq.com/agent.checks"] != "{}" {
		t.Errorf("labels %v, annotations %v", template.Labels, template.Annotations)
	}
	pod := template.Spec
	if len(pod.ImagePullSecrets) != 1 || pod.ImagePullSecrets[0].Name != "pull" ||
		pod.NodeSelector["pool"] != "small" ||
		len(pod.Tolerations) != 1 || pod.Tolerations[0].Key != "gpu" || pod.PriorityClassName != "ours" {
		t.Errorf("pull secrets %v, node selector %v, tolerations %v, priority class %s", pod.ImagePullSecrets,
			pod.NodeSelector, pod.Tolerations, pod.PriorityClassName)
	}
	if got := pod.Containers[0].Resources.Requests.Cpu().String(); got != "7m" {
		t.Errorf("requests %s of CPU", got)
	}
}

// SELinux options must work without OpenShift's objects, because other clusters reject these objects.
func TestSELinuxOptions(t *testing.T) {
	for values, want := range map[string]*corev1.SELinuxOptions{
		"":                              nil,
		"seLinuxOptions: {type: spc_t}": {Type: "spc_t"},
		"openshift: {enabled: true}":    {Type: "spc_t"},
		"openshift: {enabled: true}\nseLinuxOptions: {type: container_runtime_t, level: s0}": {
			Type: "container_runtime_t", Level: "s0"},
	} {
		rendered, err := Chart(chartDirectory(t), "podlapse", "podlapse", values)
		if err != nil {
			t.Fatal(err)
		}
		pod := find[*appsv1.DaemonSet](t, decode(t, rendered.Objects), "").Spec.Template.Spec
		if got := pod.SecurityContext.SELinuxOptions; !equality.Semantic.DeepEqual(got, want) {
			t.Errorf("%q: %+v, want %+v", values, got, want)
		}
		if constraints := strings.Contains(rendered.Objects, "SecurityContextConstraints"); constraints !=
			strings.Contains(values, "openshift") {
			t.Errorf("%q: SecurityContextConstraints: %t", values, constraints)
		}
	}
}

// Values for affinity add to the default affinity. Values for node affinity terms replace the default terms.
func TestAffinity(t *testing.T) {
	terms := func(values string) (first string, pods bool) {
		pod := find[*appsv1.DaemonSet](t, renderChart(t, values), "").Spec.Template.Spec
		required := pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		return required.NodeSelectorTerms[0].MatchExpressions[0].Key, pod.Affinity.PodAntiAffinity != nil
	}
	if key, pods := terms(""); key != "type" || pods {
		t.Errorf("default: %s, %t", key, pods)
	}
	if key, pods := terms(`affinity: {podAntiAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}`); key !=
		"type" || !pods {
		t.Errorf("with a pod affinity: %s, %t", key, pods)
	}
	if key, _ := terms(`
affinity:
  nodeAffinity:
    requiredDuringSchedulingIgnoredDuringExecution:
      nodeSelectorTerms:
      - matchExpressions: [{key: pool, operator: In, values: [a]}]
`); key != "pool" {
		t.Errorf("with a node affinity: %s", key)
	}
}

// Without quotes, YAML reads the words on and off as booleans.
func TestVariablesWithoutQuotes(t *testing.T) {
	for values, want := range map[string]string{"on": "on", `"on"`: "on", "off": "off", "true": "on", "false": "off",
		`"true"`: "true"} {
		env := environment(container(t, renderChart(t, "env: {METRICS_POD_LABELS: "+values+"}")))
		if got := env["METRICS_POD_LABELS"]; got != want {
			t.Errorf("%s became %q, want %q", values, got, want)
		}
	}
}
