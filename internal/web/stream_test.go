package web

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/internal/live/livetest"
	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// pipes is a listener without a network, for synctest bubbles.
type pipes struct {
	accept chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{accept: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.accept:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error { p.once.Do(func() { close(p.closed) }); return nil }

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.accept <- server
	return client
}

// streamed runs the server in a bubble, with its real timeouts.
func streamed(t *testing.T, test func(t *testing.T, c *livetest.Pods, dial func() net.Conn)) {
	t.Helper()
	streamedWith(t, func(*Config) {}, test)
}

func streamedWith(t *testing.T, adjust func(*Config), test func(t *testing.T, c *livetest.Pods, dial func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := livetest.New()
		config := (&fake{}).config()
		config.API.Live, config.API.Now = c.Hub, time.Now
		adjust(&config)
		listener := newPipes()
		server := &Server{config: config, listener: listener}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 2)
		go func() { ended <- server.Run(ctx) }()
		go func() { ended <- c.Hub.Run(ctx) }()
		test(t, c, listener.dial)
		stop()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// viewer reads the events of a stream.
type viewer struct {
	conn   net.Conn
	events *bufio.Reader
}

func watch(t *testing.T, conn net.Conn, query string, headers ...string) *viewer {
	t.Helper()
	fmt.Fprintf(conn, "GET /api/v1/stream%s HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n%s\r\n", query,
		strings.Join(headers, ""))
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	header := response.Header
	if response.StatusCode != http.StatusOK || header.Get("Content-Type") != "text/event-stream" ||
		header.Get("Content-Encoding") != "" ||
		header.Get("Cache-Control") != "no-store" || header.Get("X-Accel-Buffering") != "no" {
		t.Fatalf("%d %v", response.StatusCode, header)
	}
	return &viewer{conn, bufio.NewReader(response.Body)}
}

// next skips heartbeats and returns the next event.
func (v *viewer) next(t *testing.T) (kind, id, data string) {
	t.Helper()
	for {
		line, err := v.events.ReadString('\n')
		if err != nil {
			t.Fatalf("read stream: %v", err)
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "event":
			kind = value
		case "id":
			id = value
		case "data":
			return kind, id, value
		}
	}
}

// TestStreamOutlivesTheServersLimits reads for an hour, although the server's timeouts are only seconds.
func TestStreamOutlivesTheServersLimits(t *testing.T) {
	streamed(t, func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
		v := watch(t, dial(), "")
		defer v.conn.Close()
		if kind, _, _ := v.next(t); kind != "reset" {
			t.Fatalf("%s comes first", kind)
		}
		for n := range 60 {
			time.AfterFunc(time.Minute, func() { c.Set(startuptest.New(n)) })
			kind, id, data := v.next(t) // skips heartbeats
			line, err := api.EncodeLine(api.NewRecord(startuptest.New(n)))
			if err != nil || kind != "pod" || data != string(line) || id == "" {
				t.Fatalf("%s %s", kind, data)
			}
		}
	})
}

// TestStreamOverHTTP2 reads for ten minutes with one event per minute. Heartbeats keep the stream from timing out.
func TestStreamOverHTTP2(t *testing.T) {
	f := files{t, t.TempDir()}
	f.write("web.yaml", tlsOnly)
	f.certify(1)
	streamedWith(t, func(c *Config) { c.WebConfigFile = f.config() },
		func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
			transport := &http.Transport{
				DialContext: func(context.Context, string, string) (net.Conn, error) { return dial(), nil },
				TLSClientConfig: &tls.Config{
					InsecureSkipVerify: true}, //nolint:gosec // the pipe has no other clients
				ForceAttemptHTTP2: true,
			}
			defer transport.CloseIdleConnections()
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://agent/api/v1/stream", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := transport.RoundTrip(request)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.ProtoMajor != 2 || response.StatusCode != http.StatusOK {
				t.Fatalf("%s %s", response.Proto, response.Status)
			}
			v := &viewer{events: bufio.NewReader(response.Body)}
			if kind, _, _ := v.next(t); kind != "reset" {
				t.Fatalf("%s comes first", kind)
			}
			for n := range 10 {
				time.AfterFunc(time.Minute, func() { c.Set(startuptest.New(n)) })
				if kind, _, data := v.next(t); kind != "pod" || !strings.Contains(data, startuptest.New(n).UID) {
					t.Fatalf("%s %s", kind, data)
				}
			}
		})
}

func TestStreamResumes(t *testing.T) {
	streamed(t, func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
		v := watch(t, dial(), "")
		_, id, _ := v.next(t)
		v.conn.Close()
		c.Set(startuptest.New(1))
		time.Sleep(time.Second)
		for _, w := range []*viewer{
			watch(t, dial(), "", "Last-Event-ID: "+id+"\r\n"), watch(t, dial(), "?last_event_id="+id),
			// An EventSource reconnects with its original address, even after it has received events.
			watch(t, dial(), "?last_event_id=older", "Last-Event-ID: "+id+"\r\n"),
		} {
			if kind, _, _ := w.next(t); kind != "pod" {
				t.Errorf("resumed with %s", kind)
			}
			w.conn.Close()
		}
		w := watch(t, dial(), "", "Last-Event-ID: something\r\n")
		if kind, _, _ := w.next(t); kind != "reset" {
			t.Errorf("began with %s", kind)
		}
		w.conn.Close()
	})
}

func TestStreamFilters(t *testing.T) {
	streamed(t, func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
		one, other := startuptest.New(1), startuptest.New(2)
		v := watch(t, dial(), "?state=starting&namespace="+one.Namespace)
		defer v.conn.Close()
		v.next(t)
		for _, test := range []struct {
			change timeline.Timeline
			want   string
		}{
			{startuptest.Changed(one, 1), "pod"}, {startuptest.Changed(other, 1), ""}, {one, "out"},
			{startuptest.Changed(one, 2), "pod"},
		} {
			c.Set(test.change)
			time.Sleep(time.Second)
			if test.want == "" {
				continue // a wrong event would appear in the next step
			}
			kind, _, data := v.next(t)
			if kind != test.want || !strings.Contains(data, one.UID) {
				t.Errorf("%s %s, want %s", kind, data, test.want)
			}
		}
		c.Hub.Gone(other)
		c.Hub.Gone(one)
		if kind, _, data := v.next(t); kind != "gone" || !strings.Contains(data, one.UID) {
			t.Errorf("%s %s", kind, data)
		}
	})
}

// A viewer with a label selector must remove a pod whose labels no longer match, also if the pod is deleted later.
func TestStreamRemovesRelabeledPods(t *testing.T) {
	streamed(t, func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
		pod := startuptest.New(1)
		v := watch(t, dial(), "?labelSelector=app%3Dweb")
		defer v.conn.Close()
		v.next(t)
		for _, step := range []struct{ labels, want string }{
			{"app=web", "pod"}, {"app=api", "out"}, {"app=web", "pod"},
		} {
			pod.Labels = step.labels
			c.Set(pod)
			if kind, _, data := v.next(t); kind != step.want || !strings.Contains(data, pod.UID) {
				t.Fatalf("labels %s: got %s %s, want %s", step.labels, kind, data, step.want)
			}
		}
		pod.Labels = "app=api"
		c.Hub.Gone(pod)
		if kind, _, data := v.next(t); kind != "out" || !strings.Contains(data, pod.UID) {
			t.Errorf("deleted with other labels: got %s %s, want out", kind, data)
		}
	})
}

// The server disconnects a viewer that stops reading. This viewer delays no other viewer and can reconnect.
func TestViewerThatStopsReading(t *testing.T) {
	streamed(t, func(t *testing.T, c *livetest.Pods, dial func() net.Conn) {
		stuck, fine := watch(t, dial(), ""), watch(t, dial(), "")
		defer stuck.conn.Close()
		defer fine.conn.Close()
		_, id, _ := stuck.next(t)
		fine.next(t)
		began := time.Now()
		for n := range 40 {
			c.Set(startuptest.New(n))
			if kind, _, _ := fine.next(t); kind != "pod" {
				t.Fatalf("%s", kind)
			}
		}
		if took := time.Since(began); took > 40*time.Second {
			t.Errorf("another viewer was delayed by %s", took)
		}
		go func() { _, _ = io.Copy(io.Discard, fine.events) }() // the goroutine ends when the connection closes
		time.Sleep(patience)
		if _, err := io.Copy(io.Discard, stuck.events); err == nil {
			t.Error("the stream ended as if it were complete")
		}
		const want = "# HELP podlapse_stream_disconnected_total Viewers (clients) that the agent disconnected from " +
			"the stream of its API because they did not read the stream.\n" +
			"# TYPE podlapse_stream_disconnected_total counter\npodlapse_stream_disconnected_total 1\n"
		err := testutil.GatherAndCompare(c.Registry, strings.NewReader(want), "podlapse_stream_disconnected_total")
		if err != nil {
			t.Error(err)
		}
		back := watch(t, dial(), "", "Last-Event-ID: "+id+"\r\n")
		defer back.conn.Close()
		for n := range 40 {
			if kind, _, data := back.next(t); kind != "pod" || !strings.Contains(data, startuptest.New(n).UID) {
				t.Fatalf("event %d: %s %s", n, kind, data)
			}
		}
	})
}

func TestTooManyViewers(t *testing.T) {
	c := livetest.New()
	config := (&fake{}).config()
	config.API.Live = c.Hub
	for {
		v, err := c.Hub.AddViewer("")
		if err != nil {
			break
		}
		defer v.Close()
	}
	response := httptest.NewRecorder()
	handlerOf(config).ServeHTTP(response,
		httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/stream", nil))
	if response.Code != http.StatusServiceUnavailable || response.Header().Get("Retry-After") == "" ||
		decode[problem](t, response).Error != "unavailable" {
		t.Errorf("%d %v", response.Code, response.Header())
	}
}
