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

	"github.com/podlapse/podlapse/pkg/client"
)

const (
	// maxAnswer limits an answer of the API server, in bytes. A page of pods has a tenth of that size.
	maxAnswer = 64 << 20
	pageSize  = 500
)

// ErrNotBound says that a pod has no node yet, so that no agent can know it.
var ErrNotBound = errors.New("is not bound to a node yet")

// Cluster queries one API server. It is safe for concurrent use.
type Cluster struct {
	server    *url.URL
	http      *http.Client
	namespace string // of the agents

	learned experience
	mu      sync.Mutex
	routes  map[string]*route // to agents, by the path of the proxy
}

// Open creates a Cluster from a kubeconfig's settings and the namespace of the agents. Open does not connect.
func Open(config *rest.Config, namespace string) (*Cluster, error) {
	server, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, fmt.Errorf("read the API server's address: %w", err)
	}
	config = rest.CopyConfig(config)
	config.Timeout = 0 // a timeout would end streams too; every request here has its own context
	transport, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("set up requests to the API server: %w", err)
	}
	asking := *transport // the original may be shared
	// The transport adds the kubeconfig's token to every request, whatever the target. An agent must not be able to
	// redirect such a request.
	asking.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Cluster{server: server, http: &asking, namespace: namespace, routes: map[string]*route{}}, nil
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

// Fallback returns why agents were reached over port-forwards instead of the API server's proxy. It is empty if the
// proxy reached them, and if the agents accept only loopback clients.
func (c *Cluster) Fallback() string {
	c.learned.mu.Lock()
	defer c.learned.mu.Unlock()
	return c.learned.fallback
}

// route returns the route to an agent's pod. The route remembers how the agent was reached.
func (c *Cluster) route(pod, scheme string, port int, prefix string) *route {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.routes[prefix] == nil {
		c.routes[prefix] = c.newRoute(pod, scheme, port, prefix)
	}
	return c.routes[prefix]
}

// NodeOf returns the node of a pod. NodeOf fails with ErrNotBound if the pod has no node, and with a *client.Refusal of
// status 404 if the pod does not exist.
func (c *Cluster) NodeOf(ctx context.Context, namespace, name string) (string, error) {
	pod, err := get[pod](ctx, c, wholeObjects, nil, "namespaces", namespace, "pods", name)
	if err != nil {
		return "", fmt.Errorf("get pod %s/%s: %w", namespace, name, err)
	}
	if pod.Spec.NodeName == "" {
		return "", fmt.Errorf("pod %s/%s %w", namespace, name, ErrNotBound)
	}
	return pod.Spec.NodeName, nil
}

// Namespaces lists the names of at most 500 namespaces.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	return c.names(ctx, "namespaces")
}

// Pods lists the names of at most 500 pods of a namespace.
func (c *Cluster) Pods(ctx context.Context, namespace string) ([]string, error) {
	return c.names(ctx, "namespaces", namespace, "pods")
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

// The requested media types.
const (
	wholeObjects = "application/json"
	namesOnly    = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// get requests a path below /api/v1.
func get[A any](ctx context.Context, c *Cluster, accept string, query url.Values, path ...string) (A, error) {
	var answer A
	address := c.address(path...)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return answer, fmt.Errorf("make request: %w", err)
	}
	request.Header.Set("Accept", accept)
	response, err := c.http.Do(request)
	if err != nil {
		return answer, fmt.Errorf("query the API server: %w", err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer, fmt.Errorf("read the API server's answer: %w", err)
	case len(body) > maxAnswer:
		return answer, fmt.Errorf("read the API server's answer: exceeds %d bytes", maxAnswer)
	case response.StatusCode != http.StatusOK:
		refused := client.NewRefusal(response.StatusCode, response.Header, body)
		refused.Kubernetes = true
		return answer, refused
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("read the API server's answer: %w", err)
	}
	return answer, nil
}

func (c *Cluster) address(path ...string) *url.URL {
	segments := []string{"api", "v1"}
	for _, segment := range path {
		segments = append(segments, url.PathEscape(segment))
	}
	return c.server.JoinPath(segments...)
}
