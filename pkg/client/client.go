// Package client queries an agent's read API (docs/api.md). The client returns pages of start-ups, single responses,
// and a stream that resumes after a broken connection. Package client imports only the standard library and packages
// api and timeline. The agent's command line and kubectl-podlapse call package client. Methods run on the caller's
// goroutine.
package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	requestTimeout = 10 * time.Second
	maxResponse    = 64 << 20 // maximum response in bytes; ten times the size of a page with the largest records
	maxPulls       = 500      // maximum number of completed pulls that agents return
	maxRecords     = 20_000   // maximum number of records in a list: ten times as many as one agent can return
)

// Client queries one agent. Callers can copy a Client. A Client is safe for concurrent use.
type Client struct {
	// Server is the URL of the agent, http://HOST:PORT, or the URL of a proxy. A proxy's URL can include a path. If the
	// agent requires a password, the form is http://USER:PASSWORD@HOST:PORT.
	Server string
	Token  string       // bearer token, as an alternative to a password; can be empty
	HTTP   *http.Client // nil for http.DefaultClient; Follow requires a client without Timeout
}

// Refusal is an error response.
type Refusal struct {
	Status int    // HTTP status code
	Word   string // the kind of error as one word; empty if the response does not contain the kind
	Reason string // one sentence for people
	// Scheme is the authentication scheme that the server requires: SchemeBearer, SchemeBasic, or another scheme.
	// Scheme is empty if the server requires no authentication.
	Scheme string
	// Kubernetes is true if the response comes from the API server and not from the agent. If Kubernetes is true, the
	// request went through the API server's proxy, and Word is the reason in the API server's Status object.
	Kubernetes bool
}

// Values of Refusal.Scheme. The values are the names of HTTP authentication schemes.
const (
	SchemeBearer = "Bearer"
	SchemeBasic  = "Basic"
)

// Error implements error.
func (r *Refusal) Error() string {
	switch {
	case r.Kubernetes:
		return fmt.Sprintf("the API server responded: %q", r.Reason)
	case r.Scheme == SchemeBasic: // an agent that requires a password sends no reason
		return "the agent requires a valid password"
	case r.Reason == "":
		return fmt.Sprintf("unexpected response %d %s: check that a podlapse agent listens at this address", r.Status,
			http.StatusText(r.Status))
	}
	return fmt.Sprintf("the agent responded: %q", r.Reason)
}

// ErrNotAnAgent means that the response does not come from an agent. Errors of this package can wrap ErrNotAnAgent,
// so compare with errors.Is.
var ErrNotAnAgent = errors.New("check that a podlapse agent listens at this address")

// Node returns the summary of the node.
func (c Client) Node(ctx context.Context) (api.NodeRecord, error) {
	return get[api.NodeRecord](ctx, c, nil, "node")
}

// NodeStartUp returns the start-up of the node itself. An agent without --node-startup responds with status 404.
func (c Client) NodeStartUp(ctx context.Context) (api.NodeStartUpRecord, error) {
	record, err := get[api.NodeStartUpRecord](ctx, c, nil, "node", "startup")
	if err == nil && record.Node == "" {
		err = c.notAnAgent("the response contains no node")
	}
	return record, err
}

// Pod returns the latest start-up of a pod with the given name.
func (c Client) Pod(ctx context.Context, namespace, name string) (api.Record, error) {
	record, err := get[api.Record](ctx, c, nil, "pods", namespace, name)
	if err == nil && record.Name == "" {
		err = c.notAnAgent("the response contains no pod")
	}
	return record, err
}

// Pods returns start-ups in order of namespace and name. Pods fetches the pages one after the other and stops after the
// first error.
func (c Client) Pods(ctx context.Context, filter Filter) iter.Seq2[api.Record, error] {
	return func(yield func(api.Record, error) bool) {
		query, received := filter.query(), 0
		for {
			page, err := get[api.PodList](ctx, c, query, "pods")
			switch {
			case err != nil:
			case page.Items == nil:
				err = c.notAnAgent("the response contains no list")
			case page.Continue != "" && (len(page.Items) == 0 || page.Continue == query.Get("continue")):
				err = c.notAnAgent("the list has no last page")
			}
			if err != nil {
				yield(api.Record{}, err)
				return
			}
			for _, record := range page.Items {
				if received++; received > maxRecords {
					yield(api.Record{}, c.notAnAgent(
						fmt.Sprintf("the response contains more than %d pods", maxRecords)))
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

// Workload returns the summary of a workload's start-ups on the agent's node. The argument "kind" is the kind of the
// pods' owner, for example Deployment or deploy. If one revision is given, the summary covers only the start-ups of
// this revision. If two revisions are given, the summary compares the second one with the first one. If no revision is
// given, the summary compares the latest two revisions. If the agent knows no start-up of the workload, it responds
// with status 404.
func (c Client) Workload(ctx context.Context, namespace, kind, name string, revisions ...string) (
	api.WorkloadRecord, error) {
	query := url.Values{}
	if len(revisions) > 0 {
		query.Set("revision", strings.Join(revisions, ","))
	}
	record, err := get[api.WorkloadRecord](ctx, c, query, "workloads", namespace, kind, name)
	if err == nil && record.Summary.Causes == nil {
		err = c.notAnAgent("the response contains no summary")
	}
	return record, err
}

// Pulls returns the image pulls in progress and the latest 500 completed pulls. If namespaces are given, Pulls returns
// only the pulls of pods in these namespaces.
func (c Client) Pulls(ctx context.Context, namespaces ...string) (api.PullList, error) {
	query := Filter{Namespaces: namespaces}.query()
	query.Set("limit", strconv.Itoa(maxPulls))
	list, err := get[api.PullList](ctx, c, query, "pulls")
	if err == nil && list.Items == nil {
		err = c.notAnAgent("the response contains no list")
	}
	return list, err
}

// Registries returns the totals of the pulls from each registry.
func (c Client) Registries(ctx context.Context) (api.RegistryList, error) {
	return get[api.RegistryList](ctx, c, nil, "registries")
}

// Totals returns the totals of the start-ups that ended between two times. If the argument "since" is zero, the time
// range begins with the oldest start-up that the agent remembers. If the argument "until" is zero, the totals also
// contain the pulls in progress and the failed pulls of start-ups in progress. If namespaces are given, the totals
// cover only the pods of these namespaces. An agent that is too old for /api/v1/totals responds with status 404.
func (c Client) Totals(ctx context.Context, since, until time.Time, namespaces ...string) (api.TotalsRecord, error) {
	query := Filter{Since: since, Namespaces: namespaces}.query()
	if !until.IsZero() {
		query.Set("until", until.Format(time.RFC3339Nano))
	}
	totals, err := get[api.TotalsRecord](ctx, c, query, "totals")
	if err == nil && totals.Registries == nil {
		err = c.notAnAgent("the response contains no totals")
	}
	return totals, err
}

// Phases returns the cause and the meaning of each phase. An agent that is too old for /api/v1/phases responds with
// status 404.
func (c Client) Phases(ctx context.Context) (api.PhaseList, error) {
	list, err := get[api.PhaseList](ctx, c, nil, "phases")
	if err == nil && list.Items == nil {
		err = c.notAnAgent("the response contains no list")
	}
	return list, err
}

// Evidence returns the quality of the agent's evidence, for example the number of start-ups with missing evidence.
func (c Client) Evidence(ctx context.Context) (api.EvidenceRecord, error) {
	return get[api.EvidenceRecord](ctx, c, nil, "evidence")
}

// Objects returns the cached pod objects as a Kubernetes PodList, with the state of the cache as an additional field
// (docs/api.md). Objects uses only the filter's fields Namespaces, Name and LabelSelector. An agent that keeps no
// objects responds with status 404.
func (c Client) Objects(ctx context.Context, filter Filter) ([]byte, error) {
	return c.getBody(ctx, filter.query(), "objects", "pods")
}

// Trace returns one start-up as JSON in the Chrome trace format, for Perfetto.
func (c Client) Trace(ctx context.Context, namespace, name string) ([]byte, error) {
	return c.getBody(ctx, nil, "pods", namespace, name, "trace")
}

func get[A any](ctx context.Context, c Client, query url.Values, path ...string) (A, error) {
	var decoded A
	body, err := c.getBody(ctx, query, path...)
	if err != nil {
		return decoded, err
	}
	if err := json.Unmarshal(body, &decoded); err != nil {
		return decoded, fmt.Errorf("read the response from %s: %w; %w", c.serverHost(), err, ErrNotAnAgent)
	}
	return decoded, nil
}

// notAnAgent returns the error for a response that does not come from an agent.
func (c Client) notAnAgent(what string) error {
	return fmt.Errorf("read the response from %s: %s; %w", c.serverHost(), what, ErrNotAnAgent)
}

// serverHost returns the server's address without a password.
func (c Client) serverHost() string {
	server, err := url.Parse(c.Server)
	if err != nil {
		return "the agent"
	}
	return server.Host
}

func (c Client) getBody(ctx context.Context, query url.Values, path ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	response, err := c.send(ctx, nil, query, path...)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var body []byte
	if response.ContentLength <= maxResponse { // the length is −1 if the agent does not send it
		body, err = io.ReadAll(io.LimitReader(response.Body, maxResponse+1))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the agent's response: %w", err)
	case response.ContentLength > maxResponse, len(body) > maxResponse:
		return nil, fmt.Errorf("read the agent's response: the response exceeds %d bytes", maxResponse)
	}
	return body, nil
}

// send returns an error for every status except 200. The caller must close the body of the response.
func (c Client) send(
	ctx context.Context, header http.Header, query url.Values, path ...string,
) (*http.Response, error) {
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
		return nil, fmt.Errorf("create request: %w", err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	response, err := cmp.Or(c.HTTP, http.DefaultClient).Do(request)
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

// NewRefusal parses an error response of an agent or of the API server.
func NewRefusal(status int, header http.Header, body []byte) *Refusal {
	var problem struct {
		api.Problem
		Kind    string `json:"kind"` // "Status" in an error response of the API server
		Message string `json:"message"`
	}
	scheme, _, _ := strings.Cut(header.Get("WWW-Authenticate"), " ")
	refused := &Refusal{Status: status, Scheme: scheme}
	switch err := json.Unmarshal(body, &problem); {
	case err != nil:
	case problem.Kind == "Status":
		refused.Word, refused.Reason, refused.Kubernetes = problem.Reason, problem.Message, true
	default:
		refused.Word, refused.Reason = problem.Error, problem.Reason
	}
	return refused
}
