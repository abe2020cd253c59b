package probe

import (
	"context"
	"crypto/tls"
	"net/http/httptrace"
	"sync"
	"time"
)

// stages measures the stages of one attempt. If a stage occurs several times in one attempt, for example after
// redirects, its length is the sum of the durations. The type stages is safe for concurrent use, because net/http can
// dial in the background, even after the attempt has ended.
type stages struct {
	mu      sync.Mutex
	begunAt time.Time
	open    map[Stage]time.Time
	lengths map[Stage]time.Duration
	over    bool
}

func newStages() *stages {
	return &stages{begunAt: time.Now(), open: map[Stage]time.Time{}, lengths: map[Stage]time.Duration{}}
}

func (s *stages) begin(stage Stage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// An attempt can try several addresses. The stage starts when the attempt tries the first address.
	if _, open := s.open[stage]; !open && !s.over {
		s.open[stage] = time.Now()
	}
}

// end closes a stage if err is nil. After an error, the stage stays open, because the attempt can try another address.
// If every address fails, finish closes the stage.
func (s *stages) end(stage Stage, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if begunAt, open := s.open[stage]; open && err == nil && !s.over {
		s.lengths[stage] += time.Since(begunAt)
		delete(s.open, stage)
	}
}

// traced returns a context with a trace. Through this trace, the packages net, net/http and client-go report their
// stages to s.
func (s *stages) traced(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:          func(httptrace.DNSStartInfo) { s.begin(StageDNS) },
		DNSDone:           func(done httptrace.DNSDoneInfo) { s.end(StageDNS, done.Err) },
		ConnectStart:      func(string, string) { s.begin(StageConnect) },
		ConnectDone:       func(_, _ string, err error) { s.end(StageConnect, err) },
		TLSHandshakeStart: func() { s.begin(StageTLS) },
		TLSHandshakeDone:  func(_ tls.ConnectionState, err error) { s.end(StageTLS, err) },
		// The stage first_byte starts at GotConn and not at WroteRequest, because HTTP/2 can call WroteRequest after
		// the response has started.
		GotConn:              func(httptrace.GotConnInfo) { s.begin(StageFirstByte) },
		GotFirstResponseByte: func() { s.end(StageFirstByte, nil) },
	})
}

// finish closes the open stages and returns the outcome of the attempt.
func (s *stages) finish(p Probe, err error) Outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	now := time.Now()
	o := Outcome{Probe: p.Name, Kind: p.Kind, Length: now.Sub(s.begunAt)}
	in := Result("")
	for _, row := range stageOrder {
		if _, open := s.open[row.stage]; open {
			in = row.failed
		}
	}
	if o.Result = classify(err, in); err != nil {
		o.Detail = innerError(err).Error()
	}
	for _, row := range stageOrder {
		begunAt, open := s.open[row.stage]
		length, ended := s.lengths[row.stage]
		switch {
		case open && err != nil:
			result := row.failed
			if o.Result == ResultTimeout {
				result = ResultTimeout
			}
			o.Stages = append(o.Stages, StageOutcome{row.stage, now.Sub(begunAt), result})
		case ended:
			o.Stages = append(o.Stages, StageOutcome{row.stage, length, ResultOK})
		}
	}
	return o
}
