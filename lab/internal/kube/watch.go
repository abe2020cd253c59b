package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// WatchPods calls seen for each state of a namespace's pods, with when the news arrived, from those
// that are there on. It blocks until ctx ends, which is no error, or the watch breaks.
func (c *Client) WatchPods(ctx context.Context, namespace string, seen func(pod corev1.Pod, arrivedAt time.Time)) error {
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
		return fmt.Errorf("watch pods: %s", response.Status)
	}
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
			seen(news.Object, time.Now())
		case watch.Error:
			return fmt.Errorf("watch pods: the server ended it")
		}
	}
}

func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("watch pods: %w", err)
}
