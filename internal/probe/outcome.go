package probe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Result is how an attempt, or a stage of one, ended. The set is closed.
type Result string

// Values of Result.
const (
	ResultOK           Result = "ok"
	ResultTimeout      Result = "timeout" // no answer within the probe's timeout
	ResultDNSError     Result = "dns_error"
	ResultConnectError Result = "connect_error"
	ResultTLSError     Result = "tls_error"
	ResultNoAnswer     Result = "no_answer"  // the connection ended before an answer
	ResultBadStatus    Result = "bad_status" // an answer, but not an accepted one, or too many redirects
	ResultError        Result = "error"      // any other error
)

// Results lists every result.
func Results() []Result {
	return []Result{ResultOK, ResultTimeout, ResultDNSError, ResultConnectError, ResultTLSError, ResultNoAnswer,
		ResultBadStatus, ResultError}
}

// Stage is a part of an attempt. The set is closed.
type Stage string

// The stages, and the total. StageFirstByte begins when there is a connection.
const (
	StageDNS       Stage = "dns"
	StageConnect   Stage = "connect"
	StageTLS       Stage = "tls"
	StageFirstByte Stage = "first_byte"
	StageTotal     Stage = "total"
)

// stageOrder lists the stages in order. For each, it gives the result of an attempt that ends in it, unless the attempt
// timed out.
var stageOrder = []struct {
	stage  Stage
	failed Result
}{{StageDNS, ResultDNSError}, {StageConnect, ResultConnectError}, {StageTLS, ResultTLSError},
	{StageFirstByte, ResultNoAnswer}}

// Outcome is the outcome of one attempt.
type Outcome struct {
	Probe  string
	Kind   Kind
	Result Result
	Length time.Duration
	Stages []StageOutcome // those that it reached, in order
	Detail string         // for people, if the result is not ok; contains no URL
}

// StageOutcome is how long a stage took, or how long until the attempt ended in it.
type StageOutcome struct {
	Stage  Stage
	Length time.Duration
	Result Result
}

// Recorder records every completed attempt. Several goroutines call it at once, and it must not
// block. Prometheus metrics leave the agent in two ways: /metrics shows the registry, and the OTLP push reads the same
// one (internal/otlp, bridge.NewMetricProducer). Metrics is that recorder.
type Recorder interface {
	Record(Outcome)
	// Forget is called when a probe was removed.
	Forget(probe string)
}

// statusError is a status code that is not accepted.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("response status %d", int(e)) }

// classify derives the result from the error and the stage in which the attempt ended; the stage is
// empty if it was in none.
func classify(err error, in Result) Result {
	var status statusError
	var slow interface{ Timeout() bool }
	switch {
	case err == nil:
		return ResultOK
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &slow) && slow.Timeout():
		return ResultTimeout
	case errors.As(err, &status), errors.Is(err, errRedirects):
		return ResultBadStatus
	case in != "":
		return in
	}
	return ResultError
}

// unwrapped returns an error of net/http without the URL, whose query may contain secrets.
func unwrapped(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
