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

// maxHeader bounds what an answer's header may take, in bytes; of bodies nothing is read.
const maxHeader = 64 << 10

// userAgent names the agent in the logs of whom it asks.
const userAgent = "podlapse-agent"

// RoundTrip asks a part of the node or of the control plane that the agent is connected to anyway.
type RoundTrip func(context.Context) error

// asker makes one attempt in a context that tells of its stages.
type asker func(ctx context.Context, s *stages) error

// askerOf is how a probe asks. Each attempt that is no round trip on the agent's connections makes
// a connection of its own.
func (r *Runner) askerOf(p Probe) asker {
	switch p.Kind {
	case KindDNS:
		return dnsAsker(p)
	case KindTCP:
		return tcpAsker(p)
	case KindHTTP:
		return httpAsker(p, p.Target, func(status int) bool {
			if len(p.Status) > 0 {
				return slices.Contains(p.Status, status)
			}
			return status >= 200 && status < 400
		})
	case KindRegistry:
		return registryAsker(p)
	case KindCRI:
		return func(ctx context.Context, _ *stages) error { return r.config.Runtime(ctx) }
	}
	return func(ctx context.Context, _ *stages) error { return r.config.APIServer(ctx) }
}

func dnsAsker(p Probe) asker {
	resolver := &net.Resolver{PreferGo: true,
		Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			if p.Server != "" {
				address = p.Server
			}
			var dialer net.Dialer
			conn, err := dialer.DialContext(ctx, network, address)
			if err == nil {
				// A lookup that is canceled would wait for its answer all the same, some seconds more.
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

// withoutTrace hides that a lookup has a lookup's own stages: connections to servers of names.
func withoutTrace(ctx context.Context) context.Context { return untraced{ctx} }

// untraced carries deadline and end of a context, and no values.
type untraced struct{ context.Context }

// Value implements context.Context.
func (untraced) Value(any) any { return nil }

func tcpAsker(p Probe) asker {
	return func(ctx context.Context, _ *stages) error {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "tcp", p.Target)
		if err == nil {
			err = conn.Close()
		}
		return err
	}
}

// registryAsker takes for an answer what the protocol has for it: yes, or that one has to log in.
func registryAsker(p Probe) asker {
	target := url.URL{Scheme: "https", Host: p.Target, Path: "/v2/"}
	if p.PlainHTTP {
		target.Scheme = "http"
	}
	return httpAsker(p, target.String(), func(status int) bool {
		return status == http.StatusOK || status == http.StatusUnauthorized
	})
}

var errRedirects = errors.New("too many redirects")

func httpAsker(p Probe, target string, right func(status int) bool) asker {
	transport := &http.Transport{ // without a proxy, whatever the environment says
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
			next := redirect(response)
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

// getOnce follows nothing, which net/http's client would, and tells of what it cannot follow with words of the server's.
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
	_ = response.Body.Close() // unread
	return response, nil
}

// redirect is where an answer leads to on the same host, empty if it does not: then it is what it
// is. What was asked for with TLS is not asked for without.
func redirect(response *http.Response) string {
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

// attempt asks once.
func attempt(ctx context.Context, p Probe, ask asker) Outcome {
	ctx, cancel := context.WithTimeout(ctx, p.Timeout.Duration)
	defer cancel()
	s := newStages()
	err := ask(s.traced(ctx), s)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) && !errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w: %w", context.DeadlineExceeded, unwrapped(err)) // some errors do not say so
	}
	return s.outcome(p, err)
}

// pause is until the next attempt.
func (p Pace) pause(random func(time.Duration) time.Duration) time.Duration {
	return p.Interval.Duration + random(p.Jitter.Duration)
}
