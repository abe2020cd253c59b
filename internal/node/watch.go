package node

import (
	"context"
	"errors"
	"fmt"
	"time"

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

const remedy = "allow the ServiceAccount to list and watch nodes, or use --node-health=off and --node-startup=off"

// WatchConfig configures a Watch. Every field is required.
type WatchConfig struct {
	Client   rest.Interface
	NodeName string
	// The Watch calls Seen each time that the Node object might have changed. If the object does not exist, the
	// argument "node" is nil. The calls are sequential, in the order of the changes. Seen must not keep or change the
	// object. After a list request, the argument "requestedAt" is the time just before this request. For a change that
	// the watch delivered, "requestedAt" is zero.
	Seen   func(node *corev1.Node, requestedAt time.Time)
	Report health.Report
	Now    func() time.Time
}

// Watch follows the Node object of the agent's node. Watch keeps no copy of the object.
type Watch struct{ config WatchConfig }

// NewWatch creates a Watch. The Watch does nothing before Run.
func NewWatch(config WatchConfig) *Watch { return &Watch{config} }

// Run follows the Node object until ctx is done and then returns nil. Run never fails. The caller can call Run only
// once.
func (w *Watch) Run(ctx context.Context) error {
	for failures := 0; ; failures++ {
		received, err := w.listAndWatch(ctx)
		if ctx.Err() != nil {
			return nil
		}
		// A successful list request does not reset the back-off. If a list request reset the back-off, the agent would
		// send two list requests per second while the API server refuses watches.
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

// selectorOf returns the field selector for the Node object with the given name.
func selectorOf(name string) string {
	return fields.OneTermEqualSelector("metadata.name", name).String()
}

// listNode lists a Node object. If the object does not exist, the result "node" is nil. The result "version" is the
// resourceVersion of the list.
func listNode(ctx context.Context, client rest.Interface, name string) (node *corev1.Node, version string, err error) {
	nodes := kubeclient.Resource{Client: client, Name: "nodes"}
	response, err := nodes.List(ctx, metav1.ListOptions{FieldSelector: selectorOf(name)})
	if err != nil {
		return nil, "", fmt.Errorf("list node object: %w", err)
	}
	list, ok := response.(*corev1.NodeList)
	switch {
	case !ok:
		return nil, "", fmt.Errorf("list node object: unexpected type %T", response)
	case len(list.Items) == 0:
		return nil, list.ResourceVersion, nil
	}
	return &list.Items[0], list.ResourceVersion, nil
}

// listAndWatch lists the Node object to learn whether the object exists. Then listAndWatch watches the Node object
// until a watch fails or ctx is done. The first result reports whether a watch delivered an event.
func (w *Watch) listAndWatch(ctx context.Context) (received bool, err error) {
	requestedAt := w.config.Now()
	node, version, err := listNode(ctx, w.config.Client, w.config.NodeName)
	if err != nil {
		return false, err
	}
	w.config.Seen(node, requestedAt)
	if node == nil {
		w.config.Report(true, "watching; the node object does not exist")
	} else {
		w.config.Report(true, "watching")
	}
	for ctx.Err() == nil {
		next, something, err := w.watchFrom(ctx, version)
		received = received || something
		if err != nil {
			return received, fmt.Errorf("watch node object: %w", err)
		}
		version = next
	}
	return received, nil
}

// watchFrom processes the changes after the given resourceVersion, until the API server ends the watch. watchFrom
// returns the latest resourceVersion, and whether any events arrived. If a watch ends normally, it has delivered at
// least one bookmark. If the watch ends without an event, watchFrom returns an error, so that the caller waits before
// it retries.
func (w *Watch) watchFrom(ctx context.Context, version string) (_ string, received bool, err error) {
	nodes := kubeclient.Resource{Client: w.config.Client, Name: "nodes"}
	stream, err := nodes.Watch(ctx, metav1.ListOptions{
		FieldSelector: selectorOf(w.config.NodeName), ResourceVersion: version, AllowWatchBookmarks: true,
	})
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
			return "", received, fmt.Errorf("unexpected object type %T", event.Object)
		}
		received, version = true, node.ResourceVersion
		switch event.Type {
		case watch.Added, watch.Modified:
			w.config.Seen(node, time.Time{})
		case watch.Deleted:
			w.config.Seen(nil, time.Time{})
		}
	}
	if !received && ctx.Err() == nil {
		return "", false, errNoEvent
	}
	return version, received, nil
}

var errNoEvent = errors.New("the watch ended before the API server sent an event")
