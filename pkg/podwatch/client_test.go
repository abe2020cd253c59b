package podwatch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"
)

func TestNewRESTClient(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, []byte(`
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	config, err := LoadConfig(path, NewClock(time.Now), NewTraffic())
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewRESTClient(config)
	if err != nil {
		t.Fatal(err)
	}
	if got := client.Get().Resource("pods").URL().String(); got != "http://127.0.0.1:1/api/v1/pods" {
		t.Errorf("pods are at %s", got)
	}
	if client.(*rest.RESTClient).Client != nil && client.(*rest.RESTClient).Client.Timeout != 0 {
		t.Error("a timeout of the client cuts watches")
	}
}

func TestLoadConfigNamesTheProblem(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := LoadConfig("", NewClock(time.Now), NewTraffic())
	if err == nil || !strings.Contains(err.Error(), "in-cluster") {
		t.Errorf("outside a cluster: %v", err)
	}
	if _, err := LoadConfig(filepath.Join(t.TempDir(), "absent"), NewClock(time.Now), NewTraffic()); err == nil ||
		!strings.Contains(err.Error(), "read kubeconfig") {
		t.Errorf("absent kubeconfig: %v", err)
	}
}
