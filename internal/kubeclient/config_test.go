package kubeclient

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/podwatchtest"
)

func TestNew(t *testing.T) {
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
	client, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	if got := client.Get().Resource("pods").URL().String(); got != "http://127.0.0.1:1/api/v1/pods" {
		t.Errorf("pods are at %s", got)
	}
	if client.(*rest.RESTClient).Client != nil && client.(*rest.RESTClient).Client.Timeout != 0 {
		t.Error("a client timeout would end watches")
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

// TestAsNode checks the header for constrained impersonation. The client must send no other impersonation header,
// because groups would require another mode of impersonation.
func TestAsNode(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	var sent http.Header
	config := &rest.Config{Host: server.URL()}
	asNode := AsNode(config, "node-a")
	asNode.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTrip(func(r *http.Request) (*http.Response, error) {
			sent = r.Header.Clone()
			return next.RoundTrip(r)
		})
	})
	client, err := New(asNode)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Get().Resource("pods").Do(t.Context()).Error(); err != nil {
		t.Fatal(err)
	}
	if got := sent.Get("Impersonate-User"); got != "system:node:"+"node-a" || config.Impersonate.UserName != "" {
		t.Errorf("impersonates %q, and the original configuration %q", got, config.Impersonate.UserName)
	}
	for header := range sent {
		if strings.HasPrefix(header, "Impersonate-") && header != "Impersonate-User" {
			t.Errorf("sends %s", header)
		}
	}
}
