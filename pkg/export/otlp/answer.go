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

// send tries to send within the timeout, and again if nobody listened or the connection broke: the
// exporters try again by themselves only what a collector answered that it could not take now. What
// arrives twice is the same: spans have the IDs of the start-up, metrics count from the start of
// the agent.
func send(ctx context.Context, timeout time.Duration, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for failures := 0; ; failures++ {
		err := try(ctx)
		if err == nil || !unanswered(err) || !backoff.Sleep(ctx, retries.Delay(failures)) {
			return err
		}
	}
}

// unanswered says that there was no collector, or that it went away before it answered.
func unanswered(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial" || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// How the exporters' errors begin, whose types they keep to themselves (otlptracehttp, client.go; internal/partialsuccess.go).
const (
	partialSuccess = "OTLP partial success: "
	refusedHTTP    = "failed to send to "
)

// refused says that a collector answered that it takes none of it, or not all, now or later, so
// that nobody need try again.
func refused(err error) bool {
	if s, ok := status.FromError(err); ok { // opentelemetry.io/docs/specs/otlp/#failures
		switch s.Code() {
		case codes.Canceled, codes.DeadlineExceeded, codes.Aborted, codes.OutOfRange, codes.Unavailable, codes.DataLoss:
			return false
		case codes.ResourceExhausted:
			return len(s.Details()) == 0 // else it says when
		}
		return true
	}
	return anyOf(err, func(err error) bool {
		return strings.HasPrefix(err.Error(), partialSuccess) || strings.HasPrefix(err.Error(), refusedHTTP)
	})
}

// warningOf is the words with which a collector took all of what it got: a partial success that
// rejects nothing, and no other error. Words can hold anything, so the count is read where it
// stands, at the end.
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
					return valid(rest), true
				}
			}
			return "", false
		}
	}
	return "", false
}

// anyOf says that an error, or one that it wraps, is such a one.
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

// answers follows what a collector answers, and makes of it what the health board says. A warning
// is logged when it changes.
type answers struct {
	endpoint string
	logger   *zap.Logger
	warning  string // the latest
}

// read says whether all was taken, and what people are to know of it.
func (a *answers) read(err error) (taken bool, detail string) {
	warning, warned := warningOf(err)
	if err != nil && !warned {
		return false, err.Error()
	}
	if warned && warning != a.warning {
		a.logger.Warn("the collector accepts the data with a warning", zap.String("endpoint", a.endpoint),
			zap.String("warning", warning))
	}
	a.warning = warning
	if warned {
		return true, "sending to " + a.endpoint + ", which returns a warning: " + warning
	}
	return true, "sending to " + a.endpoint
}
