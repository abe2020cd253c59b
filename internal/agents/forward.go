package agents

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/podlapse/podlapse/pkg/client"
)

const (
	// forwardIdle is how long a forwarded connection stays open between two requests.
	forwardIdle = 30 * time.Second
	maxProblem  = 64 << 10 // bytes of an error response
	// notLocal is the error word of agents that serve data about pods over loopback only.
	notLocal = "not_local"
)

// route reaches one agent: through the API server's proxy to pods or, if the agent names pods over
// loopback only, through a port that the API server and the kubelet forward, as kubectl
// port-forward does. It is safe for concurrent use.
type route struct {
	proxy   http.RoundTripper // to the API server, with the kubeconfig's credentials
	prefix  string            // the path of the proxy, before the agent's own
	target  url.URL           // the agent's address over the forwarded port
	forward *http.Transport
	local   atomic.Bool // the agent responded notLocal
}

func (c *Cluster) newRoute(pod, scheme string, port int, prefix string) *route {
	proxy := c.http.Transport
	if proxy == nil {
		proxy = http.DefaultTransport
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return c.dial(ctx, pod, port) }
	return &route{
		proxy: proxy, prefix: prefix,
		target: url.URL{Scheme: scheme, Host: net.JoinHostPort("localhost", strconv.Itoa(port))},
		forward: &http.Transport{
			DialContext: dial, IdleConnTimeout: forwardIdle, MaxIdleConnsPerHost: 1,
			// The API server authenticated the node, and the kubelet knows the pod; the proxy does
			// not check certificates either.
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // see above
		},
	}
}

// RoundTrip implements http.RoundTripper.
func (r *route) RoundTrip(request *http.Request) (*http.Response, error) {
	if !r.local.Load() {
		response, err := r.proxy.RoundTrip(request)
		if err != nil || response.StatusCode != http.StatusForbidden || !saysNotLocal(response) {
			return response, err
		}
		_ = response.Body.Close()
		r.local.Store(true)
	}
	forwarded := request.Clone(request.Context())
	forwarded.URL.Scheme, forwarded.URL.Host, forwarded.Host = r.target.Scheme, r.target.Host, ""
	forwarded.URL.Path = strings.TrimPrefix(request.URL.Path, r.prefix)
	forwarded.URL.RawPath = strings.TrimPrefix(request.URL.RawPath, r.prefix)
	return r.forward.RoundTrip(forwarded)
}

// saysNotLocal reads the response and keeps it readable.
func saysNotLocal(response *http.Response) bool {
	body, err := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	rest := response.Body
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(body), rest), rest}
	var problem struct {
		Error string `json:"error"`
	}
	return err == nil && json.Unmarshal(body, &problem) == nil && problem.Error == notLocal
}

// dial forwards a connection to a port of an agent's pod, over WebSocket, which the kubelet
// supports as an alternative to SPDY: a message begins with the byte of its channel, 0 for data and
// 1 for errors, and the first message of each channel contains the port.
func (c *Cluster) dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	address := c.address("namespaces", c.namespace, "pods", pod, "portforward")
	address.RawQuery = url.Values{"ports": {strconv.Itoa(port)}}.Encode()
	upgrading := *c.http
	upgrading.Transport = upgradesOnly{cmp.Or(c.http.Transport, http.DefaultTransport)}
	conn, response, err := websocket.Dial(ctx, address.String(), &websocket.DialOptions{
		HTTPClient: &upgrading, Subprotocols: []string{"v4.channel.k8s.io"},
	})
	var refused *client.Refusal
	switch {
	case err == nil:
		return newTunnel(conn), nil
	case errors.As(err, &refused):
		return nil, fmt.Errorf("port-forward to pod %s/%s: %w", c.namespace, pod, refused)
	case response == nil:
		return nil, fmt.Errorf("port-forward to pod %s/%s: %w", c.namespace, pod, err)
	}
	return nil, fmt.Errorf("port-forward to pod %s/%s: the API server does not support WebSocket", c.namespace, pod)
}

// upgradesOnly returns every response that does not switch protocols as a *client.Refusal, with all of its text.
type upgradesOnly struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (u upgradesOnly) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := u.RoundTripper.RoundTrip(request)
	if err != nil || response.StatusCode == http.StatusSwitchingProtocols {
		return response, err
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxProblem))
	refused := client.NewRefusal(response.StatusCode, response.Header, body)
	refused.Kubernetes = true
	return nil, refused
}
