package cri_test

import (
	"context"
	"maps"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap/zaptest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/internal/critest"
	"github.com/podlapse/podlapse/pkg/cri"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const patience = time.Minute

// harness runs a source and collects its observations.
type harness struct {
	registry *prometheus.Registry
	t        *testing.T
	source   *cri.Source
	seen     chan timeline.RuntimeSeen   // capacity 64; larger than the number of requests of a test
	silences chan timeline.RuntimeSilent // capacity 64; larger than the number of silences of a test
	reports  chan report                 // capacity 1024; larger than the number of reports of a test
	stop     context.CancelFunc
	finished chan struct{}
	ahead    atomic.Int64 // nanoseconds by which the source's clock is ahead
	since    time.Time    // start time for queries of downloads
}

type report struct {
	up     bool
	detail string
}

func run(t *testing.T, config cri.Config) *harness {
	t.Helper()
	h := &harness{
		t: t, seen: make(chan timeline.RuntimeSeen, 64), silences: make(chan timeline.RuntimeSilent, 64),
		reports: make(chan report, 1024), finished: make(chan struct{}), registry: prometheus.NewPedanticRegistry(),
	}
	config.Observe = func(ctx context.Context, o timeline.Observation) {
		if silent, ok := o.(timeline.RuntimeSilent); ok {
			h.silences <- silent
			return
		}
		select {
		case h.seen <- o.(timeline.RuntimeSeen):
		case <-ctx.Done():
		}
	}
	config.Report = func(up bool, detail string) { h.reports <- report{up, detail} }
	config.Logger, config.Registerer = zaptest.NewLogger(t), h.registry
	config.Now = func() time.Time { return time.Now().Add(time.Duration(h.ahead.Load())) }
	h.source = cri.New(config)
	ctx, stop := context.WithCancel(t.Context())
	h.stop = stop
	go func() {
		defer close(h.finished)
		if err := h.source.Run(ctx); err != nil {
			t.Errorf("Run: %v", err)
		}
	}()
	t.Cleanup(h.stopSource)
	return h
}

// awaitQueryCounts waits until the metrics of queries have the given values. The source counts a query after it has
// observed the response.
func (h *harness) awaitQueryCounts(open float64, ended map[string]float64) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		gotOpen, got := h.queryCounts()
		if gotOpen == open && maps.Equal(got, ended) {
			return
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("%v requests are open, want %v; they ended %v, want %v", gotOpen, open, got, ended)
		}
	}
}

// queryCounts returns the number of open queries, and the number of ended queries for each result.
func (h *harness) queryCounts() (open float64, ended map[string]float64) {
	h.t.Helper()
	families, err := h.registry.Gather()
	if err != nil {
		h.t.Fatal(err)
	}
	ended = map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			switch family.GetName() {
			case "podlapse_runtime_requests_open":
				open = metric.GetGauge().GetValue()
			case "podlapse_runtime_requests_total":
				ended[metric.GetLabel()[0].GetValue()] = metric.GetCounter().GetValue()
			}
		}
	}
	return open, ended
}

// stopSource stops the source. The test fails if the stop takes long.
func (h *harness) stopSource() {
	h.stop()
	select {
	case <-h.finished:
	case <-time.After(patience):
		h.t.Error("Run did not return")
	}
}

func (h *harness) next() timeline.RuntimeSeen {
	h.t.Helper()
	select {
	case seen := <-h.seen:
		return seen
	case <-time.After(patience):
		h.t.Fatal("no response")
		return timeline.RuntimeSeen{}
	}
}

// awaitReport waits for a report with the given status and with the given text in its detail.
func (h *harness) awaitReport(up bool, text string) {
	h.t.Helper()
	deadline := time.After(patience)
	for {
		select {
		case r := <-h.reports:
			if r.up == up && strings.Contains(r.detail, text) {
				return
			}
		case <-deadline:
			h.t.Fatalf("no report of up=%t with %q", up, text)
		}
	}
}

func explicit(t *testing.T, path string) cri.Endpoint {
	t.Helper()
	endpoint, err := cri.ParseEndpoint("unix://" + path)
	if err != nil {
		t.Fatal(err)
	}
	return endpoint
}

func put(fake *critest.Runtime, uid string) {
	fake.PutSandbox(critest.Sandbox{ID: "s-" + uid, PodUID: uid, CreatedAt: time.Unix(1_700_000_000, 0)})
}

func TestRuntimeAppearsLater(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c.sock")
	for name, config := range map[string]cri.Config{
		"auto":     {Sockets: []string{filepath.Join(dir, "none.sock"), path}},
		"explicit": {Endpoint: explicit(t, path)},
	} {
		t.Run(name, func(t *testing.T) {
			h := run(t, config)
			h.awaitReport(false, path)
			h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "runtime-pod"})
			fake := critest.Start(t, path, critest.Options{})
			put(fake, "runtime-pod")
			h.awaitReport(true, "containerd 2.4.2")
			if seen := h.next(); seen.UID != "pod" || len(seen.Sandboxes) != 1 || seen.QueriedAt.After(seen.ArrivedAt) {
				t.Errorf("saw %+v", seen)
			}
		})
	}
}

func TestRuntimeRestarts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	old := critest.Start(t, path, critest.Options{Version: "1.7.27"})
	put(old, "pod")
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(true, "containerd 1.7.27 does not report when a sandbox was running")
	h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod"})
	if seen := h.next(); seen.Sandboxes[0].CreatedAt.IsZero() {
		t.Errorf("1.7 responded %+v", seen)
	}

	old.Stop()
	h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod"})
	h.awaitReport(false, "")
	upgraded := critest.Start(t, path, critest.Options{})
	put(upgraded, "pod")
	upgraded.StoreSandbox("s-pod",
		critest.Stamps{CreatedAt: time.Unix(1_699_999_999, 0), UpdatedAt: time.Unix(1_700_000_001, 0)})
	h.awaitReport(true, "containerd 2.4.2")
	// The source still responds to the open request, in the format of the new version.
	for seen := h.next(); ; seen = h.next() {
		if len(seen.Sandboxes) == 1 && !seen.Sandboxes[0].BegunAt.IsZero() {
			return
		}
		h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod"})
	}
}

// An upgrade between two requests must end the session, although no request fails.
func TestRuntimeIsUpgradedWithoutRequests(t *testing.T) {
	if critest.StartProxy != nil {
		t.Skip("a proxy keeps the agent's connection: see TestRuntimeIsUpgradedBehindProxy")
	}
	path := filepath.Join(t.TempDir(), "c.sock")
	old := critest.Start(t, path, critest.Options{Version: "1.7.27"})
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(true, "containerd 1.7.27")
	old.Stop()
	critest.Start(t, path, critest.Options{})
	h.awaitReport(false, "the runtime closed the connection")
	h.awaitReport(true, "containerd 2.4.2")
}

// A proxy keeps the agent's connection while the runtime behind the proxy restarts.
func TestRuntimeIsUpgradedBehindProxy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, critest.Options{Version: "1.7.27"})
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(true, "containerd 1.7.27")
	fake.SetVersion("2.4.2")
	h.source.Watch(true)
	h.awaitReport(false, "the container runtime was containerd 1.7.27 and is now containerd 2.4.2")
	h.awaitReport(true, "containerd 2.4.2")
}

func TestAutoTriesTheNextSocket(t *testing.T) {
	dir := t.TempDir()
	deaf, path := filepath.Join(dir, "a.sock"), filepath.Join(dir, "b.sock")
	listener, err := net.Listen("unix", deaf) // accepts connections and never responds
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	critest.Start(t, path, critest.Options{Name: "cri-o", Version: "1.36.1"})
	h := run(t, cri.Config{Sockets: []string{deaf, path}, Timeout: 100 * time.Millisecond})
	h.awaitReport(true, "cri-o 1.36.1")
}

func TestHangingRuntime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, critest.Options{})
	put(fake, "pod")
	h := run(t, cri.Config{Endpoint: explicit(t, path), Timeout: 100 * time.Millisecond})
	h.awaitReport(true, "containerd")
	fake.Fault(critest.Hang)
	h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod"})
	h.awaitReport(false, "list sandboxes")
	fake.Fault(nil)
	if seen := h.next(); seen.UID != "pod" {
		t.Errorf("saw %+v", seen)
	}
	h.awaitReport(true, "containerd")
	fake.Fault(critest.Hang) // the hanging runtime must not keep Run from returning
	h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod"})
}

func TestRequestIsKeptWhenRuntimeFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, critest.Options{})
	put(fake, "pod")
	h := run(t, cri.Config{Endpoint: explicit(t, path)})
	h.awaitReport(true, "containerd")
	fake.Fault(func(context.Context, string) error { return status.Error(codes.Internal, "disk full") })
	h.source.Request(timeline.RuntimeRequest{UID: "pod", RuntimeUID: "pod"})
	h.awaitReport(false, "disk full")
	h.awaitQueryCounts(1, map[string]float64{"responded": 0, "dropped": 0, "given_up": 0})
	fake.Fault(nil)
	h.next()
	h.awaitQueryCounts(0, map[string]float64{"responded": 1, "dropped": 0, "given_up": 0})
}

func TestConcurrentRequestsAreLimited(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.sock")
	fake := critest.Start(t, path, critest.Options{})
	var mu sync.Mutex
	now, most := 0, 0
	entered := make(chan struct{}, 64)
	release := make(chan struct{})
	fake.Fault(func(ctx context.Context, method string) error {
		if !strings.HasSuffix(method, "/ListPodSandbox") {
			return nil
		}
		mu.Lock()
		now++
		most = max(most, now)
		mu.Unlock()
		entered <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		mu.Lock()
		now--
		mu.Unlock()
		return nil
	})
	h := run(t, cri.Config{Endpoint: explicit(t, path), Timeout: patience})
	const pods = 10
	for _, uid := range strings.Split("abcdefghij", "") {
		h.source.Request(timeline.RuntimeRequest{UID: uid, RuntimeUID: uid})
	}
	<-entered
	<-entered
	for range pods { // one after the other, so that other queries could start in between
		release <- struct{}{}
		h.next()
	}
	if most != 2 {
		t.Errorf("%d concurrent requests, want 2", most)
	}
}

func TestOff(t *testing.T) {
	endpoint, err := cri.ParseEndpoint("off")
	if err != nil {
		t.Fatal(err)
	}
	h := run(t, cri.Config{Endpoint: endpoint})
	h.awaitReport(false, "disabled")
	h.source.Request(timeline.RuntimeRequest{UID: "pod"})
	h.awaitQueryCounts(0, map[string]float64{"responded": 0, "dropped": 0, "given_up": 0})
}
