package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// race sends one request over the proxy, over a port-forward, or over both at the same time. The method decide starts
// a race, and returns only after all attempts of the race have ended.
type race struct {
	route    *route
	request  *http.Request
	results  chan attempt // capacity 2, so that an attempt never waits for a receiver
	cancels  map[way]context.CancelFunc
	pending  int
	failures map[way]attempt
	proxyAt  time.Time // start time of the attempt over the proxy
}

// decide sends the request over the proxy. If the request over the proxy fails, or gets no response within raceAfter,
// decide also sends the request over a port-forward. If experience.preferForward is true, decide starts with the
// port-forward instead of the proxy. If the proxy's error response shows that a port-forward would also fail
// (attempt.final), decide immediately returns this response. Later requests to the agent use the proxy or the
// port-forward, whichever reached the agent first (attempt.reached). The agent can receive the request twice. A
// repeated request is harmless, because requests have no body and change nothing.
func (r *route) decide(request *http.Request) (*http.Response, error) {
	first, second := viaProxy, viaForward
	if r.learned.preferForward.Load() {
		first, second = second, first
	}
	run := race{route: r, request: request, results: make(chan attempt, 2),
		cancels: map[way]context.CancelFunc{}, failures: map[way]attempt{}}
	defer run.drop()
	run.start(first)
	silent := time.NewTimer(raceAfter)
	defer silent.Stop()
	for run.pending > 0 {
		select {
		case <-silent.C:
			run.start(second)
		case got := <-run.results:
			run.pending--
			if got.reached {
				return run.recordSuccess(got), nil
			}
			run.failures[got.way] = got
			if got.final {
				return run.take(got), nil
			}
			if request.Context().Err() == nil {
				run.start(second)
			}
		}
	}
	return run.failure()
}

// start begins an attempt over the proxy or over a port-forward, unless this attempt has already begun.
func (r *race) start(w way) {
	if r.cancels[w] != nil {
		return
	}
	ctx, cancel := context.WithCancel(r.request.Context())
	r.cancels[w] = cancel
	if w == viaProxy {
		r.proxyAt = time.Now()
	}
	r.pending++
	request := r.request.Clone(ctx)
	go func() { r.results <- r.route.try(w, request) }()
}

// recordSuccess records whether the proxy or a port-forward reached the agent, and returns the response.
func (r *race) recordSuccess(got attempt) *http.Response {
	learned := r.route.learned
	r.route.decided.Store(int32(got.way))
	proxied, failed := r.failures[viaProxy]
	switch {
	case got.way == viaProxy:
		learned.proxyReaches.Store(true)
	case failed && proxied.local:
		learned.proxyReaches.Store(true)
		learned.preferForward.Store(true)
	case failed:
		learned.fellBack(fmt.Sprintf("failed: %v", proxied.err))
	case r.cancels[viaProxy] != nil && time.Since(r.proxyAt) >= raceAfter:
		learned.fellBack(fmt.Sprintf("did not respond within %s", raceAfter))
	}
	return r.take(got)
}

// fellBack stores why a port-forward replaced the proxy: the proxy failed or did not respond in time. If a reason is
// already stored, fellBack keeps the old reason. If the proxy has not reached any agent yet, fellBack sets
// preferForward. If preferForward is set, the first requests to other agents start with a port-forward.
func (e *experience) fellBack(reason string) {
	if !e.proxyReaches.Load() {
		e.preferForward.Store(true)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.fallback == "" {
		e.fallback = reason
	}
}

// failure returns the error of a request that did not reach the agent.
func (r *race) failure() (*http.Response, error) {
	proxied, triedProxy := r.failures[viaProxy]
	forwarded, triedForward := r.failures[viaForward]
	switch {
	case r.request.Context().Err() != nil && (!triedProxy || !triedForward):
		return nil, r.request.Context().Err()
	case !triedProxy || triedForward && proxied.local:
		return nil, forwarded.err
	case !triedForward || errors.Is(proxied.err, context.Canceled):
		return nil, proxied.err
	}
	return nil, &Unreached{Proxy: proxied.err, Forward: forwarded.err}
}

// take returns the response of an attempt to the caller. The request's context stays active until the caller closes
// the body of the response.
func (r *race) take(got attempt) *http.Response {
	got.response.Body = &cancelingBody{got.response.Body, r.cancels[got.way]}
	delete(r.cancels, got.way)
	delete(r.failures, got.way)
	return got.response
}

// drop cancels the remaining attempts and closes their responses.
func (r *race) drop() {
	for _, cancel := range r.cancels {
		cancel()
	}
	for ; r.pending > 0; r.pending-- {
		got := <-r.results
		r.failures[got.way] = got
	}
	for _, got := range r.failures {
		if got.response != nil {
			_ = got.response.Body.Close()
		}
	}
}

// cancelingBody cancels the context of its request when the caller closes the body.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

// Close implements io.Closer.
func (b *cancelingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
