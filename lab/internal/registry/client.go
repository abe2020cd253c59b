package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// Client sends requests to the control address of a running registry.
type Client struct {
	Address string // host:port
}

// Healthy returns nil if the registry serves requests.
func (c Client) Healthy(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/healthz", nil, nil)
}

// SetRules replaces all rules of the registry. If there are no rules, the registry injects no faults.
func (c Client) SetRules(ctx context.Context, rules ...Rule) error {
	if rules == nil {
		rules = []Rule{}
	}
	return c.call(ctx, http.MethodPut, "/rules", rules, nil)
}

// Log returns the requests for all repositories that match the pattern.
func (c Client) Log(ctx context.Context, pattern string) ([]Access, error) {
	var accesses []Access
	err := c.call(ctx, http.MethodGet, "/log?repository="+url.QueryEscape(pattern), nil, &accesses)
	return accesses, err
}

// Forget removes the blobs of all repositories that match the pattern.
func (c Client) Forget(ctx context.Context, pattern string) error {
	return c.call(ctx, http.MethodDelete, "/blobs?repository="+url.QueryEscape(pattern), nil, nil)
}

func (c Client) call(ctx context.Context, method, path string, input, output any) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var body io.Reader
	if input != nil {
		data, err := json.Marshal(input)
		if err != nil {
			return fmt.Errorf("encode the request to the registry: %w", err)
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+c.Address+path, body)
	if err != nil {
		return fmt.Errorf("query the registry: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("query the registry: %w", err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return fmt.Errorf("query the registry: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("query the registry for %s %s: %s: %s", method, path, response.Status, bytes.TrimSpace(data))
	}
	if output == nil {
		return nil
	}
	if err := json.Unmarshal(data, output); err != nil {
		return fmt.Errorf("parse the registry's response: %w", err)
	}
	return nil
}
