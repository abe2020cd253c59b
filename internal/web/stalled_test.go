package web

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime/metrics"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// manyMetrics returns metrics with a response of 5 MB. This size is more than the kernel buffers for a client that
// does not read (tcp_wmem is at most 4 MiB).
func manyMetrics() prometheus.Gatherer {
	const series, length = 1250, 4000
	name, value := "podlapse_test_info", 1.0
	family := &dto.MetricFamily{Name: &name, Type: dto.MetricType_GAUGE.Enum()}
	for i := range series {
		label, text := "text", fmt.Sprint(i, strings.Repeat("x", length))
		family.Metric = append(family.Metric, &dto.Metric{
			Label: []*dto.LabelPair{{Name: &label, Value: &text}}, Gauge: &dto.Gauge{Value: &value},
		})
	}
	return gatherer(func() ([]*dto.MetricFamily, error) { return []*dto.MetricFamily{family}, nil })
}

// stall sends a request and never reads the response. The kernel buffers as little of the response as possible.
func stall(t *testing.T, client, server, path string) net.Conn {
	t.Helper()
	dialer := net.Dialer{
		LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}, Timeout: time.Minute,
		Control: func(_, _ string, c syscall.RawConn) (err error) {
			failed := c.Control(func(fd uintptr) {
				err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 4096)
			})
			if failed != nil {
				return failed
			}
			return err
		},
	}
	conn, err := dialer.DialContext(t.Context(), "tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if _, err := io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); err != nil {
		t.Logf("%s: %v", client, err) // the server has already closed the connection, to make room for others
	}
	return conn
}

// stallReaders opens stalled connections. The argument "clients" is the number of clients, and "each" is the
// number of connections of each client.
func stallReaders(t *testing.T, server, path string, clients, each int) {
	t.Helper()
	for i := range clients {
		for range each {
			stall(t, fmt.Sprintf("127.0.3.%d", i+1), server, path)
		}
	}
}

// quiet waits until no goroutine of this process has work for half a second. The server has then responded to all
// readers as far as possible. CPU time would be the wrong measure: on a busy machine, a process with much work can get
// little of it.
func quiet(t *testing.T) {
	t.Helper()
	const every, enough = 50 * time.Millisecond, 10
	idle := 0
	for end := time.Now().Add(2 * time.Minute); idle < enough; time.Sleep(every) {
		if idle++; hasWork() {
			idle = 0
		}
		if time.Now().After(end) {
			t.Fatal("the server is still busy with the stalled readers")
		}
	}
}

// hasWork reports whether a goroutine other than the caller runs or could run.
func hasWork() bool {
	samples := []metrics.Sample{{Name: "/sched/goroutines/running:goroutines"},
		{Name: "/sched/goroutines/runnable:goroutines"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()+samples[1].Value.Uint64() > 1
}

// scrape sends a request with Prometheus' default timeout of 10 s.
func scrape(t *testing.T, client, server, path string) {
	t.Helper()
	began := time.Now()
	status, body, err := say(t, connectFrom(t, client, server),
		"GET "+path+" HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
	if took := time.Since(began); status != http.StatusOK || err != nil || took > 10*time.Second {
		t.Errorf("%s from %s after %s: %d, %d bytes, %v", path, client, took, status, len(body), err)
	}
}

// TestStalledReadersDoNotBlockScraper requests metrics. Each response is larger than the kernel's buffer.
func TestStalledReadersDoNotBlockScraper(t *testing.T) {
	for name, test := range map[string]struct{ clients, each int }{
		"four of one client": {1, 4}, "all that one client can have": {1, maxPerClient}, "of many clients": {60, 1},
		"several of many clients": {20, 5},
	} {
		t.Run(name, func(t *testing.T) {
			config := (&fake{}).config()
			config.Gatherer = manyMetrics()
			address := startServer(t, config)
			scrape(t, "127.0.0.1", address, "/metrics") // a known reader can pause for longer
			stallReaders(t, address, "/metrics", test.clients, test.each)
			quiet(t)
			for range 3 {
				scrape(t, "127.0.0.1", address, "/metrics")
				alive(t, "127.0.0.1", address)
			}
		})
	}
}

// TestStalledReadersCostLittle checks the memory for responses that clients do not read.
func TestStalledReadersCostLittle(t *testing.T) {
	config := (&fake{}).config()
	config.Gatherer = manyMetrics()
	address := startServer(t, config)
	scrape(t, "127.0.0.1", address, "/metrics")
	before := heap()
	stallReaders(t, address, "/metrics", 60, 1)
	quiet(t)
	const most = 24 << 20
	grown := heap() - before
	t.Logf("60 readers of 5 MB each: the heap has grown by %d KiB", grown>>10)
	if grown > most {
		t.Errorf("the heap has grown by %d KiB, want at most %d", grown>>10, most>>10)
	}
}

// TestStalledReadersDoNotBlockAPI checks clients that request lists of pods and do not read them.
func TestStalledReadersDoNotBlockAPI(t *testing.T) {
	config := (&fake{}).config()
	var many []timeline.Timeline
	for i := range 500 {
		many = append(many, timeline.Timeline{Namespace: "a", Name: fmt.Sprint("pod-", i), UID: fmt.Sprint(i),
			CreatedAt: firstStart,
			Pulls:     []timeline.Pull{{Image: strings.Repeat("x", 10_000)}}})
	}
	config.Timelines = func(context.Context) ([]timeline.Timeline, error) { return many, nil }
	address := startServer(t, config)
	stallReaders(t, address, "/api/v1/pods?limit=500", 10, 4)
	quiet(t)
	for range 3 {
		scrape(t, "127.0.0.1", address, "/api/v1/pods?limit=500")
	}
}

// TestStalledReadersOverHTTP2 sends many requests on one connection.
func TestStalledReadersOverHTTP2(t *testing.T) {
	f := files{t, t.TempDir()}
	f.write("web.yaml", tlsOnly)
	f.certify(1)
	config := (&fake{}).config()
	config.WebConfigFile, config.Gatherer = f.config(), manyMetrics()
	address := startServer(t, config)
	client := func(ip string) *http.Client {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(ip)}}
		transport := &http.Transport{DialContext: dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the certificate is the test's own
		t.Cleanup(transport.CloseIdleConnections)
		return &http.Client{Transport: transport, Timeout: time.Minute}
	}
	stalled := client("127.0.0.2")
	stalled.Timeout = 0
	for n := range 12 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := stalled.Do(request) // the client does not read the body
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.ProtoMajor != 2 || response.StatusCode != http.StatusOK && n < 4 {
			t.Fatalf("%d: %s %s", n, response.Proto, response.Status)
		}
	}
	for range 3 {
		if status := get(t, client("127.0.0.1"), "https://"+address+"/metrics"); status != http.StatusOK {
			t.Errorf("a scraper gets %d", status)
		}
	}
}
