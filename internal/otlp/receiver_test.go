package otlp

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	metricpb "go.opentelemetry.io/proto/otlp/metrics/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// receiver is an OTLP collector on loopback, over HTTP and gRPC.
type receiver struct {
	tracesv1.UnimplementedTraceServiceServer

	mu             sync.Mutex
	traces         []*tracepb.ResourceSpans
	metrics        []*metricpb.ResourceMetrics
	header         http.Header // of the latest request over HTTP
	response       int         // status of HTTP responses; 0 means 200
	partial        *tracesv1.ExportTracePartialSuccess
	refuses        error // error of gRPC responses; nil for success
	partialMetrics *metricsv1.ExportMetricsPartialSuccess
	later          string // Retry-After in seconds
	// resets is the number of further requests whose connection the receiver closes without a response. If resets
	// is negative, the receiver closes all connections.
	resets int
	stall  chan struct{} // if not nil, requests block until stall is closed or the requests are canceled
}

// overHTTP starts the receiver and sets the OTLP variables to the receiver's address.
func (r *receiver) overHTTP(t *testing.T) {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
}

// overGRPC starts the receiver and sets the OTLP variables to the receiver's address.
func (r *receiver) overGRPC(t *testing.T) {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	tracesv1.RegisterTraceServiceServer(server, r)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener)
	}()
	t.Cleanup(func() {
		server.Stop()
		<-served
	})
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
	t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
}

// Export implements the trace service over gRPC.
func (r *receiver) Export(
	_ context.Context, request *tracesv1.ExportTraceServiceRequest,
) (*tracesv1.ExportTraceServiceResponse, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refuses != nil {
		return nil, r.refuses
	}
	r.traces = append(r.traces, request.ResourceSpans...)
	return &tracesv1.ExportTraceServiceResponse{PartialSuccess: r.partial}, nil
}

// ServeHTTP implements the trace and metrics services over HTTP.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if r.stall != nil {
		select {
		case <-r.stall:
		case <-request.Context().Done():
			return
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.header = request.Header
	if r.resets != 0 {
		r.resets--
		reset(w)
		return
	}
	if r.later != "" {
		w.Header().Set("Retry-After", r.later)
	}
	if r.response != 0 || err != nil {
		w.WriteHeader(max(r.response, http.StatusBadRequest))
		return
	}
	var response proto.Message = &metricsv1.ExportMetricsServiceResponse{}
	switch request.URL.Path {
	case "/v1/traces":
		var traces tracesv1.ExportTraceServiceRequest
		err = proto.Unmarshal(body, &traces)
		r.traces = append(r.traces, traces.ResourceSpans...)
		response = &tracesv1.ExportTraceServiceResponse{PartialSuccess: r.partial}
	case "/v1/metrics":
		var metrics metricsv1.ExportMetricsServiceRequest
		err = proto.Unmarshal(body, &metrics)
		r.metrics = append(r.metrics, metrics.ResourceMetrics...)
		response = &metricsv1.ExportMetricsServiceResponse{PartialSuccess: r.partialMetrics}
	default:
		err = http.ErrNotSupported
	}
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	encoded, _ := proto.Marshal(response)
	w.Header().Set("Content-Type", "application/x-protobuf")
	_, _ = w.Write(encoded)
}

// reset closes the connection like a killed process.
func reset(w http.ResponseWriter) {
	connection, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler) // the panic also closes the connection
	}
	_ = connection.(*net.TCPConn).SetLinger(0) // the system sends a reset
	connection.Close()
}

// deaf opens a listener that never accepts connections, and sets the OTLP variables to the listener's address.
func deaf(t *testing.T) {
	t.Helper()
	var listen net.ListenConfig
	listener, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+listener.Addr().String())
}

// spans returns all spans received so far.
func (r *receiver) spans() (all []*tracepb.Span) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, resource := range r.traces {
		for _, scope := range resource.ScopeSpans {
			all = append(all, scope.Spans...)
		}
	}
	return all
}

// eventually waits until another goroutine has made a condition true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}
