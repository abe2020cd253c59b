package probe

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Result is how an attempt, or a stage of one, ended; the set is closed.
type Result string

// The results.
const (
	ResultOK           Result = "ok"
	ResultTimeout      Result = "timeout" // nothing within the probe's timeout
	ResultDNSError     Result = "dns_error"
	ResultConnectError Result = "connect_error"
	ResultTLSError     Result = "tls_error"
	ResultNoAnswer     Result = "no_answer"  // the connection ended before an answer
	ResultBadStatus    Result = "bad_status" // an answer, but not the right one, or too many redirects
	ResultError        Result = "error"      // whatever else
)

// Results lists every result.
func Results() []Result {
	return []Result{ResultOK, ResultTimeout, ResultDNSError, ResultConnectError, ResultTLSError, ResultNoAnswer,
		ResultBadStatus, ResultError}
}

// Stage is a part of an attempt; the set is closed.
type Stage string

// The stages, and all of it. StageFirstByte is from when there is a connection.
const (
	StageDNS       Stage = "dns"
	StageConnect   Stage = "connect"
	StageTLS       Stage = "tls"
	StageFirstByte Stage = "first_byte"
	StageTotal     Stage = "total"
)

// stageOrder is that of an attempt, with the result of one that ends in it for another reason than time.
var stageOrder = []struct {
	stage  Stage
	failed Result
}{{StageDNS, ResultDNSError}, {StageConnect, ResultConnectError}, {StageTLS, ResultTLSError},
	{StageFirstByte, ResultNoAnswer}}

// Outcome is what became of one attempt.
type Outcome struct {
	Probe  string
	Kind   Kind
	Result Result
	Length time.Duration
	Stages []StageOutcome // those that it came to, in order
	Detail string         // for people, of what is not ok; it holds no URL
}

// StageOutcome is how long a stage took, or how long until the attempt ended in it.
type StageOutcome struct {
	Stage  Stage
	Length time.Duration
	Result Result
}

// Recorder is told of every attempt that ended, from several goroutines at once. It must not block. What is recorded in
// Prometheus' words leaves the agent both ways: /metrics shows the registry, and the push over OTLP reads the same one
// (pkg/export/otlp, bridge.NewMetricProducer). Metrics is that recorder.
type Recorder interface {
	Record(Outcome)
	// Forget says that a probe is no more.
	Forget(probe string)
}

// statusError is an answer that is not the right one.
type statusError int

func (e statusError) Error() string { return fmt.Sprintf("response status %d", int(e)) }

// classify reads how an attempt ended that was in a stage at its end, empty if in none.
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

// unwrapped is an error of net/http without the URL, whose query may hold what no log should.
func unwrapped(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}
