// Package kube is a small client of the lab's API server. The client uses the Go types of k8s.io/api. Most requests use
// JSON and a client certificate. The lab uses no clientset, because it needs only a few kinds of requests.
package kube

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"time"
)

// Client sends requests to one server as one user. Client is safe for concurrent use.
type Client struct {
	base string
	http *http.Client
}

// New returns a client for https://ADDRESS. The argument "certificates" is a directory. The client uses the client
// certificate with the given name from this directory.
func New(address, certificates, name string) (*Client, error) {
	pool, err := authority(certificates)
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(certificates, name+".crt"), filepath.Join(certificates, name+".key"))
	if err != nil {
		return nil, fmt.Errorf("read client certificate: %w", err)
	}
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, Certificates: []tls.Certificate{pair},
			MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, IdleConnTimeout: 30 * time.Second,
	}
	return &Client{base: "https://" + address, http: &http.Client{Transport: transport}}, nil
}

// StatusError is the error for an HTTP response whose status code is not 2xx.
type StatusError struct {
	Code    int
	Method  string
	Path    string
	Message string
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s %s: %d: %s", e.Method, e.Path, e.Code, e.Message)
}

// IsNotFound reports whether the error means that the object does not exist.
func IsNotFound(err error) bool { return hasCode(err, http.StatusNotFound) }

// IsConflict reports whether the server refused the request with status 409, for example because the object already
// exists.
func IsConflict(err error) bool { return hasCode(err, http.StatusConflict) }

func hasCode(err error, code int) bool {
	var status *StatusError
	return errors.As(err, &status) && status.Code == code
}

// Get reads the object or the list at a path such as /api/v1/namespaces/default.
func (c *Client) Get(ctx context.Context, path string, object any) error {
	return c.call(ctx, http.MethodGet, path, nil, object)
}

// Create creates an object. The path is the path of a collection, for example /api/v1/namespaces.
func (c *Client) Create(ctx context.Context, path string, object any) error {
	return c.call(ctx, http.MethodPost, path, object, nil)
}

// CreateInto is like Create and also stores the created object in the last argument.
func (c *Client) CreateInto(ctx context.Context, path string, object, created any) error {
	return c.call(ctx, http.MethodPost, path, object, created)
}

// Merge applies a JSON merge patch to the object at the path. A null value removes the field.
func (c *Client) Merge(ctx context.Context, path string, change any) error {
	return c.send(ctx, http.MethodPatch, "application/merge-patch+json", path, change, nil)
}

// MergeLists applies a strategic merge patch to the object at the path. The API server merges the entries of a list by
// their keys, for example conditions by their types.
func (c *Client) MergeLists(ctx context.Context, path string, change any) error {
	return c.send(ctx, http.MethodPatch, "application/strategic-merge-patch+json", path, change, nil)
}

// Delete deletes the object at the path.
func (c *Client) Delete(ctx context.Context, path string) error {
	return c.call(ctx, http.MethodDelete, path, nil, nil)
}

// Text returns the plain text at a path, for example health or metrics.
func (c *Client) Text(ctx context.Context, path string) (string, error) {
	data, err := c.raw(ctx, http.MethodGet, "", path, nil)
	return string(data), err
}

func (c *Client) call(ctx context.Context, method, path string, input, output any) error {
	return c.send(ctx, method, "application/json", path, input, output)
}

func (c *Client) send(ctx context.Context, method, contentType, path string, input, output any) error {
	var body io.Reader
	if input != nil {
		data, err := json.Marshal(input)
		if err != nil {
			return fmt.Errorf("encode the request to %s: %w", path, err)
		}
		body = bytes.NewReader(data)
	}
	data, err := c.raw(ctx, method, contentType, path, body)
	if err != nil || output == nil {
		return err
	}
	if err := json.Unmarshal(data, output); err != nil {
		return fmt.Errorf("parse the response from %s: %w", path, err)
	}
	return nil
}

// A healthy API server responds to every request of the lab within requestLimit.
const requestLimit = 15 * time.Second

func (c *Client) raw(ctx context.Context, method, contentType, path string, body io.Reader) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 64<<20))
	if err != nil {
		return nil, fmt.Errorf("read the response to %s %s: %w", method, path, err)
	}
	if response.StatusCode/100 == 2 {
		return data, nil
	}
	failed := &StatusError{Code: response.StatusCode, Method: method, Path: path,
		Message: string(bytes.TrimSpace(data))}
	var status struct {
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &status) == nil && status.Message != "" {
		failed.Message = status.Message
	}
	return nil, failed
}

// Server returns the URL of the server. A proxy in front of the server uses the methods Server and Transport.
func (c *Client) Server() string { return c.base }

// Transport returns the client's transport. The transport adds the client's credentials to requests.
func (c *Client) Transport() http.RoundTripper { return c.http.Transport }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// ApplyAnnotations sets annotations on a pod with a forced server-side apply. The argument "manager" is the field
// manager.
func (c *Client) ApplyAnnotations(ctx context.Context, namespace, pod, manager string,
	annotations map[string]string) error {
	return c.send(ctx, http.MethodPatch, "application/apply-patch+yaml",
		"/api/v1/namespaces/"+namespace+"/pods/"+pod+"?force=true&fieldManager="+manager,
		map[string]any{"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": pod, "annotations": annotations}}, nil)
}
