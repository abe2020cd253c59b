package node

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/manifests"
)

// TestDocumentedChartValues renders the chart with the values in lab/README.md. The agent must use the addresses and
// the paths of the lab.
func TestDocumentedChartValues(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(readme), "To install the chart instead")
	_, text, fenced := strings.Cut(text, "```yaml\n")
	values, _, closed := strings.Cut(text, "```")
	if !found || !fenced || !closed {
		t.Fatal("lab/README.md has no values for the chart")
	}
	rendered, err := manifests.Chart("../../../manifests/chart/podlapse", "podlapse", AgentNamespace, values)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := manifests.Documents(rendered.Objects)
	if err != nil {
		t.Fatal(err)
	}
	var set appsv1.DaemonSet
	for _, document := range documents {
		if strings.Contains(string(document), "kind: DaemonSet") {
			if err := yaml.UnmarshalStrict(document, &set); err != nil {
				t.Fatal(err)
			}
		}
	}
	place, err := layout.FromEnvironment(func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	pod := set.Spec.Template.Spec
	if want := layout.Address(layout.RegistryPort) + "/podlapse/podlapse:TAG"; pod.Containers[0].Image != want {
		t.Errorf("image %s, want %s", pod.Containers[0].Image, want)
	}
	if !pod.HostNetwork {
		t.Error("pods of the lab have no address, so the agent needs the network of the node")
	}
	variables := map[string]string{}
	for _, v := range pod.Containers[0].Env {
		variables[v.Name] = v.Value
	}
	for name, want := range map[string]string{"KUBERNETES_SERVICE_HOST": layout.Loopback,
		"KUBERNETES_SERVICE_PORT":    strings.TrimPrefix(layout.Address(layout.APIServerPort), layout.Loopback+":"),
		"CONTAINER_RUNTIME_ENDPOINT": "unix://" + place.ContainerdSocket()} {
		if variables[name] != want {
			t.Errorf("%s is %q, want %q", name, variables[name], want)
		}
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil && v.HostPath.Path != filepath.Dir(place.ContainerdSocket()) {
			t.Errorf("the volume %s mounts %s", v.Name, v.HostPath.Path)
		}
	}
}
