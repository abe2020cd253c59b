package otlp

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podlapse/podlapse/internal/backoff"
)

// sendWithRetries calls the function "try". If no collector listened or the connection broke, sendWithRetries repeats
// the call until the timeout. sendWithRetries is necessary, because the HTTP exporters do not retry if no collector
// listened or the connection broke. A repeated send does no harm, because a repeated span has the same ID, and metrics
// count from the start of the agent.
func sendWithRetries(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for failures := 0; ; failures++ {
		err := try(ctx)
		if err == nil || !hasNoResponse(err) || !backoff.Sleep(ctx, retries.Delay(failures)) {
			return err
		}
	}
}

// hasNoResponse reports whether no collector listened or the collector disconnected before it responded.
func hasNoResponse(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial" || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// Prefixes of the exporters' error messages. The agent compares messages, because the error types are private
// (otlptracehttp, client.go; internal/partialsuccess.go).
const (
	partialSuccess = "OTLP partial success: "
	refusedHTTP    = "failed to send to "
)

// isRefused reports whether a collector permanently rejects some or all of the data, so that a retry cannot succeed.
func isRefused(err error) bool {
	if s, ok := status.FromError(err); ok { // opentelemetry.io/docs/specs/otlp/#failures
		switch s.Code() {
		case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
			return false
		case codes.ResourceExhausted:
			return len(s.Details()) == 0 // a refusal with a retry delay in its details is temporary
		}
		return true
	}
	return anyOf(err, func(err error) bool {
		return strings.HasPrefix(err.Error(), partialSuccess) || strings.HasPrefix(err.Error(), refusedHTTP)
	})
}

// warningOf returns the warning of a collector that accepted all data. A warning is a partial success that rejects no
// items. If err also contains another error, warningOf returns false. The text of a partial success ends with the
// number of rejected items, which is 0 for a warning. warningOf looks for the number only at the end, because the
// warning itself can contain any text.
func warningOf(err error) (words string, ok bool) {
	leaf := err
	for leaf != nil {
		switch wrapped := leaf.(type) {
		case interface{ Unwrap() error }:
			leaf = wrapped.Unwrap()
		case interface{ Unwrap() []error }:
			if len(wrapped.Unwrap()) != 1 {
				return "", false
			}
			leaf = wrapped.Unwrap()[0]
		default:
			words, ok = strings.CutPrefix(leaf.Error(), partialSuccess)
			for _, none := range []string{" (0 spans rejected)", " (0 metric data points rejected)"} {
				if rest, found := strings.CutSuffix(words, none); ok && found {
					return validText(rest), true
				}
			}
			return "", false
		}
	}
	return "", false
}

// anyOf reports whether the function "such" returns true for err or for an error that err wraps.
func anyOf(err error, such func(error) bool) bool {
	if err == nil || such(err) {
		return err != nil
	}
	switch wrapped := err.(type) {
	case interface{ Unwrap() error }:
		return anyOf(wrapped.Unwrap(), such)
	case interface{ Unwrap() []error }:
		for _, one := range wrapped.Unwrap() {
			if anyOf(one, such) {
				return true
			}
		}
	}
	return false
}

// healthReporter derives the status for the health board from a collector's responses. healthReporter logs a warning
// when the collector's warning changes.
type healthReporter struct {
	endpoint string
	logger   *zap.Logger
	warning  string // latest warning of the collector
}

// read evaluates the error of an export. The result "taken" is true if the collector accepted all data. The result
// "detail" is the text of the status.
func (a *healthReporter) read(err error) (taken bool, detail string) {
	warning, warned := warningOf(err)
	if err != nil && !warned {
		return false, err.Error()
	}
	if warned && warning != a.warning {
		a.logger.Warn("the collector accepted the data, but sent a warning", zap.String("endpoint", a.endpoint),
			zap.String("warning", warning))
	}
	a.warning = warning
	if warned {
		return true, "sending to " + a.endpoint + ", which returns a warning: " + warning
	}
	return true, "sending to " + a.endpoint
}
