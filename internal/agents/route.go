package agents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/podlapse/podlapse/pkg/client"
)

const (
	// forwardIdle is how long a forwarded connection can stay open without a request.
	forwardIdle = 30 * time.Second
	// raceAfter is how long the method decide waits for a response before it starts the second attempt. One attempt
	// uses the proxy, and the other attempt uses a port-forward. If the network of the API server cannot reach pods,
	// the proxy fails only after 30 s.
	raceAfter = time.Second
	// notLocal is the value of the field "error" in an error response of an agent. The response means that the agent
	// sends data about pods only to loopback clients.
	notLocal = "not_local"
)

// way is how the command reaches an agent: through the proxy or a port-forward.
type way int32

const (
	undecided  way = iota
	viaProxy       // the API server's proxy to pods
	viaForward     // a port-forward through the API server and the kubelet, like kubectl port-forward
)

// experience records the results of earlier requests over the proxy and over port-forwards. A Cluster has one value of
// this type for all its agents.
type experience struct {
	proxyReaches  atomic.Bool // true if the proxy has reached an agent
	preferForward atomic.Bool // true if requests try the port-forward first
	mu            sync.Mutex
	fallback      string // why a port-forward first replaced the proxy (see fellBack), or empty
}

// Unreached is the error of a request that failed in both ways: through the API server's proxy, and through a
// port-forward.
type Unreached struct{ Proxy, Forward error }

// Error implements error.
func (u *Unreached) Error() string { return fmt.Sprintf("%v; then %v", u.Proxy, u.Forward) }

// Unwrap returns the error of the proxy and the error of the port-forward.
func (u *Unreached) Unwrap() []error { return []error{u.Proxy, u.Forward} }

// Plain shortens an error that wraps an *Unreached: it returns only the *Unreached, without the address of the request.
// Plain returns every other error unchanged.
func Plain(err error) error {
	var unreached *Unreached
	if errors.As(err, &unreached) {
		return unreached
	}
	return err
}

// route is the connection to one agent. The first request chooses between the API server's proxy and a port-forward.
// Later requests to the agent use the chosen way. If the chosen way fails, the route chooses again. A route is safe for
// concurrent use.
type route struct {
	proxy   http.RoundTripper // transport to the API server, with the kubeconfig's credentials
	prefix  string            // over the proxy, a request's path is this prefix and the agent's own path
	target  url.URL           // URL of the agent over the forwarded port
	forward *http.Transport
	dial    func(ctx context.Context) (net.Conn, error)
	learned *experience
	decided atomic.Int32 // the chosen way
}

func (c *Cluster) newRoute(pod, scheme string, port int, prefix string) *route {
	dial := func(ctx context.Context) (net.Conn, error) { return c.dial(ctx, pod, port) }
	return &route{
		proxy: cmp.Or(c.http.Transport, http.DefaultTransport), prefix: prefix, dial: dial, learned: &c.learned,
		target: url.URL{Scheme: scheme, Host: net.JoinHostPort("localhost", strconv.Itoa(port))},
		forward: &http.Transport{
			DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
			IdleConnTimeout: forwardIdle, MaxIdleConnsPerHost: 1,
			// Requests over a port-forward do not check the agent's certificate. A check is not necessary to identify
			// the pod, because the API server and the kubelet choose the pod that receives the connection. The API
			// server's proxy does not check certificates of pods either.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		},
	}
}

// RoundTrip implements http.RoundTripper.
func (r *route) RoundTrip(request *http.Request) (*http.Response, error) {
	chosen := way(r.decided.Load())
	if chosen == undecided {
		return r.decide(request)
	}
	got := r.try(chosen, request)
	if got.reached || got.final {
		return got.response, nil
	}
	r.decided.CompareAndSwap(int32(chosen), int32(undecided))
	if got.response != nil {
		_ = got.response.Body.Close()
	}
	if request.Context().Err() != nil {
		return nil, got.err
	}
	return r.decide(request)
}

// attempt is the result of one request over the proxy or over a port-forward.
type attempt struct {
	way      way
	response *http.Response // nil without a response
	err      error          // error of the request; for an error response over the proxy, a *client.Refusal
	reached  bool           // true if the agent itself sent the response, except for the error notLocal
	final    bool           // true if the request would also fail over a port-forward
	local    bool           // true if the agent accepts only loopback clients
}

func (r *route) try(w way, request *http.Request) attempt {
	if w == viaForward {
		response, err := r.sendOverForward(request)
		return attempt{way: w, response: response, err: err, reached: err == nil}
	}
	response, err := r.proxy.RoundTrip(request)
	if err != nil {
		return attempt{way: w, err: err}
	}
	if response.StatusCode < http.StatusBadRequest {
		return attempt{way: w, response: response, reached: true}
	}
	refused := readRefusal(response)
	got := attempt{way: w, response: response, err: refused}
	switch {
	case refused.Word == notLocal && !refused.Kubernetes:
		got.local = true
	case refused.Kubernetes:
		got.final = refused.Status == http.StatusNotFound || refused.Status == http.StatusUnauthorized
	case refused.Status == http.StatusBadGateway, refused.Status == http.StatusGatewayTimeout:
		// A proxy between the user and the API server, or between the API server and the pod, sent this response.
	case refused.Status == http.StatusServiceUnavailable && refused.Word == "":
	default:
		got.reached = true // the agent itself sent this error
	}
	return got
}

// readRefusal reads an error response. After readRefusal, the caller can still read the response.
func readRefusal(response *http.Response) *client.Refusal {
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	rest := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	return client.NewRefusal(response.StatusCode, response.Header, body)
}

func (r *route) sendOverForward(request *http.Request) (*http.Response, error) {
	forwarded := request.Clone(request.Context())
	forwarded.URL.Scheme, forwarded.URL.Host, forwarded.Host = r.target.Scheme, r.target.Host, ""
	forwarded.URL.Path = strings.TrimPrefix(request.URL.Path, r.prefix)
	forwarded.URL.RawPath = strings.TrimPrefix(request.URL.RawPath, r.prefix)
	return r.forward.RoundTrip(forwarded)
}

func (r *route) release() { r.forward.CloseIdleConnections() }
