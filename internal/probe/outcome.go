package probe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Result is the result of an attempt or of a stage. Only the constants of this type are possible results.
type Result string

// Values of Result.
const (
	ResultOK           Result = "ok"
	ResultTimeout      Result = "timeout" // the attempt exceeded the probe's timeout
	ResultDNSError     Result = "dns_error"
	ResultConnectError Result = "connect_error"
	ResultTLSError     Result = "tls_error"
	ResultNoResponse   Result = "no_response" // the connection failed before a response
	ResultBadStatus    Result = "bad_status"  // a status code that the probe does not accept, or too many redirects
	ResultError        Result = "error"       // any other error
)

// Results returns every result.
func Results() []Result {
	return []Result{ResultOK, ResultTimeout, ResultDNSError, ResultConnectError, ResultTLSError, ResultNoResponse,
		ResultBadStatus, ResultError}
}

// Stage is a part of an attempt. Only the constants of this type are possible stages.
type Stage string

// Stages of an attempt. StageTotal stands for the whole attempt. StageFirstByte starts when the connection is open.
const (
	StageDNS       Stage = "dns"
	StageConnect   Stage = "connect"
	StageTLS       Stage = "tls"
	StageFirstByte Stage = "first_byte"
	StageTotal     Stage = "total"
)

// stageOrder lists the stages in order. If an attempt fails in a stage and the reason is not a timeout, the field
// "failed" is the result of the attempt.
var stageOrder = []struct {
	stage  Stage
	failed Result
}{{StageDNS, ResultDNSError}, {StageConnect, ResultConnectError}, {StageTLS, ResultTLSError},
	{StageFirstByte, ResultNoResponse}}

// Outcome is the outcome of one attempt.
type Outcome struct {
	Probe  string
	Kind   Kind
	Result Result
	Length time.Duration
	Stages []StageOutcome // stages that the attempt reached, in order
	Detail string         // text of the error if the result is not ok; contains no URL
}

// StageOutcome is the outcome of one stage. Length is the duration of the stage. If the attempt failed in this stage,
// Length is the time from the stage's start to the failure.
type StageOutcome struct {
	Stage  Stage
	Length time.Duration
	Result Result
}

// Recorder records every completed attempt. Several goroutines call a Recorder at the same time. A Recorder must not
// block. A Runner needs only one Recorder for both /metrics and the OTLP export, because both read the same Prometheus
// registry (internal/otlp, bridge.NewMetricProducer).
type Recorder interface {
	Record(Outcome)
	// The Runner calls Forget after it stops a removed or changed probe.
	Forget(probe string)
}

// statusError is a status code that the probe does not accept.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("response status %d", int(e)) }

// classify returns the result of an attempt with the given error. If the error itself does not determine the result,
// classify returns the argument "in". The argument "in" is the result of a failure in the open stage. If no stage is
// open, "in" is empty and classify returns ResultError.
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

// innerError returns the inner error of an error from net/http. The outer error contains the URL, and a URL's query can
// contain secrets.
func innerError(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
