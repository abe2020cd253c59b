package manifests

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

func TestSchemaRejectsInvalidValues(t *testing.T) {
	for _, test := range []struct{ values, want string }{
		{"nodeimpersonation: {enabled: true}", "'nodeimpersonation'"},
		{"nodeImpersonation: true", "/nodeImpersonation': got boolean, want object"},
		{"nodeImpersonation: {enabled: \"yes\"}", "/nodeImpersonation/enabled': got string, want boolean"},
		{"runtime: mixed\nruntimeProxy: {enabled: true}", "runtime: mixed conflicts with runtimeProxy.enabled"},
		{"runtime: mixed\nruntimeSocket: /run/x/y.sock", "runtime: mixed conflicts with runtimeProxy.enabled"},
		{"runtime: docker", "'', 'containerd', 'crio', 'k3s', 'microk8s', 'mixed', 'off', false"},
		{"runtime: off\nruntimeProxy: {enabled: true}", "unset these values"},
		{"runtimeSocket: run/containerd.sock", "/runtimeSocket': 'run/containerd.sock' does not match pattern"},
		{"runtimeSocket: unix:///run/containerd/containerd.sock", "/runtimeSocket'"},
		{"runtimeSocket: /containerd.sock", "/runtimeSocket'"},   // this value would mount the host's root directory
		{"runtimeSocket: /run/../etc/c.sock", "/runtimeSocket'"}, // this value would mount /etc
		{"runtimeSocket: \"/run/a #/c.sock\"", "/runtimeSocket'"},
		{"events: always", "/events': value must be one of 'auto', 'cluster', 'off'"},
		{"env: {HISTORY_LIMIT: 5}", "/env/HISTORY_LIMIT': got number, want boolean or string"},
		{"kubePrometheusStack: {release: \"my stack\"}", "/kubePrometheusStack/release': 'my stack' " +
			"does not match pattern"},
		{"kubePrometheusStack: {release: true}", "/kubePrometheusStack/release': got boolean, want string"},
		{"seLinuxOptions: {typ: spc_t}", "'typ'"},
		{"affinity: {nodeSelectorTerms: []}", "'nodeSelectorTerms'"},
		{"podMonitor: {metricRelabelings: {action: drop}}", "/podMonitor/metricRelabelings': got object, want array"},
		{"env: {NODE_NAME: other}", "env.NODE_NAME is refused"},
		{"env: {ANNOTATE: \"on\"}", "env.ANNOTATE is refused"}, // the variable does not create the role
		{"env: {NODE_HEALTH: \"on\"}", "env.NODE_HEALTH is refused"},
		{"env: {PROBES_FILE: /p}", "env.PROBES_FILE is refused"},
		{"env: {otel: x}", "invalid propertyName 'otel'"},
		{"image: {tag: 1.2}", "/image/tag': got number, want string"},
		{"image: {tag: \"v1 \"}", "/image/tag'"},
		{"image: {repository: \"\"}", "/image/repository'"},
		{"image: {digest: \"sha256:abc\"}", "/image/digest'"},
		{"image: {pullPolicy: always}", "/image/pullPolicy': value must be one of"},
		{"networkPolicy: {apiServerPorts: [https]}", "/networkPolicy/apiServerPorts/0': got string, want integer"},
		{"networkPolicy: {apiServerPorts: [65536]}", "/networkPolicy/apiServerPorts/0': maximum"},
		{"networkPolicy: {apiServerPorts: []}", "/networkPolicy/apiServerPorts': minItems"},
		{"podMonitor: {interval: 30}", "/podMonitor/interval': got number, want string"},
		{"podMonitor: {interval: 0s}", "/podMonitor/interval'"},
		{"podMonitor: {labels: {app.kubernetes.io/name: x}}", "invalid propertyName 'app.kubernetes.io/name'"},
		// This label is part of the DaemonSet's selector.
		{"podLabels: {app.kubernetes.io/component: x}", "invalid propertyName 'app.kubernetes.io/component'"},
		{"env: {WEB_CONFIG_FILE: /w}", "env.WEB_CONFIG_FILE is refused"},
		{"tls: {enabled: true, secretName: \"\"}", "/tls/secretName'"},
		{"tls: {certificate: x}", "'certificate'"},
		{"stateDir: {path: state}", "/stateDir/path'"},
		{"stateDir: {path: /etc}", "/stateDir/path'"},
		{"stateDir: {path: \"/var/lib/x # y\"}", "/stateDir/path'"},
		{"stateDir: {path: /var/lib/../..}", "/stateDir/path'"},
		{"tls: {serverName: \"a b\"}", "/tls/serverName'"},
		{"nodeHealth: true", "/nodeHealth': got boolean, want object"},
		{"probes: {config: [x]}", "/probes/config': got array, want string"},
		{"maxUnavailable: 0", "/maxUnavailable'"},
		{"resources: {limit: {cpu: 1}}", "'limit'"},
	} {
		_, err := Chart(chartDirectory(t), "podlapse", "podlapse", test.values)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: want an error with %q, got: %v", test.values, test.want, err)
		}
	}
}

// The chart must reject a variable in env that another value already sets, and the error must say what to do.
// Server-side apply rejects two variables with the same name.
func TestEnvRejectsVariablesSetByValues(t *testing.T) {
	var all []string
	for _, name := range names(t, directory(t)+"/components") {
		if !slices.Contains([]string{"crio", "k3s", "microk8s", "mixed", "no-runtime"}, name) {
			all = append(all, name)
		}
	}
	refused := refusedVariables(t)
	for _, variable := range container(t, renderChart(t, valuesOf(all...)+"\nevents: cluster")).Env {
		if refused[variable.Name] == "" {
			t.Errorf("env does not refuse %s", variable.Name)
		}
	}
	for name, remedy := range refused {
		_, err := Chart(chartDirectory(t), "podlapse", "podlapse", "env: {"+name+": x}")
		if want := "env." + name + " is refused"; err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), remedy) {
			t.Errorf("%s: want an error with %q and %q, got: %v", name, want, remedy, err)
		}
	}
}

// Every value in the schema must have a default in values.yaml, because users look for the values there. The schema
// ensures that values.yaml contains no other values.
func TestEveryValueHasDefault(t *testing.T) {
	var schema struct {
		Properties map[string]struct{ Properties map[string]any }
	}
	if err := json.Unmarshal(read(t, chartDirectory(t), "values.schema.json"), &schema); err != nil {
		t.Fatal(err)
	}
	var values map[string]any
	if err := yaml.UnmarshalStrict(read(t, chartDirectory(t), "values.yaml"), &values); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // a value of Helm
	for name, property := range schema.Properties {
		value, ok := values[name]
		if !ok {
			t.Errorf("values.yaml has no %s", name)
		}
		for inner := range property.Properties {
			if _, ok := value.(map[string]any)[inner]; !ok && name != "resources" {
				t.Errorf("values.yaml has no %s.%s", name, inner)
			}
		}
	}
}

func TestChartValues(t *testing.T) {
	t.Run("image", func(t *testing.T) {
		digest := "sha256:" + strings.Repeat("0a", 32)
		for values, want := range map[string]string{
			"image: {repository: registry.example/podlapse, digest: " + digest +
				", tag: v9}": "registry.example/podlapse@" + digest,
			"image: {tag: v9}": "ghcr.io/podlapse/podlapse:v9",
		} {
			if got := container(t, renderChart(t, values)).Image; got != want {
				t.Errorf("%s: image %s", values, got)
			}
		}
	})
	t.Run("events off", func(t *testing.T) {
		for _, values := range []string{"events: off", `events: "off"`} { // without quotes, YAML reads off as a boolean
			objects := renderChart(t, values)
			if env := environment(container(t, objects)); env["EVENTS"] != "off" {
				t.Errorf("%s: EVENTS=%s", values, env["EVENTS"])
			}
			for _, rule := range find[*rbacv1.ClusterRole](t, objects, "podlapse-agent").Rules {
				if slices.Contains(rule.Resources, "events") {
					t.Errorf("%s: the role allows %v of events", values, rule.Verbs)
				}
			}
		}
	})
	t.Run("OTEL variables", func(t *testing.T) {
		env := environment(container(t, renderChart(t,
			`env: {OTEL_EXPORTER_OTLP_ENDPOINT: "http://c.o11y:4318", OTEL_METRIC_EXPORT_INTERVAL: "10000000"}`)))
		if env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "http://c.o11y:4318" ||
			env["OTEL_METRIC_EXPORT_INTERVAL"] != "10000000" {
			t.Errorf("environment %v", env)
		}
	})
	t.Run("runtimeSocket", func(t *testing.T) {
		objects := renderChart(t, "runtime: k3s\nruntimeSocket: /srv/k3s/c.sock")
		if got := environment(container(t, objects))["CONTAINER_RUNTIME_ENDPOINT"]; got != "unix:///srv/k3s/c.sock" {
			t.Errorf("endpoint %s", got)
		}
		pod := find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec
		if got := hostMounts(t, pod, pod.Containers[0]); !slices.Equal(got, []string{"ro /srv/k3s"}) {
			t.Errorf("mounts %v", got)
		}
	})
	t.Run("tls.secretName and tls.serverName", func(t *testing.T) {
		objects := renderChart(t,
			"tls: {enabled: true, secretName: wildcard, serverName: agents.example}\npodMonitor: {enabled: true}")
		web := volume(t, find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec, "web")
		if got := web.Projected.Sources[1].Secret.Name; got != "wildcard" {
			t.Errorf("mounts Secret %s", got)
		}
		config := find[*monitoringv1.PodMonitor](t, objects, "").Spec.PodMetricsEndpoints[0].TLSConfig
		if config.CA.Secret.Name != "wildcard" || *config.ServerName != "agents.example" {
			t.Errorf("the PodMonitor has server name %s and Secret %s", *config.ServerName, config.CA.Secret.Name)
		}
	})
	t.Run("dashboard.labels", func(t *testing.T) {
		for values, want := range map[string]string{
			"dashboard: {enabled: true}": "1",
			`dashboard: {enabled: true, labels: {grafana_dashboard: "yes", team: nodes}}`: "yes",
		} {
			if got := find[*corev1.ConfigMap](t, renderChart(t, values),
				"podlapse-dashboard").Labels["grafana_dashboard"]; got != want {
				t.Errorf("%s: %q", values, got)
			}
		}
	})
	t.Run("typical values are valid", func(t *testing.T) {
		renderChart(t, `
image: {repository: "registry.example:5000/mirror/podlapse", tag: v0.1.0-rc.1}
podMonitor: {enabled: true, interval: 1m30s, labels: {release: kube-prometheus-stack}}
stateDir: {enabled: true, path: /data/podlapse.d}
runtimeSocket: /var/snap/k8s/common/run/containerd.sock
tls: {enabled: true, serverName: agents.example}
`)
	})
}

// With helm install --create-namespace, Helm creates the namespace before the chart's objects. Therefore, the chart
// must not contain the namespace by default.
func TestChartHasNoNamespaceByDefault(t *testing.T) {
	rendered, err := Chart(chartDirectory(t), "podlapse", "monitoring", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range decode(t, rendered.Objects) {
		if _, ok := o.(*corev1.Namespace); ok {
			t.Error("has a namespace")
		}
		if namespace := o.GetNamespace(); namespace != "" && namespace != "monitoring" {
			t.Errorf("%s is in another namespace than the release", key(o))
		}
		if binding, ok := o.(*rbacv1.ClusterRoleBinding); ok && binding.Subjects[0].Namespace != "monitoring" {
			t.Errorf("%s binds %+v", key(o), binding.Subjects[0])
		}
	}
}

// The admission policy limits the permission to patch pods. Before Kubernetes 1.30, this policy cannot exist.
func TestAnnotateRequiresAdmissionPolicy(t *testing.T) {
	const kind = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
	cluster := func(version string, kinds ...string) *common.Capabilities {
		c := common.DefaultCapabilities.Copy()
		c.KubeVersion, c.APIVersions = common.KubeVersion{Version: version},
			append(slices.Clone(c.APIVersions), kinds...)
		return c
	}
	old := cluster("v1.29.9", "v1/Pod")
	for name, c := range map[string]struct {
		cluster *common.Capabilities
		want    bool
	}{
		"1.29": {old, false}, "1.30": {cluster("v1.30.1", "v1/Pod", kind), true},
		"1.36, without the API":  {cluster("v1.36.3", "v1/Pod"), false},
		"helm template for 1.29": {cluster("v1.29.9"), false},
		"helm template for 1.30": {cluster("v1.30.0-gke.1"), true},
	} {
		rendered, err := ChartFor(chartDirectory(t), "podlapse", "podlapse", "annotate: {enabled: true}", c.cluster)
		if (err == nil) != c.want || err != nil &&
			!strings.Contains(err.Error(), "annotate.enabled needs Kubernetes 1.30 or newer") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil && !strings.Contains(rendered.Objects, "kind: ValidatingAdmissionPolicyBinding") {
			t.Errorf("%s: no policy", name)
		}
		if _, err := ChartFor(chartDirectory(t), "podlapse", "podlapse", "", c.cluster); err != nil {
			t.Errorf("%s, without annotations: %v", name, err)
		}
	}
	rendered, err := ChartFor(chartDirectory(t), "podlapse", "podlapse",
		"annotate: {enabled: true, withoutPolicy: true}", old)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(rendered.Objects, "ValidatingAdmissionPolicy") ||
		!strings.Contains(rendered.Objects, "verbs: [patch]") {
		t.Error("with annotate.withoutPolicy, the chart renders a policy or no role")
	}
}

func TestChartNotes(t *testing.T) {
	for values, want := range map[string][]string{
		"": {"podlapse runs on every Linux node of the cluster, in namespace podlapse:\n" +
			"  image: ghcr.io/podlapse/podlapse:v0.1.0\n\nThe agent's pod",
			"pod-security.kubernetes.io/enforce=privileged", "nodeImpersonation.enabled limits", "metricsAuth.enabled",
			"explain", "Timelines are available only over loopback", "--set kubePrometheusStack.release=RELEASE"},
		"openAPI: {enabled: true}\nnodeImpersonation: {enabled: true}": {"can read metrics and timelines"},
		"kubePrometheusStack: {release: kps}\nnodeImpersonation: {enabled: true}": {"label release=kps.",
			"count(podlapse_build_info)", "count(podlapse:phase_cause:info)"},
		"nodeImpersonation: {enabled: true}\nimage: {tag: v9}\nnodeSelector: {stage: first}": {
			"podlapse runs on the Linux nodes that these values select, in namespace podlapse:\n" +
				"  image: ghcr.io/podlapse/podlapse:v9\n  nodeSelector: {\"stage\":\"first\"}\n\n"},
		"nodeImpersonation: {enabled: true}\naffinity: {podAffinity: {}}": {
			"that these values select", "  affinity: {\"podAffinity\":{}}\n\n"},
		"tls: {enabled: true}\nnodeImpersonation: {enabled: true}": {
			"explain --server=https://127.0.0.1:9717 --insecure-skip-tls-verify\n"},
		"metricsAuth: {enabled: true}\nnodeImpersonation: {enabled: true}\nnamespace: {create: true}": {
			"Secret podlapse-metrics-reader"},
	} {
		rendered, err := Chart(chartDirectory(t), "podlapse", "podlapse", values)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range want {
			if !strings.Contains(rendered.Notes, word) {
				t.Errorf("with %q, the notes lack %q:\n%s", values, word, rendered.Notes)
			}
		}
		if values != "" && strings.Contains(rendered.Notes, "nodeImpersonation.enabled limits") {
			t.Errorf("the notes advise to set nodeImpersonation.enabled, which is set:\n%s", rendered.Notes)
		}
	}
}

// The image's name and version are in base/kustomization.yaml, and again in the files that Helm and make read.
func TestImageNameAndVersionAgree(t *testing.T) {
	var base struct {
		Images []struct{ Name, NewTag string }
	}
	if err := yaml.Unmarshal(read(t, directory(t), "base", "kustomization.yaml"), &base); err != nil {
		t.Fatal(err)
	}
	chart, err := loader.Load(filepath.Clean(chartDirectory(t)))
	if err != nil {
		t.Fatal(err)
	}
	if tag := base.Images[0].NewTag; chart.Metadata.AppVersion != tag || "v"+chart.Metadata.Version != tag {
		t.Errorf("the chart has version %s and appVersion %s, the base %s", chart.Metadata.Version,
			chart.Metadata.AppVersion, tag)
	}
	name := base.Images[0].Name
	if got := chart.Values["image"].(map[string]any)["repository"]; got != name {
		t.Errorf("the chart's image is %s, the base's %s", got, name)
	}
	if line := "IMAGE   ?= " + name + "\n"; !strings.Contains(string(read(t, directory(t), "..", "Makefile")), line) {
		t.Errorf("the Makefile has no %q", line)
	}
}

func volume(t *testing.T, pod corev1.PodSpec, name string) corev1.Volume {
	t.Helper()
	i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == name })
	if i < 0 {
		t.Fatalf("no volume %s", name)
	}
	return pod.Volumes[i]
}

func container(t *testing.T, objects []object) corev1.Container {
	t.Helper()
	return find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec.Containers[0]
}

// environment returns the environment variables of a container that have a literal value.
func environment(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, variable := range c.Env {
		env[variable.Name] = variable.Value
	}
	return env
}
