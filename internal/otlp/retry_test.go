package otlp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.opentelemetry.io/otel/sdk/resource"
	metricsv1 "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	tracesv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// The agent reads the number of rejected items only from the end of the error. A number in the collector's own text
// must have no effect.
func TestPartialSuccess(t *testing.T) {
	for _, test := range []struct {
		words    string
		rejected int64
	}{
		{"quota used up (0 left)", 5}, {"earlier (0 spans rejected)", 5},
		{"earlier (0 metric data points rejected)", 1}, {"", 5}, {"x", 10},
		{"spans are old", 0}, {"of a batch before: (5 spans rejected)", 0}, {"two\nlines (0 ", 0},
	} {
		for _, protocol := range []string{protocolHTTP, protocolGRPC} {
			collector := receiver{partial: &tracesv1.ExportTracePartialSuccess{RejectedSpans: test.rejected,
				ErrorMessage: test.words}}
			if protocol == protocolGRPC {
				collector.overGRPC(t)
			} else {
				collector.overHTTP(t)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
			sink := run(t)
			sink.Offer(coldStart())
			eventually(t, "a response", func() bool {
				up, detail := sink.health()
				return !up || detail[:7] == "sending"
			})
			sink.stop()
			if test.rejected > 0 {
				sink.mustCount(t, 0, 1)
			} else {
				sink.mustCount(t, 1, 0)
			}
			if up, detail := sink.health(); up != (test.rejected == 0) {
				t.Errorf("%q and %d rejected over %s: %v, %s", test.words, test.rejected, protocol, up, detail)
			}
		}
	}
}

func TestPartialSuccessOfMetrics(t *testing.T) {
	for _, test := range []struct {
		words    string
		rejected int64
	}{{"quota used up (0 left)", 5}, {"earlier (0 metric data points rejected)", 5}, {"some are odd", 0}} {
		collector := receiver{partialMetrics: &metricsv1.ExportMetricsPartialSuccess{RejectedDataPoints: test.rejected,
			ErrorMessage: test.words}}
		collector.overHTTP(t)
		push, health := newPush(t, observed())
		stopped, stop := context.WithCancel(t.Context())
		stop()
		if err := push.Run(stopped); err != nil {
			t.Fatal(err)
		}
		taken := test.rejected == 0
		if up, detail := health(); up != taken || (testutil.ToFloat64(push.failures) == 0) != taken {
			t.Errorf("%q and %d rejected: %v, %s, %v failures", test.words, test.rejected, up, detail,
				testutil.ToFloat64(push.failures))
		}
	}
}

// partial returns an error in the form of the exporters' errors, whose type is not exported.
func partial(words string, rejected int) error {
	return fmt.Errorf("traces export: %w",
		errors.Join(fmt.Errorf("OTLP partial success: %s (%d spans rejected)", words, rejected)))
}

// The exporters' error determines whether the agent sends a batch again.
func TestRefused(t *testing.T) {
	rejects := &tracesv1.ExportTracePartialSuccess{RejectedSpans: 1, ErrorMessage: "too old"}
	for name, test := range map[string]struct {
		collector *receiver
		protocol  string
		want      bool
	}{
		"unreachable":      {nil, protocolHTTP, false},
		"unreachable gRPC": {nil, protocolGRPC, false},
		"stalls":           {&receiver{stall: make(chan struct{})}, protocolHTTP, false},
		"resets":           {&receiver{resets: -1}, protocolHTTP, false},
		"overloaded":       {&receiver{response: http.StatusServiceUnavailable}, protocolHTTP, false},
		"overloaded for an hour": {&receiver{response: http.StatusTooManyRequests, later: "3600"},
			protocolHTTP, false},
		"overloaded gRPC": {&receiver{refuses: status.Error(codes.Unavailable, "later")},
			protocolGRPC, false},
		"refuses": {&receiver{response: http.StatusForbidden}, protocolHTTP, true},
		"refuses gRPC": {&receiver{refuses: status.Error(codes.PermissionDenied, "no")},
			protocolGRPC, true},
		"refuses the size over gRPC": {&receiver{refuses: status.Error(codes.ResourceExhausted, "too large")},
			protocolGRPC, true},
		"rejects some":      {&receiver{partial: rejects}, protocolHTTP, true},
		"rejects some gRPC": {&receiver{partial: rejects}, protocolGRPC, true},
	} {
		t.Run(name, func(t *testing.T) {
			switch {
			case test.collector == nil:
				t.Setenv(endpoint, "http://127.0.0.1:1")
			case test.protocol == protocolGRPC:
				test.collector.overGRPC(t)
			default:
				test.collector.overHTTP(t)
			}
			t.Setenv("OTEL_EXPORTER_OTLP_PROTOCOL", test.protocol)
			if !test.want { // the sink retries until the timeout
				t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "300")
			}
			settings, err := FromEnvironment(os.Getenv)
			if err != nil {
				t.Fatal(err)
			}
			exporter, err := newSpanExporter(t.Context(), settings.Traces)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = exporter.Shutdown(context.Background()) }()
			spans, _ := newTracer(resource.Empty(), "", false).spansOf(item{Timeline: stuck()})
			err = sendWithRetries(t.Context(), settings.Traces.Timeout, func(ctx context.Context) error {
				return exporter.ExportSpans(ctx, spans)
			})
			if err == nil || isRefused(err) != test.want {
				t.Errorf("refused is %t: %v", !test.want, err)
			}
		})
	}
}

// The agent logs a warning when the warning appears, changes or reappears.
func TestWarningIsLoggedOnce(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	a := healthReporter{endpoint: there, logger: zap.New(core)}
	for i, step := range []struct {
		err    error
		detail string
		logged int
	}{
		{nil, "sending to " + there, 0},
		{partial("old", 0), "sending to " + there + ", which returns a warning: old", 1},
		{partial("old", 0), "sending to " + there + ", which returns a warning: old", 1},
		{partial("older", 0), "sending to " + there + ", which returns a warning: older", 2},
		{partial("older", 3), "traces export: OTLP partial success: older (3 spans rejected)", 2},
		{partial("older", 0), "sending to " + there + ", which returns a warning: older", 2},
		{nil, "sending to " + there, 2},
		{partial("older", 0), "sending to " + there + ", which returns a warning: older", 3},
		{errors.Join(partial("older", 0), errors.New("and more")), partial("older", 0).Error() + "\nand more", 3},
	} {
		taken, detail := a.read(step.err)
		if want := detail[:7] == "sending"; taken != want || detail != step.detail || logged.Len() != step.logged {
			t.Errorf("step %d: %v, %q, %d logged", i, taken, detail, logged.Len())
		}
	}
}

// If the collector closes the connection, the agent sends the batch again, whatever the error text.
func TestHasNoResponse(t *testing.T) {
	write := func(errno syscall.Errno) error {
		return fmt.Errorf("traces export: %w", &net.OpError{Op: "write", Err: os.NewSyscallError("write", errno)})
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{write(syscall.EPIPE), true}, {write(syscall.ECONNRESET), true}, {fmt.Errorf("post: %w", io.EOF), true},
		{io.ErrUnexpectedEOF, true},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true}, {write(syscall.ENOBUFS), false},
		{context.DeadlineExceeded, false},
		{partial("old", 5), false},
	} {
		if got := hasNoResponse(test.err); got != test.want {
			t.Errorf("%v: %t", test.err, got)
		}
	}
}
