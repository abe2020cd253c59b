// Package client asks an agent's read API (docs/api.md): pages of start-ups, single answers, and a stream that goes on when a connection
// breaks. It needs only package net/http and the records of package export.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/export"
)

const (
	askTimeout = 10 * time.Second
	maxAnswer  = 64 << 20 // bytes; a page of the largest records is a tenth of it
	maxRecords = 20_000   // of one agent, which knows a tenth of it
)

// Client asks one agent. It is a value and safe for concurrent use.
type Client struct {
	// Server is where the agent is: http://HOST:PORT, or wherever a proxy has it, with a path. Where it wants a password,
	// http://USER:PASSWORD@HOST:PORT.
	Server string
	Token  string       // shown as a bearer token, instead of a password; empty for none
	HTTP   *http.Client // nil for http.DefaultClient; it must have no Timeout for Follow
}

// Refusal is an answer that is an error.
type Refusal struct {
	Status int
	Word   string // for programs; empty when it was no agent that answered
	Reason string // for people
	// Wants is how the server wants to know who asks, WantsToken or WantsPassword, or in another
	// way; empty if it did not ask.
	Wants string
	// Kubernetes says that the API server answered, through whose proxy the agent was asked; Word
	// is the reason of its Status then.
	Kubernetes bool
}

// What servers want, as the schemes of HTTP authentication are called.
const (
	WantsToken    = "Bearer"
	WantsPassword = "Basic"
)

// Error implements error.
func (r *Refusal) Error() string {
	switch {
	case r.Kubernetes:
		return fmt.Sprintf("the API server says: %q", r.Reason)
	case r.Wants == WantsPassword: // whoever asks for it says nothing that an agent would
		return "the agent requires a valid password"
	case r.Reason == "":
		return fmt.Sprintf("answer %d %s: is this a podlapse agent?", r.Status, http.StatusText(r.Status))
	}
	return fmt.Sprintf("the agent says: %q", r.Reason)
}

// ErrNotAnAgent is wrapped when an answer is not one that an agent gives.
var ErrNotAnAgent = errors.New("is this a podlapse agent?")

// Node asks for the node in numbers.
func (c Client) Node(ctx context.Context) (export.NodeRecord, error) {
	return get[export.NodeRecord](ctx, c, nil, "node")
}

// Pod asks for one start-up: the latest of that name.
func (c Client) Pod(ctx context.Context, namespace, name string) (export.Record, error) {
	record, err := get[export.Record](ctx, c, nil, "pods", namespace, name)
	if err == nil && record.Name == "" {
		err = c.isNone("it contains no pod")
	}
	return record, err
}

// Pods asks for start-ups, page after page, in the order of namespace and name. It ends with the first error.
func (c Client) Pods(ctx context.Context, filter Filter) iter.Seq2[export.Record, error] {
	return func(yield func(export.Record, error) bool) {
		query, told := filter.query(), 0
		for {
			page, err := get[export.PodList](ctx, c, query, "pods")
			switch {
			case err != nil:
			case page.Items == nil:
				err = c.isNone("it contains no list")
			case page.Continue != "" && (len(page.Items) == 0 || page.Continue == query.Get("continue")):
				err = c.isNone("the list does not end")
			}
			if err != nil {
				yield(export.Record{}, err)
				return
			}
			for _, record := range page.Items {
				if told++; told > maxRecords {
					yield(export.Record{}, c.isNone(fmt.Sprintf("more than %d pods", maxRecords)))
					return
				}
				if !yield(record, nil) {
					return
				}
			}
			if page.Continue == "" {
				return
			}
			query.Set("continue", page.Continue)
		}
	}
}

// Pulls asks for the image pulls that go on, and the latest that are over.
func (c Client) Pulls(ctx context.Context) (export.PullList, error) {
	list, err := get[export.PullList](ctx, c, nil, "pulls")
	if err == nil && list.Items == nil {
		err = c.isNone("it contains no list")
	}
	return list, err
}

// Registries asks for what the pulls add up to.
func (c Client) Registries(ctx context.Context) (export.RegistryList, error) {
	return get[export.RegistryList](ctx, c, nil, "registries")
}

// Evidence asks how well the agent sees.
func (c Client) Evidence(ctx context.Context) (export.EvidenceRecord, error) {
	return get[export.EvidenceRecord](ctx, c, nil, "evidence")
}

// Objects asks for the cached pod objects, as a PodList of Kubernetes with the state of the cache
// beside (docs/api.md). Of the filter only Namespaces, Name and LabelSelector are known here. An
// agent that keeps none refuses with status 404.
func (c Client) Objects(ctx context.Context, filter Filter) ([]byte, error) {
	return c.ask(ctx, filter.query(), "objects", "pods")
}

// Trace asks for one start-up as Chrome trace JSON, for Perfetto.
func (c Client) Trace(ctx context.Context, namespace, name string) ([]byte, error) {
	return c.ask(ctx, nil, "pods", namespace, name, "trace")
}

func get[A any](ctx context.Context, c Client, query url.Values, path ...string) (A, error) {
	var answer A
	body, err := c.ask(ctx, query, path...)
	if err != nil {
		return answer, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return answer, fmt.Errorf("read the answer of %s: %w; %w", c.host(), err, ErrNotAnAgent)
	}
	return answer, nil
}

// isNone is the error of an answer that no agent gives.
func (c Client) isNone(what string) error {
	return fmt.Errorf("read the answer of %s: %s; %w", c.host(), what, ErrNotAnAgent)
}

// host is the server without its password.
func (c Client) host() string {
	server, err := url.Parse(c.Server)
	if err != nil {
		return "the agent"
	}
	return server.Host
}

func (c Client) ask(ctx context.Context, query url.Values, path ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	response, err := c.send(ctx, nil, query, path...)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the agent's answer: %w", err)
	case len(body) > maxAnswer:
		return nil, fmt.Errorf("read the agent's answer: exceeds %d bytes", maxAnswer)
	}
	return body, nil
}

// send fails for every answer but 200. The caller must close the body.
func (c Client) send(ctx context.Context, header http.Header, query url.Values, path ...string) (*http.Response,
	error) {
	server, err := url.Parse(c.Server)
	if err != nil || server.Host == "" {
		return nil, fmt.Errorf("invalid address %q: must be http://HOST:PORT", c.Server)
	}
	segments := []string{"api", "v1"}
	for _, segment := range path {
		segments = append(segments, url.PathEscape(segment))
	}
	address := server.JoinPath(segments...)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("query the agent: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, refusal(response)
	}
	return response, nil
}

func refusal(response *http.Response) error {
	const maxReason = 64 << 10
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReason))
	if err != nil {
		body = nil
	}
	return NewRefusal(response.StatusCode, response.Header, body)
}

// NewRefusal reads an answer that is an error, of an agent or of the API server.
func NewRefusal(status int, header http.Header, body []byte) *Refusal {
	var problem struct {
		export.Problem
		Kind    string `json:"kind"` // of a Status of Kubernetes
		Message string `json:"message"`
	}
	wants, _, _ := strings.Cut(header.Get("WWW-Authenticate"), " ")
	refused := &Refusal{Status: status, Wants: wants}
	switch err := json.Unmarshal(body, &problem); {
	case err != nil:
	case problem.Kind == "Status":
		refused.Word, refused.Reason, refused.Kubernetes = problem.Reason, problem.Message, true
	default:
		refused.Word, refused.Reason = problem.Error, problem.Reason
	}
	return refused
}
