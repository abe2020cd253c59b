package fleetmetrics

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

const (
	// maxBytes is the maximum size of a response.
	maxBytes = 64 << 20
	// maxSeries is the maximum number of series in a response.
	maxSeries = 200_000
	// maxHandshake is the maximum time for a TLS handshake.
	maxHandshake = 10 * time.Second
)

// Server queries one Prometheus server. A Server is safe for concurrent use. The caller must call Close.
type Server struct {
	api       v1.API
	address   string // URL without credentials
	transport *http.Transport
}

// Open returns a Server for the Prometheus server at a URL, but does not connect. The URL can contain a user and a
// password. If the argument "token" is not empty, each request contains it as a bearer token.
func Open(server *url.URL, token string) (*Server, error) {
	return openLimited(server, token, maxBytes)
}

// openLimited is like Open, but its argument "limit" sets the maximum size of a response, in bytes.
func openLimited(server *url.URL, token string, limit int64) (*Server, error) {
	address := *server
	address.User, address.RawQuery, address.Fragment = nil, "", ""
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: maxHandshake,
	}
	inner, err := api.NewClient(api.Config{Address: address.String(), Client: &http.Client{
		Transport: &limitedTransport{transport, server.User, token, limit},
		// Do not follow redirects: a redirect could send the credentials to another server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address.String(), err)
	}
	return &Server{v1.NewAPI(checkedClient{inner}), address.String(), transport}, nil
}

// Close closes the idle connections to the server.
func (s *Server) Close() { s.transport.CloseIdleConnections() }

// limitedTransport adds the credentials to each request, and limits the size of each response.
type limitedTransport struct {
	next  http.RoundTripper
	user  *url.Userinfo
	token string
	bytes int64 // maximum size of a response
}

// RoundTrip implements http.RoundTripper.
func (l *limitedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("User-Agent", "podlapse-agent-cli")
	if l.user != nil {
		password, _ := l.user.Password()
		request.SetBasicAuth(l.user.Username(), password)
	}
	if l.token != "" {
		request.Header.Set("Authorization", "Bearer "+l.token)
	}
	response, err := l.next.RoundTrip(request)
	if err == nil {
		response.Body = http.MaxBytesReader(nil, response.Body, l.bytes)
	}
	return response, err
}

// checkedClient converts HTTP status codes such as 401, 404 and 503 to the errors of this package.
type checkedClient struct{ api.Client }

// Do implements api.Client.
func (c checkedClient) Do(ctx context.Context, request *http.Request) (*http.Response, []byte, error) {
	response, body, err := c.Client.Do(ctx, request)
	if err != nil {
		return response, body, err
	}
	switch code := response.StatusCode; {
	case code == http.StatusForbidden && request.Method == http.MethodPost:
		return response, body, nil // some proxies reject POST, so package v1 repeats the query with GET
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		return response, nil, ErrRefused
	case code == http.StatusBadGateway, code == http.StatusServiceUnavailable, code == http.StatusGatewayTimeout:
		return response, nil, fmt.Errorf("%w: status %d", ErrUnavailable, code)
	case code/100 == 3, code == http.StatusNotFound:
		return response, nil, fmt.Errorf("%w: status %d", errNotPrometheus, code)
	}
	return response, body, nil
}

// vector evaluates a PromQL expression at the time "at". vector returns the result and the server's warnings, which it
// shortens. The result omits values that are not finite.
func (s *Server) vector(ctx context.Context, expr string, at time.Time) (model.Vector, []string, error) {
	options := []v1.Option{v1.WithLimit(maxSeries + 1)}
	if deadline, ok := ctx.Deadline(); ok {
		// Prometheus does not accept durations with fractions of a second, such as 29.9s.
		options = append(options, v1.WithTimeout(max(time.Until(deadline).Truncate(time.Second), time.Second)))
	}
	value, warnings, _, err := s.api.Query(ctx, expr, at, options...)
	if err != nil {
		return nil, nil, err
	}
	result, ok := value.(model.Vector)
	switch {
	case !ok:
		return nil, nil, fmt.Errorf("%w: the result is not a vector", errNotPrometheus)
	case len(result) > maxSeries:
		return nil, nil, errTooMany
	}
	for i := range warnings {
		warnings[i] = shorten(warnings[i])
	}
	finite := result[:0]
	for _, sample := range result {
		if sample == nil {
			return nil, nil, fmt.Errorf("%w: the result contains null", errNotPrometheus)
		}
		if number := float64(sample.Value); !math.IsNaN(number) && !math.IsInf(number, 0) {
			finite = append(finite, sample)
		}
	}
	return finite, warnings, nil
}
