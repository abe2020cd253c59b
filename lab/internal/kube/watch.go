package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// WatchPods watches the pods of a namespace. WatchPods calls the function "opened" once, when the watch is open. Then
// WatchPods calls the function "seen" for each state of a pod. The argument
// "arrivedAt" is the time when WatchPods received this state. The first calls of "seen" report the existing pods. The
// last call for a deleted pod reports its deletion. WatchPods blocks until ctx ends or the watch fails. If ctx ends,
// WatchPods returns nil.
func (c *Client) WatchPods(ctx context.Context, namespace string, opened func(),
	seen func(pod corev1.Pod, gone bool, arrivedAt time.Time)) error {
	path := "/api/v1/namespaces/" + namespace + "/pods?watch=1"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return ended(ctx, err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("watch pods: the API server responded with %s", response.Status)
	}
	opened()
	for lines := json.NewDecoder(response.Body); ; {
		var news struct {
			Type   watch.EventType `json:"type"`
			Object corev1.Pod      `json:"object"`
		}
		if err := lines.Decode(&news); err != nil {
			return ended(ctx, err)
		}
		switch news.Type {
		case watch.Added, watch.Modified, watch.Deleted:
			seen(news.Object, news.Type == watch.Deleted, time.Now())
		case watch.Error:
			return fmt.Errorf("watch pods: the API server sent a watch event of type ERROR")
		}
	}
}

// FollowNode keeps a watch on the pods of a node open, as a kubelet does. FollowNode sends the same request as a
// client-go reflector that requests protobuf. FollowNode copies the response to the given writer. The API server can
// end the watch, for example because the writer is slow. FollowNode then opens a new watch. FollowNode calls the
// function "opened" each time a watch opens. FollowNode blocks until ctx ends or a request fails. If ctx ends,
// FollowNode returns nil.
func (c *Client) FollowNode(ctx context.Context, node string, into io.Writer, opened func()) error {
	query := url.Values{"watch": {"true"}, "fieldSelector": {"spec.nodeName=" + node}, "allowWatchBookmarks": {"true"},
		"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}}
	path := func() (string, error) { return "/api/v1/pods?" + query.Encode(), nil }
	if err := c.follow(ctx, path, into, opened); err != nil {
		return fmt.Errorf("watch pods: %w", err)
	}
	return nil
}

// FollowEvents keeps a watch open on the Events of a namespace that match a field selector. Each watch begins at the
// current resource version. If a watch had no resource version, the API server would first read all Events of the
// namespace. FollowEvents and FollowNode differ only in their requests.
func (c *Client) FollowEvents(ctx context.Context, namespace, selector string, into io.Writer, opened func()) error {
	events := "/api/v1/namespaces/" + namespace + "/events?"
	path := func() (string, error) {
		var list metav1.PartialObjectMetadataList
		if err := c.Get(ctx, events+"limit=1", &list); err != nil {
			return "", err
		}
		return events + url.Values{"watch": {"true"}, "fieldSelector": {selector},
			"resourceVersion": {list.ResourceVersion}}.Encode(), nil
	}
	if err := c.follow(ctx, path, into, opened); err != nil {
		return fmt.Errorf("watch Events: %w", err)
	}
	return nil
}

// follow opens a new watch each time the previous watch ends. follow returns when ctx ends or a request fails. The
// function "path" returns the path of the next watch.
func (c *Client) follow(ctx context.Context, path func() (string, error), into io.Writer, opened func()) error {
	for ctx.Err() == nil {
		next, err := path()
		if err == nil {
			err = c.followOnce(ctx, next, into, opened)
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (c *Client) followOnce(ctx context.Context, path string, into io.Writer, opened func()) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+path, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/vnd.kubernetes.protobuf,application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	opened()
	_, _ = io.Copy(into, response.Body) // ignore the error, because the caller opens a new watch
	return nil
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch pods: %w", err)
}
