package node

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/kubeclient"
)

const remedy = "allow the ServiceAccount to list and watch nodes, or use --node-health=off"

// WatchConfig is what Watch needs. Every field is required.
type WatchConfig struct {
	Client   rest.Interface
	NodeName string
	// Seen gets the Node object whenever it may have changed, and nil if there is none, one at a
	// time and in order. It must not keep or change the object.
	Seen   func(*corev1.Node)
	Report health.Report
}

// Watch follows the Node object of the agent's node. It keeps nothing.
type Watch struct {
	config   WatchConfig
	resource kubeclient.Resource
}

// NewWatch does nothing before Run.
func NewWatch(config WatchConfig) *Watch {
	return &Watch{config, kubeclient.Resource{Client: config.Client, Name: "nodes"}}
}

// Run follows until ctx ends and then returns nil; it never fails. It may be called once.
func (w *Watch) Run(ctx context.Context) error {
	for failures := 0; ; failures++ {
		received, err := w.follow(ctx)
		if ctx.Err() != nil {
			return nil
		}
		// A list alone does not reset the back-off: if watches are refused, the agent would list twice a second.
		if received {
			failures = 0
		}
		if err != nil {
			w.config.Report(false, kubeclient.Explain(err, remedy))
		}
		if !backoff.Sleep(ctx, kubeclient.Retries().Delay(failures)) {
			return nil
		}
	}
}

func (w *Watch) options(version string) metav1.ListOptions {
	return metav1.ListOptions{
		FieldSelector:       fields.OneTermEqualSelector("metadata.name", w.config.NodeName).String(),
		ResourceVersion:     version,
		AllowWatchBookmarks: version != "",
	}
}

// follow lists, which also shows whether the object exists, and then watches for as long as the API
// server allows. It reports whether a watch delivered anything.
func (w *Watch) follow(ctx context.Context) (received bool, err error) {
	answer, err := w.resource.List(ctx, w.options(""))
	if err != nil {
		return false, fmt.Errorf("list node object: %w", err)
	}
	list, ok := answer.(*corev1.NodeList)
	if !ok {
		return false, fmt.Errorf("list node object: unexpected %T", answer)
	}
	if len(list.Items) == 0 {
		w.config.Seen(nil)
		w.config.Report(true, "watching; the node object does not exist")
	} else {
		w.config.Seen(&list.Items[0])
		w.config.Report(true, "watching")
	}
	for version := list.ResourceVersion; ctx.Err() == nil; {
		next, something, err := w.watchFrom(ctx, version)
		received = received || something
		if err != nil {
			return received, fmt.Errorf("watch node object: %w", err)
		}
		version = next
	}
	return received, nil
}

// watchFrom processes the changes after a version until the API server ends the watch. It returns
// the version reached, and whether there were any events. A watch that ends in order has delivered
// something, at least a bookmark; otherwise it returns an error, so that the caller waits before it
// retries.
func (w *Watch) watchFrom(ctx context.Context, version string) (_ string, received bool, err error) {
	stream, err := w.resource.Watch(ctx, w.options(version))
	if err != nil {
		return "", false, err
	}
	defer stream.Stop()
	for event := range stream.ResultChan() {
		if event.Type == watch.Error {
			return "", received, apierrors.FromObject(event.Object)
		}
		node, ok := event.Object.(*corev1.Node)
		if !ok {
			return "", received, fmt.Errorf("unexpected %T", event.Object)
		}
		received, version = true, node.ResourceVersion
		switch event.Type {
		case watch.Added, watch.Modified:
			w.config.Seen(node)
		case watch.Deleted:
			w.config.Seen(nil)
		}
	}
	if !received && ctx.Err() == nil {
		return "", false, errNoEvent
	}
	return version, received, nil
}

var errNoEvent = errors.New("the watch ended without sending an event")
