package otlp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// running is a running sink.
type running struct {
	*Traces
	registry *prometheus.Registry
	stop     func() // stops the sink and waits for it

	mu     sync.Mutex
	up     bool
	detail string
}

// run creates a sink from the environment and runs it.
func run(t *testing.T) *running {
	t.Helper()
	return runWith(t, func(*TracesConfig) {})
}

func runWith(t *testing.T, adjust func(*TracesConfig)) *running {
	t.Helper()
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	r := &running{registry: prometheus.NewRegistry()}
	config := TracesConfig{
		Signal: settings.Traces, Node: "node-a", Version: "v1.2.3", Registerer: r.registry, Logger: zap.NewNop(),
		Report: func(up bool, detail string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.up, r.detail = up, detail
		},
	}
	adjust(&config)
	r.Traces, err = NewTraces(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var group errgroup.Group
	group.Go(func() error { return r.Run(ctx) })
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(r.stop)
	return r
}

func (r *running) health() (bool, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.up, r.detail
}

// mustCount checks the sink's metrics, with an empty queue.
func (r *running) mustCount(t *testing.T, sent, dropped float64) {
	t.Helper()
	got := r.counts(t)
	want := map[string]float64{
		"podlapse_sink_sent_total otlp": sent, "podlapse_sink_dropped_total otlp": dropped,
		"podlapse_sink_queue_length otlp": 0,
	}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v sent and %v dropped", got, sent, dropped)
	}
}

// wait waits until so many start-ups are counted as sent or dropped, then stops the sink. A request in progress when
// the sink stops has 0.8 s, which may be too short on a busy machine.
func (r *running) wait(t *testing.T, startups float64) {
	t.Helper()
	eventually(t, "all are counted", func() bool {
		got := r.counts(t)
		return got["podlapse_sink_sent_total otlp"]+got["podlapse_sink_dropped_total otlp"] == startups
	})
	r.stop()
}

func (r *running) counts(t *testing.T) map[string]float64 {
	t.Helper()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, m := range f.Metric {
			got[f.GetName()+" "+m.Label[0].GetValue()] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return got
}

func sendAll(t *testing.T, timelines ...timeline.Timeline) {
	t.Helper()
	sink := run(t)
	for _, tl := range timelines {
		sink.Offer(tl)
	}
	sink.wait(t, float64(len(timelines)))
}

func TestTraceOfStartUp(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=north")
	sink := run(t)
	sink.Offer(coldStart())
	eventually(t, "the trace arrives", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	sink.mustCount(t, 1, 0)

	mustBe(t, "testdata/cold-start.trace", tree(collector.spans()))
	var resource strings.Builder
	printAttributes(&resource, "", collector.traces[0].Resource.Attributes, false)
	for _, want := range []string{"service.name = podlapse-agent\n", "service.version = v1.2.3\n",
		"k8s.node.name = node-a\n",
		"service.instance.id = node-a\n", "k8s.cluster.name = north\n", "telemetry.sdk.language = go\n"} {
		if !strings.Contains(resource.String(), want) {
			t.Errorf("no %q in\n%s", want, resource.String())
		}
	}
	if got := collector.header.Get("Authorization"); got != "Bearer secret" {
		t.Errorf("authorization %q", got)
	}
	if up, detail := sink.health(); !up || !strings.HasPrefix(detail, "sending to http://127.0.0.1:") {
		t.Errorf("%v %s", up, detail)
	}
}

func TestTraceOfGivenUpStartUp(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sendAll(t, stuck())
	mustBe(t, "testdata/given-up.trace", tree(collector.spans()))
}

// The IDs follow the definition, on another day and in another agent too.
func TestTraceIDsAreDeterministic(t *testing.T) {
	var collectors [2]receiver
	for i := range collectors {
		collectors[i].overHTTP(t)
		tl := coldStart()
		if i == 1 { // the next agent has less evidence
			tl.Phases = slices.Delete(tl.Phases, 0, 1)
			tl.EventMessage = nil
		}
		sendAll(t, tl)
	}
	first, second := collectors[0].spans(), collectors[1].spans()
	trace := sha256.Sum256([]byte("podlapse trace 0b1c/0"))
	own := hex.EncodeToString(trace[:16])
	root := sha256.Sum256([]byte("podlapse span " + own + " 0b1c/0 "))
	if got, want := idsOf(first)[0], own+"/"+hex.EncodeToString(root[:8])+" in "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	without := slices.DeleteFunc(slices.Clone(first), func(s *tracepb.Span) bool { return s.Name == "volumes" })
	if !slices.Equal(idsOf(without), idsOf(second)) {
		t.Errorf("got\n%s\nthen\n%s", strings.Join(idsOf(without), "\n"), strings.Join(idsOf(second), "\n"))
	}
	seen := map[string]bool{}
	for _, s := range first {
		if seen[string(s.SpanId)] {
			t.Errorf("%s has the ID of another span", s.Name)
		}
		seen[string(s.SpanId)] = true
	}
}

// replica is a pod of coldStart's Deployment, in a given version.
func replica(uid, revision string) timeline.Timeline {
	t := coldStart()
	t.UID, t.Revision = uid, revision
	return t
}

func TestPodsOfRolloutAreLinked(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sendAll(t, replica("a", "7d4b"), replica("b", "7d4b"), replica("c", "other"), stuck())
	var links []string
	for _, s := range collector.spans() {
		if len(s.ParentSpanId) > 0 {
			continue
		}
		link := ""
		for _, l := range s.Links {
			link = hex.EncodeToString(l.TraceId)
		}
		links = append(links, link)
	}
	rollout := sha256.Sum256([]byte("podlapse owner shop/Deployment/web/7d4b"))
	if len(links) != 4 || links[0] != hex.EncodeToString(rollout[:16]) || links[1] != links[0] ||
		links[2] == links[0] || links[3] != "" {
		t.Errorf("links %q", links)
	}
}

func TestAnnotationIsParent(t *testing.T) {
	const theirs = "0af7651916cd43dd8448eb211c80319c"
	for name, test := range map[string]struct {
		parent string
		want   string // the trace's ID; empty for the start-up's own
		none   bool
	}{
		"parent":             {parent: "00-" + theirs + "-b7ad6b7169203331-01", want: theirs},
		"not sampled":        {parent: "00-" + theirs + "-b7ad6b7169203331-00", none: true},
		"no ID":              {parent: "00-00000000000000000000000000000000-b7ad6b7169203331-01"},
		"upper case":         {parent: "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"},
		"words":              {parent: "my trace, please"},
		"an invalid version": {parent: "ff-" + theirs + "-b7ad6b7169203331-01"},
	} {
		t.Run(name, func(t *testing.T) {
			var collector receiver
			collector.overHTTP(t)
			one, other := coldStart(), coldStart()
			one.TraceParent, other.TraceParent, other.UID = test.parent, test.parent, "other"
			sendAll(t, one, other)
			spans := collector.spans()
			named := NewTraceOf(false)(one)
			if test.none {
				if len(spans) > 0 || named != "" {
					t.Errorf("%d spans of an unsampled trace %s", len(spans), named)
				}
				return
			}
			if got := hex.EncodeToString(spans[0].TraceId); got != named { // the first one offered
				t.Errorf("trace %s is named %s", got, named)
			}
			ids := map[string]bool{}
			for _, s := range spans {
				ids[string(s.SpanId)] = true
				if s.Name != "pod startup shop/web-7d4b-x" {
					continue
				}
				parent, trace := hex.EncodeToString(s.ParentSpanId), hex.EncodeToString(s.TraceId)
				if test.want == "" && (parent != "" || trace == theirs) || test.want != "" &&
					(parent != "b7ad6b7169203331" || trace != theirs) {
					t.Errorf("in trace %s under %q", trace, parent)
				}
			}
			if len(ids) != len(spans) || len(spans) == 0 {
				t.Errorf("%d spans have %d IDs", len(spans), len(ids))
			}
		})
	}
}

// TraceOf returns a trace only if the sampler keeps it.
func TestTraceOfMatchesSampler(t *testing.T) {
	for sampler, want := range map[string]string{"always_on": ownTrace(coldStart()).String(), "always_off": "",
		"traceidratio": ""} {
		t.Run(sampler, func(t *testing.T) {
			var collector receiver
			collector.overHTTP(t)
			t.Setenv("OTEL_TRACES_SAMPLER", sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
			sendAll(t, coldStart())
			if got := NewTraceOf(false)(coldStart()); got != want || len(collector.spans()) > 0 != (want != "") {
				t.Errorf("trace %q, want %q, of %d spans", got, want, len(collector.spans()))
			}
		})
	}
}

func TestTracesOverGRPC(t *testing.T) {
	var collector receiver
	collector.overGRPC(t)
	sink := run(t)
	sink.Offer(coldStart())
	eventually(t, "the trace arrives", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	mustBe(t, "testdata/cold-start.trace", tree(collector.spans()))
}

// A crash loop of many containers does not make a request too large for collectors.
func TestTraceIsBounded(t *testing.T) {
	tl := coldStart()
	for range 2 * maxSpans {
		tl.Phases = append(tl.Phases, tl.Phases[0])
	}
	spans := spansOf(tl)
	left := spans[0].attributes[len(spans[0].attributes)-1]
	if len(spans) != maxSpans || left.Key != keySpansLeftOut || left.Value.AsInt64() < maxSpans {
		t.Errorf("%d spans, %v", len(spans), left)
	}
}

// Whatever a collector does, every start-up is counted, and the sink stops within a second.
func TestFailingCollectors(t *testing.T) {
	const offered = tracesQueue + 44
	for name, test := range map[string]struct {
		collector *receiver
		dead      bool
		deaf      string // a protocol
		sent      float64
		dropped   float64
		detail    string
	}{
		"dead": {collector: &receiver{}, dead: true, sent: 0, dropped: offered, detail: "lost"},
		"stalls": {collector: &receiver{stall: make(chan struct{})}, sent: 0, dropped: offered,
			detail: "lost"},
		"never answers HTTP": {collector: &receiver{}, deaf: protocolHTTP, sent: 0, dropped: offered, detail: "lost"},
		"never answers gRPC": {collector: &receiver{}, deaf: protocolGRPC, sent: 0, dropped: offered, detail: "lost"},
		"resets":             {collector: &receiver{resets: -1}, sent: 0, dropped: offered, detail: "lost"},
		"is overloaded for an hour": {collector: &receiver{answer: http.StatusServiceUnavailable, later: "3600"},
			sent: 0, dropped: offered, detail: "max retry time would elapse"},
		"refuses": {collector: &receiver{answer: http.StatusForbidden}, sent: 0, dropped: offered,
			detail: "403"},
		"is overloaded": {collector: &receiver{answer: http.StatusServiceUnavailable}, sent: 0, dropped: offered,
			detail: "lost"},
		"warns": {collector: &receiver{partial: &tracesv1.ExportTracePartialSuccess{ErrorMessage: "old"}},
			sent: tracesQueue, dropped: offered - tracesQueue, detail: "sending"},
		"rejects some of it": {collector: &receiver{partial: &tracesv1.ExportTracePartialSuccess{RejectedSpans: 1,
			ErrorMessage: "too old"}}, sent: 0, dropped: offered, detail: "too old"},
	} {
		t.Run(name, func(t *testing.T) {
			test.collector.overHTTP(t)
			if test.dead {
				t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			}
			if test.deaf != "" {
				deaf(t)
				t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", test.deaf)
			}
			settings, err := FromEnvironment(os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			sink := &running{registry: prometheus.NewRegistry()}
			var done atomic.Int64
			sink.Traces, err = NewTraces(t.Context(), TracesConfig{
				Signal: settings.Traces, Node: "node-a", Version: "v1", Registerer: sink.registry, Logger: zap.NewNop(),
				Report: func(up bool, detail string) { sink.up, sink.detail = up, detail },
				Done:   func(timeline.Timeline) { done.Add(1) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for range offered {
				sink.Offer(stuck()) // fills the queue
			}
			ctx, cancel := context.WithCancel(t.Context())
			var began time.Time
			stop := func() { began = time.Now(); cancel() }
			var stopper sync.WaitGroup
			if test.detail == "lost" {
				stop()
			} else { // wait for its answer before the stop
				stopper.Go(func() {
					for done.Load() < offered {
						time.Sleep(time.Millisecond)
					}
					stop()
				})
			}
			err = sink.Run(ctx)
			ended := time.Now()
			stopper.Wait()
			if took := ended.Sub(began); err != nil || took > time.Second {
				t.Errorf("stopped with %v after %s", err, took)
			}
			sink.mustCount(t, test.sent, test.dropped)
			if !strings.Contains(sink.detail, test.detail) {
				t.Errorf("health says %q", sink.detail)
			}
			want := int64(offered)
			if test.detail == "lost" { // because of the stop: the next agent may send them
				want = offered - tracesQueue
			}
			if done.Load() != want {
				t.Errorf("handled %d, want %d", done.Load(), want)
			}
		})
	}
}

func TestCollectorComesBack(t *testing.T) {
	for name, collector := range map[string]*receiver{
		"was overloaded":                  {answer: http.StatusServiceUnavailable},
		"asks for a retry after a second": {answer: http.StatusServiceUnavailable, later: "1"},
		"was killed":                      {resets: 2},
	} {
		t.Run(name, func(t *testing.T) {
			collector.overHTTP(t)
			sink := run(t)
			sink.Offer(stuck())
			eventually(t, "it is tried", func() bool {
				collector.mu.Lock()
				defer collector.mu.Unlock()
				return collector.header != nil
			})
			tried := time.Now()
			collector.mu.Lock()
			collector.answer = 0
			collector.mu.Unlock()
			eventually(t, "it is sent after all", func() bool { return len(collector.spans()) > 0 })
			if took := time.Since(tried); collector.later != "" && took < 900*time.Millisecond {
				t.Errorf("retried after %s", took)
			}
			sink.stop()
			sink.mustCount(t, 1, 0)
		})
	}
}

// If a collector asks for a retry after the timeout, the batch is dropped at once, and the next one is sent.
func TestCollectorWithLongRetryAfter(t *testing.T) {
	collector := receiver{answer: http.StatusServiceUnavailable, later: "3600"}
	collector.overHTTP(t)
	sink := run(t)
	sink.Offer(stuck())
	eventually(t, "it is given up", func() bool {
		up, detail := sink.health()
		return !up && strings.Contains(detail, "max retry time would elapse")
	})
	collector.mu.Lock()
	collector.answer, collector.later = 0, ""
	collector.mu.Unlock()
	sink.Offer(stuck())
	eventually(t, "the next is sent", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	sink.mustCount(t, 1, 1)
}

// The collector's port is closed while it restarts.
func TestCollectorRestarts(t *testing.T) {
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
	sink := run(t)
	sink.Offer(stuck())
	eventually(t, "it is taken", func() bool { return sink.queue.Len() == 0 })
	if listener, err = listen.Listen(t.Context(), "tcp", address); err != nil {
		t.Skip("another program uses the port now: ", err)
	}
	var collector receiver
	server := &http.Server{Handler: &collector, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	eventually(t, "it is sent after all", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	sink.mustCount(t, 1, 0)
}
