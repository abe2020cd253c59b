package manifests

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// overlays lists the components of each overlay.
var overlays = map[string][]string{
	"prometheus":      {"pod-monitor", "rules", "dashboard"},
	"least-privilege": {"node-impersonation", "pod-monitor", "metrics-auth", "network-policy"},
	"crio":            {"crio"},
	"k3s":             {"k3s"},
	"microk8s":        {"microk8s"},
	"openshift":       {"openshift", "pod-monitor", "rules"},
}

func TestAllComponentsAndOverlaysAreCompared(t *testing.T) {
	if got, want := names(t, filepath.Join(directory(t), "components")),
		slices.Sorted(maps.Keys(componentValues())); !slices.Equal(got, want) {
		t.Errorf("components are %v, the tests compare %v", got, want)
	}
	if got, want := names(t, filepath.Join(directory(t), "overlays")),
		slices.Sorted(maps.Keys(overlays)); !slices.Equal(got, want) {
		t.Errorf("overlays are %v, the tests compare %v", got, want)
	}
}

func TestChartMatchesKustomize(t *testing.T) {
	combinations := [][]string{
		nil,
		{"node-health", "node-impersonation", "probes", "host-network", "pod-monitor", "rules", "dashboard",
			"network-policy", "metrics-auth", "tls", "state-dir", "annotate", "k3s",
			"runtime-proxy", "priority-level"},
		{"openshift", "host-network", "pod-monitor", "rules", "dashboard", "network-policy", "metrics-auth", "tls",
			"state-dir", "annotate"},
		{"openshift", "runtime-proxy", "tls", "state-dir"},
		{"crio", "runtime-proxy"},
		{"microk8s", "runtime-proxy"},
		{"k3s", "selinux"},
		{"no-runtime", "rules", "tls"},
	}
	for name := range componentValues() {
		combinations = append(combinations, []string{name})
	}
	for _, components := range combinations {
		t.Run("base "+strings.Join(components, " "), func(t *testing.T) {
			requireEqual(t, compose(t, components...), renderChart(t, valuesOf(components...)))
		})
	}
	for name, components := range overlays {
		t.Run("overlay "+name, func(t *testing.T) {
			text, err := Kustomize(filepath.Join(directory(t), "overlays", name))
			if err != nil {
				t.Fatal(err)
			}
			requireEqual(t, decode(t, text), renderChart(t, valuesOf(components...)))
		})
	}
}

// In the chart and in kustomize, users can pin the image by tag or by digest.
func TestChartImageMatchesKustomize(t *testing.T) {
	const name, digest = "registry.example/mirror/podlapse",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for image, values := range map[string]string{
		name + ":v9.9.9":    "image: {repository: " + name + ", tag: v9.9.9}",
		name + "@" + digest: "image: {repository: " + name + ", tag: v9.9.9, digest: \"" + digest + "\"}",
	} {
		text, err := Compose(directory(t), t.TempDir(), Composition{Image: image})
		if err != nil {
			t.Fatal(err)
		}
		objects := decode(t, text)
		if got := container(t, objects).Image; got != image {
			t.Errorf("kustomize has %s, want %s", got, image)
		}
		requireEqual(t, objects, renderChart(t, values))
	}
}

// requireEqual requires that kustomize and the chart give the same objects. requireEqual ignores Helm's own labels, and
// the order of lists that Kubernetes merges by name.
func requireEqual(t *testing.T, kustomize, chart []object) {
	t.Helper()
	inChart := map[string]object{}
	for _, o := range chart {
		inChart[key(o)] = o
	}
	for _, o := range kustomize {
		other, ok := inChart[key(o)]
		delete(inChart, key(o))
		if !ok {
			t.Errorf("the chart lacks %s", key(o))
			continue
		}
		removeHelmLabels(t, other)
		order(o)
		order(other)
		if !equality.Semantic.DeepEqual(o, other) {
			t.Errorf("%s differs (- kustomize, + chart):\n%s", key(o), gocmp.Diff(o, other))
		}
	}
	for left := range inChart {
		t.Errorf("only the chart has %s", left)
	}
}

// removeHelmLabels removes Helm's own labels from an object, and requires that the object has these labels.
func removeHelmLabels(t *testing.T, o object) {
	t.Helper()
	labels := maps.Clone(o.GetLabels())
	for _, name := range []string{"helm.sh/chart", "app.kubernetes.io/managed-by", "app.kubernetes.io/instance"} {
		if labels[name] == "" {
			t.Errorf("%s of the chart has no label %s", key(o), name)
		}
		delete(labels, name)
	}
	o.SetLabels(labels)
}

func order(o object) {
	daemonSet, ok := o.(*appsv1.DaemonSet)
	if !ok {
		return
	}
	pod := &daemonSet.Spec.Template.Spec
	slices.SortFunc(pod.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
	for i := range pod.Containers {
		container := &pod.Containers[i]
		slices.SortFunc(container.Env, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
		slices.SortFunc(container.VolumeMounts,
			func(a, b corev1.VolumeMount) int { return cmp.Compare(a.MountPath, b.MountPath) })
	}
}
