package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// maxHeader is the maximum size of the response headers, in bytes. Probes do not read the bodies of responses.
const maxHeader = 64 << 10

// userAgent identifies the agent in the logs of probed servers.
const userAgent = "podlapse-agent"

// RoundTrip sends a request to the runtime or the API server on the agent's existing connection.
type RoundTrip func(context.Context) error

// attemptFunc makes one attempt and records the stages of this attempt in s.
type attemptFunc func(ctx context.Context, s *stages) error

// attemptFuncOf returns the function that makes the attempts of a probe. Probes of kind cri and apiserver use an
// existing connection of the agent (RoundTrip). Probes of kind dns, tcp, http and registry open new connections for
// each attempt.
func (r *Runner) attemptFuncOf(p Probe) attemptFunc {
	switch p.Kind {
	case KindDNS:
		return dnsAttempt(p)
	case KindTCP:
		return tcpAttempt(p)
	case KindHTTP:
		return httpAttempt(p, p.Target, func(status int) bool {
			if len(p.Status) > 0 {
				return slices.Contains(p.Status, status)
			}
			return status >= 200 && status < 400
		})
	case KindRegistry:
		return registryAttempt(p)
	case KindCRI:
		return func(ctx context.Context, _ *stages) error { return r.config.Runtime(ctx) }
	}
	return func(ctx context.Context, _ *stages) error { return r.config.APIServer(ctx) }
}

func dnsAttempt(p Probe) attemptFunc {
	resolver := &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if p.Server != "" {
				address = p.Server
			}
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				// Without this deadline, a canceled lookup would wait several more seconds for the DNS server.
				context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
			}
			return conn, err
		}}
	return func(ctx context.Context, s *stages) error {
		s.begin(StageDNS)
		_, err := resolver.LookupNetIP(withoutTrace(ctx), "ip", p.Target)
		s.end(StageDNS, err)
		return err
	}
}

// withoutTrace returns a context without the trace that records the stages of an attempt. With the trace, the
// resolver's connections to DNS servers would count as stages of the attempt.
func withoutTrace(ctx context.Context) context.Context { return untraced{ctx} }

// untraced keeps the deadline and the cancellation of a context, but hides its values.
type untraced struct{ context.Context }

// Value implements context.Context.
func (untraced) Value(any) any { return nil }

func tcpAttempt(p Probe) attemptFunc {
	return func(ctx context.Context, _ *stages) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", p.Target)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
}

// registryAttempt returns a function that requests /v2/ from a registry. A working registry responds with status 200.
// If the registry requires credentials, a working registry responds with status 401.
func registryAttempt(p Probe) attemptFunc {
	target := url.URL{Scheme: "https", Host: p.Target, Path: "/v2/"}
	if p.PlainHTTP {
		target.Scheme = "http"
	}
	return httpAttempt(p, target.String(), func(status int) bool {
		return status == http.StatusOK || status == http.StatusUnauthorized
	})
}

var errRedirects = errors.New("too many redirects")

func httpAttempt(p Probe, target string, right func(status int) bool) attemptFunc {
	transport := &http.Transport{ // ignores proxy settings in the environment
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: maxHeader,
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12},
	}
	if p.followed {
		transport.DialContext = guardedDialer(p.PlainHTTP).DialContext
	}
	if len(p.authorities) > 0 {
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(p.authorities)
	}
	return func(ctx context.Context, _ *stages) error {
		at := target
		for hops := 0; ; hops++ {
			response, err := getOnce(ctx, transport, at, p.Headers)
			if err != nil {
				return err
			}
			next := redirectTarget(response)
			switch {
			case p.Redirects == 0 || next == "":
				if !right(response.StatusCode) {
					return statusError(response.StatusCode)
				}
				return nil
			case hops == p.Redirects:
				return errRedirects
			}
			at = next
		}
	}
}

// getOnce sends one request without following redirects. getOnce does not use http.Client, because the errors of
// http.Client about redirects contain text from the server.
func getOnce(ctx context.Context, transport http.RoundTripper, target string, headers Headers) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("User-Agent", userAgent)
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	_ = response.Body.Close() // probes do not read the body
	return response, nil
}

// redirectTarget returns the URL to which a response redirects. If the response is not a redirect, the URL is empty.
// The URL is also empty for redirects to another host, redirects from HTTPS to HTTP, and redirects to a URL with a user
// name.
func redirectTarget(response *http.Response) string {
	switch response.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
	default:
		return ""
	}
	next, err := response.Location()
	from := response.Request.URL
	if err != nil || next.Host != from.Host || next.User != nil || from.Scheme == "https" && next.Scheme != "https" ||
		next.Scheme != "https" && next.Scheme != "http" {
		return ""
	}
	return next.String()
}

// attempt makes one attempt of a probe.
func attempt(ctx context.Context, p Probe, ask attemptFunc) Outcome {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout.Duration)
	defer cancel()
	s := newStages()
	err := ask(s.traced(ctx), s)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		// after a timeout, some errors of net/http do not wrap context.DeadlineExceeded
		err = fmt.Errorf("%w: %w", context.DeadlineExceeded, innerError(err))
	}
	return s.finish(p, err)
}

// pause returns the time until the next attempt.
func (p Pace) pause(random func(time.Duration) time.Duration) time.Duration {
	return p.Interval.Duration + random(p.Jitter.Duration)
}
