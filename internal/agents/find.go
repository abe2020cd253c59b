package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
)

// labels is the label selector for the pods of agents. The manifests set both labels on the pods of agents.
const labels = "app.kubernetes.io/name=podlapse,app.kubernetes.io/component=agent"

// defaultPort is the port of an agent whose pod specifies no port.
const defaultPort = 9717

// ErrNoAgent means that the search found no pod of an agent.
var ErrNoAgent = errors.New("no agent found")

// ErrNoAgentOnNode wraps ErrNoAgent, and means that the search on one node found no pod of an agent.
var ErrNoAgentOnNode = fmt.Errorf("%w on node", ErrNoAgent)

// NoAgentOn returns the error that a node has no agent in a namespace. The error wraps ErrNoAgentOnNode.
func NoAgentOn(node, namespace string) error {
	return fmt.Errorf("%w %q: no pod of podlapse runs on this node in namespace %s", ErrNoAgentOnNode,
		terminal.ShortName(node), namespace)
}

// Agent describes one agent of podlapse. Either the method Agents found the agent in a cluster, or the user gave the
// agent's address.
type Agent struct {
	client.Client
	Node  string // empty if only the agent's address is known
	Pod   string // name of the agent's pod; unique among all agents
	Ready bool
	route *route // nil if only the agent's address is known
}

// Dial opens a connection to the agent's port through the API server and the kubelet. The method Agents must have found
// the agent.
func (a Agent) Dial(ctx context.Context) (net.Conn, error) { return a.route.dial(ctx) }

// Scheme returns the scheme of the agent's port: http or https. The method Agents must have found the agent.
func (a Agent) Scheme() string { return a.route.target.Scheme }

func (a Agent) release() {
	if a.route != nil {
		a.route.release()
	}
}

// list is the response to a list request. The types list, object and pod contain only the fields that this package
// reads.
type list[O any] struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []O `json:"items"`
}

type object struct {
	Metadata struct {
		Name              string `json:"name"`
		CreationTimestamp string `json:"creationTimestamp"`
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
}

type pod struct {
	object
	Spec struct {
		NodeName   string      `json:"nodeName"`
		Containers []container `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase      string `json:"phase"`
		Conditions []struct {
			Type   string `json:"type"`
			Status string `json:"status"`
		} `json:"conditions"`
	} `json:"status"`
}

type container struct {
	Ports []struct {
		Name          string `json:"name"`
		ContainerPort int    `json:"containerPort"`
	} `json:"ports"`
	ReadinessProbe struct {
		HTTPGet struct {
			Scheme string `json:"scheme"`
		} `json:"httpGet"`
	} `json:"readinessProbe"`
}

// Agents returns one agent for each node, sorted by the nodes' names. If the argument "node" is not empty, the result
// contains only the agent of this node. If there is no agent, the error wraps ErrNoAgent. If the argument "node" is not
// empty, the error for a missing agent also wraps ErrNoAgentOnNode.
func (c *Cluster) Agents(ctx context.Context, node string) ([]Agent, error) {
	query := firstPage()
	query.Set("labelSelector", labels)
	if node != "" {
		query.Set("fieldSelector", "spec.nodeName="+node)
	}
	best := map[string]pod{}
	for {
		page, err := get[list[pod]](ctx, c, wholeObjects, query, "api", "v1", "namespaces", c.namespace, "pods")
		if expired(err) && query.Get("continue") != "" {
			query.Del("continue") // the continue token is no longer valid, so request the first page again
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the agents' pods: %w", err)
		}
		for _, p := range page.Items {
			if p.Spec.NodeName == "" || p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" {
				continue
			}
			if known, ok := best[p.Spec.NodeName]; !ok || p.isBetterThan(known) {
				best[p.Spec.NodeName] = p
			}
		}
		if page.Metadata.Continue == "" {
			break
		}
		query.Set("continue", page.Metadata.Continue)
	}
	if len(best) == 0 {
		if node != "" {
			return nil, NoAgentOn(node, c.namespace)
		}
		return nil, fmt.Errorf("%w: no pod with the labels %s runs in namespace %s", ErrNoAgent, labels, c.namespace)
	}
	var agents []Agent
	for _, p := range best {
		agents = append(agents, c.agentOf(p))
	}
	slices.SortFunc(agents, func(a, b Agent) int { return cmp.Compare(a.Node, b.Node) })
	return agents, nil
}

func expired(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusGone
}

// During a rollout, a node can have two agent pods. isBetterThan reports whether commands must query the pod p instead
// of the pod in the argument "than".
func (p pod) isBetterThan(than pod) bool {
	if a, b := p.Metadata.DeletionTimestamp == "", than.Metadata.DeletionTimestamp == ""; a != b {
		return a
	}
	if a, b := p.ready(), than.ready(); a != b {
		return a
	}
	return p.Metadata.CreationTimestamp > than.Metadata.CreationTimestamp
}

func (p pod) ready() bool {
	for _, c := range p.Status.Conditions {
		if c.Type == "Ready" {
			return c.Status == "True"
		}
	}
	return false
}

// agentOf returns the agent in the pod "p". The agent's port has the name "metrics" in the pod's specification. The
// agent uses HTTPS if the readiness probe uses HTTPS.
func (c *Cluster) agentOf(p pod) Agent {
	port, scheme := defaultPort, "http"
	for _, container := range p.Spec.Containers {
		for _, candidate := range container.Ports {
			if candidate.Name == "metrics" {
				port = candidate.ContainerPort
				if container.ReadinessProbe.HTTPGet.Scheme == "HTTPS" {
					scheme = "https"
				}
			}
		}
	}
	target := p.Metadata.Name + ":" + strconv.Itoa(port)
	if scheme == "https" {
		target = "https:" + target
	}
	proxy := url.URL{Scheme: c.server.Scheme, Host: c.server.Host}
	proxy.Path = c.address("api", "v1", "namespaces", c.namespace, "pods", target, "proxy").Path
	route := c.route(p.Metadata.Name, scheme, port, "/"+strings.TrimPrefix(proxy.Path, "/"))
	return Agent{
		Client: client.Client{Server: proxy.String(),
			HTTP: &http.Client{Transport: route, CheckRedirect: c.http.CheckRedirect}},
		Node: p.Spec.NodeName, Pod: p.Metadata.Name, Ready: p.ready(), route: route,
	}
}
