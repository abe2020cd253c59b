package synthetic

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// heartbeat is the time between two reports about a node. heartbeat is much shorter than the time after which the
// control plane considers a node unreachable.
const heartbeat = 10 * time.Second

func nodePath(name string) string { return "/api/v1/nodes/" + name }

// Register creates an unschedulable Node object, and reports that the node is ready.
func Register(ctx context.Context, client *kube.Client, name string) error {
	object := corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: true}}
	if err := client.Create(ctx, "/api/v1/nodes", object); err != nil && !kube.IsConflict(err) {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	return beat(ctx, client, name)
}

// KeepAlive reports that the node is ready, once per heartbeat, until ctx ends or a report fails.
func KeepAlive(ctx context.Context, client *kube.Client, name string) error {
	for pause(ctx, heartbeat) == nil {
		if err := beat(ctx, client, name); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func beat(ctx context.Context, client *kube.Client, name string) error {
	change := map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{{Type: corev1.NodeReady,
		Status: corev1.ConditionTrue, Reason: "Synthetic", LastHeartbeatTime: metav1.Now()}}}}
	if err := client.MergeLists(ctx, nodePath(name)+"/status", change); err != nil {
		return fmt.Errorf("keep node %s alive: %w", name, err)
	}
	return nil
}

// Join registers a node and keeps it alive until the caller calls the returned function "leave". The function "leave"
// removes the Node object. If KeepAlive has failed, the function "leave" also returns the error of KeepAlive.
func Join(ctx context.Context, client *kube.Client, name string) (leave func() error, err error) {
	if err := Register(ctx, client, name); err != nil {
		return nil, err
	}
	living, end := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- KeepAlive(living, client, name) }()
	return func() error {
		end()
		return errors.Join(<-ended, Unregister(context.WithoutCancel(ctx), client, name))
	}, nil
}

// Join calls the function Join, and also serves the runtime on a Unix socket.
func (r *Runtime) Join(ctx context.Context, client *kube.Client, name, socket string) (leave func() error, err error) {
	stop, err := r.Serve(socket)
	if err != nil {
		return nil, err
	}
	end, err := Join(ctx, client, name)
	if err != nil {
		stop()
		return nil, err
	}
	return func() error {
		err := end()
		stop()
		return err
	}, nil
}

// Unregister removes the Node object.
func Unregister(ctx context.Context, client *kube.Client, name string) error {
	if err := client.Delete(ctx, nodePath(name)); err != nil && !kube.IsNotFound(err) {
		return fmt.Errorf("delete node %s: %w", name, err)
	}
	return nil
}
