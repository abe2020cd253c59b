package kubeclient

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// TestSlowReaderBuffersLittle checks how many bytes a server can send over HTTP/2 to a client that does not read.
func TestSlowReaderBuffersLittle(t *testing.T) {
	var sent atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor != 2 {
			t.Errorf("requested with %s", r.Proto)
		}
		part := make([]byte, 16<<10)
		for range 1024 {
			n, err := w.Write(part)
			if err != nil {
				return
			}
			w.(http.Flusher).Flush()
			sent.Add(int64(n))
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	defer server.CloseClientConnections()
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: k, user: u}}]
clusters: [{name: k, cluster: {server: %q, certificate-authority-data: %s}}]
users: [{name: u, user: {}}]
`, server.URL, base64.StdEncoding.EncodeToString(certificate)), 0o600); err != nil {
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
	body, err := client.Get().Resource("pods").Stream(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	for before := int64(-1); before != sent.Load(); time.Sleep(200 * time.Millisecond) {
		before = sent.Load()
	}
	t.Logf("%d KiB were sent", sent.Load()>>10)
	if sent.Load() > maxBuffered+64<<10 {
		t.Errorf("%d bytes were sent but not read, want at most %d", sent.Load(), maxBuffered)
	}
}
