package node

import (
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/podlapse/podlapse/lab/internal/manifests"
)

// deployed returns the DaemonSet that the lab would apply.
func deployed(t *testing.T, n Node, components []string, patches ...string) appsv1.DaemonSet {
	t.Helper()
	if err := os.WriteFile(n.agentImageFile(), []byte("127.0.0.1:25000/podlapse/podlapse:abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	rendered, err := n.agentManifests(components, patches...)
	if err != nil {
		t.Fatal(err)
	}
	documents, err := manifests.Documents(rendered)
	if err != nil {
		t.Fatal(err)
	}
	for _, document := range documents {
		if !strings.Contains(string(document), "kind: DaemonSet") {
			continue
		}
		var set appsv1.DaemonSet
		if err := yaml.UnmarshalStrict(document, &set); err != nil {
			t.Fatal(err)
		}
		return set
	}
	t.Fatal("no DaemonSet")
	return appsv1.DaemonSet{}
}

func TestDeployedDaemonSet(t *testing.T) {
	n := testNode(t)
	pod := deployed(t, n, []string{"state-dir"}, labPatch, filesPatch).Spec.Template.Spec
	c := pod.Containers[0]
	if c.Name != agentContainer || c.Image != n.AgentImage() || !pod.HostNetwork {
		t.Errorf("container %s runs %s, on the host's network: %v", c.Name, c.Image, pod.HostNetwork)
	}
	if !slices.Equal(c.Args, []string{"run"}) || c.SecurityContext.Capabilities.Drop[0] != "ALL" ||
		c.Resources.Limits.Memory().IsZero() {
		t.Errorf("the container differs from the manifests: %+v", c)
	}
	if pod.NodeSelector[nodeLabel] == "" || pod.NodeSelector["kubernetes.io/os"] != "linux" {
		t.Errorf("node selector %v", pod.NodeSelector)
	}
	for _, probe := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe} {
		if probe.HTTPGet.Host != "127.0.0.1" || probe.HTTPGet.Path == "" {
			t.Errorf("probe %+v", probe.HTTPGet)
		}
	}
	variables := map[string]string{}
	for _, v := range c.Env {
		variables[v.Name] = v.Value
	}
	for name, want := range map[string]string{"STATE_DIR": n.AgentState(), "RECORDS": "both",
		"LISTEN_ADDRESS":             "127.0.0.1:9717",
		"CONTAINER_RUNTIME_ENDPOINT": "unix://" + n.ContainerdSocket(), "KUBERNETES_SERVICE_PORT": "26443",
		"IMPERSONATE_NODE": ""} {
		if variables[name] != want {
			t.Errorf("%s is %q, want %q", name, variables[name], want)
		}
	}
	var mounts []string
	for _, m := range c.VolumeMounts {
		mounts = append(mounts, m.MountPath)
	}
	slices.Sort(mounts)
	want := []string{n.Run, n.AgentFiles(), "/var/run/secrets/kubernetes.io/serviceaccount"}
	slices.Sort(want)
	if !slices.Equal(mounts, want) {
		t.Errorf("mounts %q, want %q", mounts, want)
	}
}

// The base must run with the settings of its manifests, except for the path of the runtime's socket.
func TestDeployedBase(t *testing.T) {
	n := testNode(t)
	pod := deployed(t, n, nil, labPatch).Spec.Template.Spec
	if user := pod.SecurityContext.RunAsUser; user == nil || *user == 0 || pod.SecurityContext.RunAsNonRoot == nil ||
		!*pod.SecurityContext.RunAsNonRoot {
		t.Errorf("security context %+v", pod.SecurityContext)
	}
	for _, v := range pod.Volumes {
		if v.HostPath != nil && v.HostPath.Path != n.Run {
			t.Errorf("mounts host path %s", v.HostPath.Path)
		}
	}
}

func TestDeployedComponents(t *testing.T) {
	for _, v := range deployed(t, testNode(t), []string{"node-impersonation"},
		labPatch).Spec.Template.Spec.Containers[0].Env {
		if v.Name == "IMPERSONATE_NODE" && v.Value == "on" {
			return
		}
	}
	t.Error("IMPERSONATE_NODE is not set")
}

func TestDeployRequiresImage(t *testing.T) {
	if err := testNode(t).DeployAgent(t.Context()); err == nil || !strings.Contains(err.Error(), "make image") {
		t.Errorf("error %v does not name make image", err)
	}
}

func TestFormIsStored(t *testing.T) {
	n := testNode(t)
	if n.Form() != AsProcess {
		t.Errorf("the form of a new node is %q, want %q", n.Form(), AsProcess)
	}
	for _, form := range []Form{Deployed, AsProcess} {
		if err := n.changeForm(form, func() error { return nil }); err != nil || n.Form() != form {
			t.Errorf("got %q, %v, want %q", n.Form(), err, form)
		}
	}
}

// The proxy's container must mount the lab's runtime socket. The agent's container must mount nothing from the node.
func TestDeployedRuntimeProxy(t *testing.T) {
	n := testNode(t)
	pod := deployed(t, n, []string{"runtime-proxy"}, labPatch).Spec.Template.Spec
	if len(pod.Containers) != 2 || pod.Containers[0].Name != agentContainer ||
		pod.Containers[1].Name != ProxyContainer {
		t.Fatalf("%d containers", len(pod.Containers))
	}
	endpoints := map[string]string{}
	mounts := map[string][]string{}
	for _, c := range pod.Containers {
		for _, v := range c.Env {
			if v.Name == "CONTAINER_RUNTIME_ENDPOINT" {
				endpoints[c.Name] = v.Value
			}
		}
		for _, m := range c.VolumeMounts {
			mounts[c.Name] = append(mounts[c.Name], m.MountPath)
		}
	}
	if endpoints[agentContainer] != "unix:///run/podlapse/runtime.sock" ||
		endpoints[ProxyContainer] != "unix://"+n.ContainerdSocket() {
		t.Errorf("endpoints %v", endpoints)
	}
	if slices.Contains(mounts[agentContainer], n.Run) || !slices.Contains(mounts[ProxyContainer], n.Run) ||
		slices.Contains(mounts[ProxyContainer], "/run/containerd") {
		t.Errorf("mounts %v", mounts)
	}
}
