package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/coder/websocket"

	"github.com/podlapse/podlapse/pkg/client"
)

// maxProblem is the maximum number of bytes that the package reads from an error response.
const maxProblem = 64 << 10

// dial opens a connection to a port of an agent's pod. The API server and the kubelet forward the connection over
// WebSocket. Each message begins with a byte that names the channel: 0 for data, 1 for errors. The first message of
// each channel contains the port.
func (c *Cluster) dial(ctx context.Context, pod string, port int) (net.Conn, error) {
	address := c.address("api", "v1", "namespaces", c.namespace, "pods", pod, "portforward")
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

// upgradesOnly accepts only responses with the status 101 (Switching Protocols). For every other response, the error
// is a *client.Refusal that contains the text of the response.
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
	if refused.Reason == "" { // the API server forwards the kubelet's error as plain text
		line, _, _ := strings.Cut(strings.TrimSpace(string(body)), "\n")
		refused.Reason = strings.TrimSuffix(fmt.Sprintf("%s: %s", response.Status, line), ": ")
	}
	return nil, refused
}
