package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
)

const (
	// maxResponse is the maximum size of a response of the API server, in bytes. The limit prevents a faulty response
	// from using all memory. A typical page of pods is about a tenth of maxResponse, so a page of unusually large pods
	// also fits.
	maxResponse = 64 << 20
	// pageSize is the maximum number of objects in a list. kubectl's default is also 500 (--chunk-size).
	pageSize = 500
)

// ErrNoResponse means that a request to the API server failed without a response.
var ErrNoResponse = errors.New("the request to the API server failed")

// ErrNotBound means that a pod has no node yet. Agents know only pods that have a node.
var ErrNotBound = errors.New("the pod is not bound to a node yet")

// Cluster finds agents, pods and namespaces through one API server. A Cluster is safe for concurrent use.
type Cluster struct {
	server    *url.URL
	http      *http.Client
	namespace string // namespace of the agents

	learned experience
	mu      sync.Mutex
	routes  map[string]*route // routes to agents; each key is the path of one agent in the API server's proxy
}

// Open creates a Cluster for the agents in a namespace, with the settings of a kubeconfig. Open does not connect to the
// API server.
func Open(config *rest.Config, namespace string) (*Cluster, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	config = rest.CopyConfig(config)
	// A timeout of the client would also end streams. All requests except streams have a context with a deadline.
	config.Timeout = 0
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("create the HTTP client for the API server: %w", err)
	}
	client := *transport // a copy, because other code can share the original
	// The transport adds the kubeconfig's token to every request, even to a request to another server. Without
	// CheckRedirect, a redirect from an agent could send the token to another server.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Cluster{server: server, http: &client, namespace: namespace, routes: map[string]*route{}}, nil
}

// Close closes idle connections.
func (c *Cluster) Close() {
	c.http.CloseIdleConnections()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.routes {
		r.release()
	}
}

// Fallback returns the reason why requests used port-forwards instead of the API server's proxy. Fallback returns "" if
// the proxy reached the agents. Fallback also returns "" if requests used port-forwards only because the agents accept
// only loopback clients.
func (c *Cluster) Fallback() string {
	c.learned.mu.Lock()
	defer c.learned.mu.Unlock()
	return c.learned.fallback
}

// route returns the route to an agent's pod. Each pod has only one route, because the route remembers whether the
// proxy or a port-forward reaches the agent.
func (c *Cluster) route(pod, scheme string, port int, prefix string) *route {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.routes[prefix] == nil {
		c.routes[prefix] = c.newRoute(pod, scheme, port, prefix)
	}
	return c.routes[prefix]
}

// NodeOf returns the node of a pod. If the pod has no node, NodeOf fails with ErrNotBound. If the pod does not exist,
// the error is a *client.Refusal with the status 404.
func (c *Cluster) NodeOf(ctx context.Context, namespace, name string) (string, error) {
	pod, err := get[pod](ctx, c, wholeObjects, nil, "api", "v1", "namespaces", namespace, "pods", name)
	if err != nil {
		return "", fmt.Errorf("get pod %s/%s: %w", terminal.ShortName(namespace), terminal.ShortName(name), err)
	}
	if pod.Spec.NodeName == "" {
		return "", fmt.Errorf("pod %s/%s: %w", terminal.ShortName(namespace), terminal.ShortName(name), ErrNotBound)
	}
	return pod.Spec.NodeName, nil
}

// Namespaces returns the names of at most 500 namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	return c.names(ctx, "api", "v1", "namespaces")
}

// Pods returns the names of at most 500 pods of a namespace.
func (c *Cluster) Pods(ctx context.Context, namespace string) ([]string, error) {
	return c.names(ctx, "api", "v1", "namespaces", namespace, "pods")
}

func (c *Cluster) names(ctx context.Context, path ...string) ([]string, error) {
	objects, err := get[list[object]](ctx, c, namesOnly, firstPage(), path...)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", path[len(path)-1], err)
	}
	var names []string
	for _, o := range objects.Items {
		names = append(names, o.Metadata.Name)
	}
	return names, nil
}

func firstPage() url.Values { return url.Values{"limit": {fmt.Sprint(pageSize)}} }

// Media types in the header Accept of a request.
const (
	wholeObjects = "application/json"
	namesOnly    = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// get requests a path of the API server and decodes the response.
func get[A any](ctx context.Context, c *Cluster, accept string, query url.Values, path ...string) (A, error) {
	address := c.address(path...)
	address.RawQuery = query.Encode()
	var decoded A
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return decoded, fmt.Errorf("create the request to the API server: %w", err)
	}
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return decoded, fmt.Errorf("%w: %w", ErrNoResponse, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	switch {
	case err != nil:
		return decoded, fmt.Errorf("read the API server's response: %w", err)
	case len(body) > maxResponse:
		return decoded, fmt.Errorf("read the API server's response: the response exceeds %d bytes", maxResponse)
	case response.StatusCode != http.StatusOK:
		refused := client.NewRefusal(response.StatusCode, response.Header, body)
		refused.Kubernetes = true
		return decoded, refused
	}
	if err := json.Unmarshal(body, &decoded); err != nil {
		return decoded, fmt.Errorf("read the API server's response: %w", err)
	}
	return decoded, nil
}

// address returns the URL of a path on the API server.
func (c *Cluster) address(path ...string) *url.URL {
	var segments []string
	for _, segment := range path {
		segments = append(segments, url.PathEscape(segment))
	}
	return c.server.JoinPath(segments...)
}
