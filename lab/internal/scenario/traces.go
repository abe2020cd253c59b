package scenario

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// deliveryLimit is how long the agent tries to deliver data while no receiver runs.
const deliveryLimit = 2 * time.Second

// sendingOverHTTP returns the environment variables of an agent that sends traces and metrics to the receiver over
// HTTP.
func sendingOverHTTP() []string {
	return sending("http/protobuf", layout.OTLPHTTPPort)
}

// sendingOverGRPC returns the environment variables of an agent that sends traces and metrics to the receiver over
// gRPC.
func sendingOverGRPC() []string {
	return sending("grpc", layout.OTLPGRPCPort)
}

func sending(protocol string, port int) []string {
	return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://" + layout.Address(port),
		"OTEL_EXPORTER_OTLP_PROTOCOL=" + protocol,
		fmt.Sprintf("OTEL_EXPORTER_OTLP_TIMEOUT=%d", deliveryLimit.Milliseconds()), "OTEL_METRIC_EXPORT_INTERVAL=5000"}
}

// startReceiver starts the receiver with an empty output file.
func startReceiver(ctx context.Context, b *bench.Bench) error {
	if err := b.Node.StopReceiver(); err != nil { // if an earlier scenario was killed, its receiver still runs
		return err
	}
	if err := b.Node.ForgetOTLP(); err != nil {
		return err
	}
	return b.Node.StartReceiver(ctx)
}

// startSending starts the receiver with an empty output file. startSending also restarts the agent, with the given
// flags and with the environment variables for sending over HTTP.
func startSending(ctx context.Context, b *bench.Bench, flags ...string) (node.AgentChange, error) {
	change := node.AgentChange{Flags: flags, Environment: sendingOverHTTP()}
	if err := startReceiver(ctx, b); err != nil {
		return change, err
	}
	if err := b.Node.RestartAgentWith(ctx, change); err != nil {
		return change, err
	}
	return change, awaitAgentAge(ctx, b)
}

// awaitTrace waits until the agent has sent the trace of a pod's start-up at least the given number of times. Then
// awaitTrace returns the latest trace.
func awaitTrace(ctx context.Context, b *bench.Bench, pod string, times int) (otlp.Report, error) {
	var report otlp.Report
	err := b.Node.Report.Wait(ctx, "the trace of pod "+pod, 10*time.Second, 100*time.Millisecond,
		func(context.Context) error {
			reports, err := tracesOf(b, pod)
			if err != nil {
				return err
			}
			if len(reports) < times {
				return fmt.Errorf("the agent has sent the start-up of pod %s %d times, want at least %d", pod,
					len(reports), times)
			}
			report = reports[len(reports)-1]
			return nil
		})
	return report, err
}

func tracesOf(b *bench.Bench, pod string) ([]otlp.Report, error) {
	reports, err := otlp.ReadTraces(b.Node.OTLP())
	return slices.DeleteFunc(reports, func(r otlp.Report) bool { return r.Namespace != b.Namespace || r.Pod != pod }),
		err
}

// ownTrace returns the documented trace ID of a pod's first start-up.
func ownTrace(uid string) string { return traceNamed("podlapse trace " + uid + "/0") }

// rolloutTrace returns the documented ID of a trace. The pods of one revision of a Deployment share this trace.
func rolloutTrace(namespace, deployment, revision string) string {
	return traceNamed("podlapse owner " + namespace + "/Deployment/" + deployment + "/" + revision)
}

func traceNamed(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:16])
}
