package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/podlapse/podlapse/pkg/client"
)

// labels are the labels of an agent's pod in the manifests.
const labels = "app.kubernetes.io/name=podlapse,app.kubernetes.io/component=agent"

// defaultPort is the port of an agent whose pod does not specify one.
const defaultPort = 9717

// ErrNoAgent says that no agent's pod was found.
var ErrNoAgent = errors.New("no agent")

// Agent is an agent of a cluster, or one at a given address.
type Agent struct {
	client.Client
	Node  string // empty if only its address is known
	Pod   string // of the agent; unique among all agents
	Ready bool
}

// list, object and pod hold the few fields that are used here.
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

// Agents lists the agents by node, one per node; if node is set, only that of the node. It fails
// with ErrNoAgent if there are none.
func (c *Cluster) Agents(ctx context.Context, node string) ([]Agent, error) {
	query := firstPage()
	query.Set("labelSelector", labels)
	if node != "" {
		query.Set("fieldSelector", "spec.nodeName="+node)
	}
	best := map[string]pod{}
	for {
		page, err := get[list[pod]](ctx, c, wholeObjects, query, "namespaces", c.namespace, "pods")
		if expired(err) && query.Get("continue") != "" {
			query.Del("continue") // the continue token has expired: start again
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list the agents' pods: %w", err)
		}
		for _, p := range page.Items {
			if p.Spec.NodeName == "" || p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" {
				continue
			}
			if known, ok := best[p.Spec.NodeName]; !ok || p.better(known) {
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
			return nil, fmt.Errorf("%w on node %q: no pod of podlapse there in namespace %s",
				ErrNoAgent, node, c.namespace)
		}
		return nil, fmt.Errorf("%w: no pod in namespace %s with the labels %s", ErrNoAgent, c.namespace, labels)
	}
	var agents []Agent
	for _, p := range best {
		agents = append(agents, c.agent(p))
	}
	slices.SortFunc(agents, func(a, b Agent) int { return cmp.Compare(a.Node, b.Node) })
	return agents, nil
}

func expired(err error) bool {
	var refused *client.Refusal
	return errors.As(err, &refused) && refused.Status == http.StatusGone
}

// better reports whether this pod is more likely the node's agent than another: during a rollout
// there can be two.
func (p pod) better(than pod) bool {
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

// agent reads how the pod serves from its specification: the port named metrics, and HTTPS if its
// probes use it.
func (c *Cluster) agent(p pod) Agent {
	port, scheme := defaultPort, ""
	for _, container := range p.Spec.Containers {
		for _, candidate := range container.Ports {
			if candidate.Name == "metrics" {
				port = candidate.ContainerPort
				if container.ReadinessProbe.HTTPGet.Scheme == "HTTPS" {
					scheme = "https:"
				}
			}
		}
	}
	target := scheme + p.Metadata.Name + ":" + strconv.Itoa(port)
	proxy := url.URL{Scheme: c.server.Scheme, Host: c.server.Host}
	proxy.Path = c.address("namespaces", c.namespace, "pods", target, "proxy").Path
	plain := "http"
	if scheme != "" {
		plain = "https"
	}
	reach := &http.Client{Transport: c.route(p.Metadata.Name, plain, port, "/"+strings.TrimPrefix(proxy.Path, "/")),
		CheckRedirect: c.http.CheckRedirect}
	return Agent{
		Client: client.Client{Server: proxy.String(), HTTP: reach},
		Node:   p.Spec.NodeName, Pod: p.Metadata.Name, Ready: p.ready(),
	}
}
