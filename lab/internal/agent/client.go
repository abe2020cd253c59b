package agent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Client sends requests to one agent.
type Client struct {
	Server string // for example http://127.0.0.1:9717
}

// Timeline returns the timeline of one pod.
func (c Client) Timeline(ctx context.Context, namespace, name string) (Timeline, error) {
	var timeline Timeline
	data, err := c.get(ctx, "/api/v1/pods/"+namespace+"/"+name)
	if err != nil {
		return Timeline{}, err
	}
	if err := decode(data, &timeline); err != nil {
		return Timeline{}, err
	}
	timeline.Raw = data
	return timeline, nil
}

// Termination returns the termination of one pod.
func (c Client) Termination(ctx context.Context, namespace, name string) (end Termination, err error) {
	data, err := c.get(ctx, "/api/v1/pods/"+namespace+"/"+name)
	if err != nil {
		return Termination{}, err
	}
	var response struct {
		Termination Termination `json:"termination"`
	}
	err = decode(data, &response)
	return response.Termination, err
}

// Timelines returns the timelines of all pods that the agent knows.
func (c Client) Timelines(ctx context.Context) ([]Timeline, error) { return c.timelines(ctx, "") }

// Starting returns the timelines of the pods that are starting.
func (c Client) Starting(ctx context.Context) ([]Timeline, error) {
	return c.timelines(ctx, "&state=starting")
}

func (c Client) timelines(ctx context.Context, filter string) ([]Timeline, error) {
	var all []Timeline
	for page := ""; ; {
		var list struct {
			Items    []Timeline `json:"items"`
			Continue string     `json:"continue"`
		}
		data, err := c.get(ctx, "/api/v1/pods?limit=500"+filter+"&continue="+page)
		if err != nil {
			return nil, err
		}
		if err := decode(data, &list); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
		if page = list.Continue; page == "" {
			return all, nil
		}
	}
}

// Page is one page of a list.
type Page struct {
	Items    int
	Continue string // token of the next page; empty if this is the last page
}

// Page requests one page of the list at a path, with at most "limit" items. For the first page, the token is empty.
func (c Client) Page(ctx context.Context, path string, limit int, token string) (Page, error) {
	var list struct {
		Items    []json.RawMessage `json:"items"`
		Continue string            `json:"continue"`
	}
	data, err := c.get(ctx, fmt.Sprintf("%s?limit=%d&continue=%s", path, limit, url.QueryEscape(token)))
	if err == nil {
		err = decode(data, &list)
	}
	return Page{len(list.Items), list.Continue}, err
}

// Pulls returns the pulls in progress.
func (c Client) Pulls(ctx context.Context) ([]Live, error) {
	var list struct {
		Items []Live `json:"items"`
	}
	data, err := c.get(ctx, "/api/v1/pulls")
	if err != nil {
		return nil, err
	}
	if err := decode(data, &list); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// Metrics returns the agent's metrics in the Prometheus text format.
func (c Client) Metrics(ctx context.Context) (string, error) {
	data, err := c.get(ctx, "/metrics")
	return string(data), err
}

// Objects contains the pod objects that the agent serves.
type Objects struct {
	Cache struct {
		// time of the latest comparison with the API server; zero if there was no comparison
		VerifiedAt time.Time `json:"verified_at"`
	} `json:"cache"`
	Items []corev1.Pod `json:"items"`
}

// Objects returns the pod objects of a namespace.
func (c Client) Objects(ctx context.Context, namespace string) (objects Objects, err error) {
	data, err := c.get(ctx, "/api/v1/objects/pods?namespace="+namespace)
	if err != nil {
		return Objects{}, err
	}
	return objects, decode(data, &objects)
}

// Health returns the agent's report about the health of its parts. If the agent is not ready, Health returns an error.
func (c Client) Health(ctx context.Context) (string, error) {
	data, err := c.get(ctx, "/readyz?verbose")
	return string(data), err
}

func decode(data []byte, value any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(value); err != nil {
		return fmt.Errorf("parse the agent's response: %w", err)
	}
	return nil
}

func (c Client) get(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Server+path, nil)
	if err != nil {
		return nil, fmt.Errorf("query the agent: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("query the agent: %w", err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("query the agent: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("query the agent for %s: %s: %s", path, response.Status, bytes.TrimSpace(data))
	}
	return data, nil
}
