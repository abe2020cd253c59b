package manifests

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// For each runtime, the proxy must mount only the directory of the runtime's socket. The agent must not mount this
// directory.
func TestOnlyRuntimeProxyMountsSocket(t *testing.T) {
	for _, test := range []struct {
		components  []string
		dir, socket string
	}{
		{nil, "/run/containerd", "containerd.sock"},
		{[]string{"crio"}, "/run/crio", "crio.sock"},
		{[]string{"k3s"}, "/run/k3s/containerd", "containerd.sock"},
		{[]string{"microk8s"}, "/var/snap/microk8s/common/run", "containerd.sock"},
		{[]string{"openshift", "state-dir", "tls"}, "/run/crio", "crio.sock"},
	} {
		components := append(slices.Clone(test.components), "runtime-proxy")
		t.Run(strings.Join(components, " "), func(t *testing.T) {
			for from, objects := range map[string][]object{
				"kustomize": compose(t, components...), "chart": renderChart(t, valuesOf(components...)),
			} {
				pod := find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec
				if len(pod.Containers) != 2 || pod.Containers[0].Name != "agent" ||
					pod.Containers[1].Name != "runtime-proxy" {
					t.Fatalf("%s: %d containers", from, len(pod.Containers))
				}
				agent, proxy := pod.Containers[0], pod.Containers[1]
				if got := hostMounts(t, pod, proxy); !slices.Equal(got, []string{"ro " + test.dir}) {
					t.Errorf("%s: the proxy mounts the host paths %v", from, got)
				}
				if got := hostMounts(t, pod, agent); slices.Contains(got, "ro "+test.dir) {
					t.Errorf("%s: the agent mounts the host paths %v", from, got)
				}
				const served = "unix:///run/podlapse/runtime.sock"
				if endpoint := variable(proxy,
					"CONTAINER_RUNTIME_ENDPOINT"); endpoint != "unix://"+test.dir+"/"+test.socket {
					t.Errorf("%s: the proxy connects to %s", from, endpoint)
				}
				if endpoint, listens := variable(agent, "CONTAINER_RUNTIME_ENDPOINT"),
					variable(proxy, "PROXY_ENDPOINT"); endpoint != served || listens != served {
					t.Errorf("%s: the agent connects to %s, the proxy listens on %s", from, endpoint, listens)
				}
				if agent.Image != proxy.Image || agent.ImagePullPolicy != proxy.ImagePullPolicy {
					t.Errorf("%s: images %s and %s", from, agent.Image, proxy.Image)
				}
				// The agent's mount is read-only. An attacker in the agent's container then cannot replace the proxy's
				// socket.
				for _, c := range pod.Containers {
					i := slices.IndexFunc(
						c.VolumeMounts,
						func(m corev1.VolumeMount) bool { return m.Name == "proxy-socket" },
					)
					if i < 0 || c.VolumeMounts[i].MountPath != "/run/podlapse" ||
						c.VolumeMounts[i].ReadOnly != (c.Name == "agent") {
						t.Errorf("%s: mounts of %s: %+v", from, c.Name, c.VolumeMounts)
					}
				}
				if len(proxy.VolumeMounts) != 2 || len(proxy.Env) != 2 || len(proxy.Ports) != 0 {
					t.Errorf(
						"%s: the proxy has mounts %+v, variables %+v, ports %+v",
						from,
						proxy.VolumeMounts,
						proxy.Env,
						proxy.Ports,
					)
				}
				if proxy.Resources.Limits.Memory().IsZero() ||
					proxy.Resources.Limits.Memory().Cmp(*agent.Resources.Limits.Memory()) >= 0 {
					t.Errorf("%s: the proxy has a memory limit of %s", from, proxy.Resources.Limits.Memory())
				}
			}
		})
	}
}

func variable(c corev1.Container, name string) string {
	for _, v := range c.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return ""
}
