package manifests

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/pki"
)

// testTLS runs the agent with the files that the kubelet mounts for the component "tls". The test then sends the same
// requests as the kubelet's probes and as a Prometheus with the PodMonitor.
func testTLS(t *testing.T, agent string) {
	objects := compose(t, "pod-monitor", "tls")
	pod := find[*appsv1.DaemonSet](t, objects, "").Spec.Template.Spec
	monitor := find[*monitoringv1.PodMonitor](t, objects, "").Spec.PodMetricsEndpoints[0]
	if monitor.Scheme == nil || *monitor.Scheme != "https" {
		t.Fatalf("the PodMonitor has scheme %v, want https", monitor.Scheme)
	}
	secret := t.TempDir()
	authority, err := pki.NewAuthority(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := authority.Issue("tls", "podlapse-agent", nil, *monitor.TLSConfig.ServerName); err != nil {
		t.Fatal(err)
	}
	mount := t.TempDir()
	for _, source := range volume(t, pod, "web").Projected.Sources {
		if source.ConfigMap != nil {
			config := find[*corev1.ConfigMap](t, objects, source.ConfigMap.Name)
			for _, item := range source.ConfigMap.Items {
				write(t, []byte(config.Data[item.Key]), mount, item.Path)
			}
			continue
		}
		if source.Secret.Name != monitor.TLSConfig.CA.Secret.Name {
			t.Errorf("the agent mounts Secret %s, Prometheus uses %s", source.Secret.Name,
				monitor.TLSConfig.CA.Secret.Name)
		}
		for _, item := range source.Secret.Items {
			write(t, read(t, secret, item.Key), mount, item.Path)
		}
	}

	address := freeAddress(t)
	kubeconfig := filepath.Join(mount, "kubeconfig") // refers to an API server that does not exist
	if err := pki.WriteTokenKubeconfig(kubeconfig, "https://"+freeAddress(t), secret, "agent", "token"); err != nil {
		t.Fatal(err)
	}
	file := environment(container(t, objects))["WEB_CONFIG_FILE"]
	if dir := mountOf(pod, "web"); filepath.Dir(file) != dir {
		t.Errorf("%s is not in %s", file, dir)
	}
	run := exec.CommandContext(t.Context(), agent, "run", "--node-name=n", "--kubeconfig="+kubeconfig,
		"--cri-endpoint=off", "--records=none", "--listen-address="+address)
	run.Env = append(os.Environ(), "WEB_CONFIG_FILE="+filepath.Join(mount, filepath.Base(file)))
	var log strings.Builder
	run.Stderr = &log
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = run.Process.Signal(os.Interrupt)
		if err := run.Wait(); err != nil || t.Failed() {
			t.Errorf("the agent: %v\n%s", err, &log)
		}
	}()

	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(read(t, secret, monitor.TLSConfig.CA.Secret.Key))
	prometheus := &tls.Config{RootCAs: roots, ServerName: *monitor.TLSConfig.ServerName}
	for _, probe := range []*corev1.Probe{pod.Containers[0].LivenessProbe, pod.Containers[0].ReadinessProbe} {
		if probe.HTTPGet.Scheme != corev1.URISchemeHTTPS {
			t.Errorf("the kubelet probes %s with scheme %s", probe.HTTPGet.Path, probe.HTTPGet.Scheme)
		}
	}
	url := "https://" + address + monitor.Path
	response, err := getUntilUp(t, url, prometheus)
	if err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("get %s: %v, %v", url, response, err)
	}
	if _, err := getUntilUp(t, url, &tls.Config{ServerName: prometheus.ServerName}); err == nil {
		t.Error("the certificate is valid without the Secret's CA")
	}
}

// getUntilUp waits until a server listens at the URL. getUntilUp returns the server's response, or the error of the TLS
// handshake.
func getUntilUp(t *testing.T, url string, config *tls.Config) (*http.Response, error) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: time.Minute}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		response, err := client.Get(url)
		if err == nil {
			return response, response.Body.Close()
		}
		if !strings.Contains(err.Error(), "connection refused") || time.Now().After(deadline) {
			return nil, err
		}
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func mountOf(pod corev1.PodSpec, volume string) string {
	for _, mount := range pod.Containers[0].VolumeMounts {
		if mount.Name == volume {
			return mount.MountPath
		}
	}
	return ""
}

func write(t *testing.T, data []byte, elements ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(elements...), data, 0o600); err != nil {
		t.Fatal(err)
	}
}
