package podproxy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestProxy(t *testing.T) {
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.URL.RequestURI())
	}))
	defer agent.Close()
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	proxy, err := Start(t.Context(), Agent{"a", agent.URL}, Agent{"b", silent.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := proxy.Close(); err != nil {
			t.Error(err)
		}
	}()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := proxy.WriteKubeconfig(path); err != nil {
		t.Fatal(err)
	}
	var config struct {
		Clusters []struct{ Cluster struct{ Server string } }
	}
	text, _ := os.ReadFile(path)
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	get := func(path string) (int, string) {
		address := config.Clusters[0].Cluster.Server + path
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	const pods = "/api/v1/namespaces/podlapse/pods"
	_, found := get(pods + "?labelSelector=x&limit=500")
	var list corev1.PodList
	if err := json.Unmarshal([]byte(found), &list); err != nil || len(list.Items) != 2 ||
		list.Items[1].Name != "agent-b" || list.Items[1].Spec.NodeName != "b" {
		t.Errorf("the list is %s", found)
	}
	for path, want := range map[string]struct {
		code int
		text string
	}{
		pods + "/agent-a:9717/proxy/api/v1/report?since=1": {http.StatusOK, "/api/v1/report?since=1"},
		pods + "/agent-b:9717/proxy/api/v1/report":         {http.StatusServiceUnavailable, "error trying to reach"},
		pods + "/agent-b/portforward?ports=9717":           {http.StatusNotFound, "could not find the requested"},
	} {
		if code, text := get(path); code != want.code || !strings.Contains(text, want.text) {
			t.Errorf("%s: %d %q, want %d %q", path, code, text, want.code, want.text)
		}
	}
}
