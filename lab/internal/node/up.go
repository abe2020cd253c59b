package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/footprint"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// readyFile returns the file that exists after the node has started completely. The file contains the ID of the current
// boot. If the file is missing, the state belongs to an interrupted start. Such a state is removed, because the lab
// does not repair it.
func (n Node) readyFile() string { return n.In("ready") }

func (n Node) complete() bool {
	data, err := os.ReadFile(n.readyFile())
	return err == nil && strings.TrimSpace(string(data)) == process.BootID()
}

// Up starts the node, or repairs a running node. Up returns when pods can be created and the agent runs with its usual
// settings. If no agent was ever set, Up starts no agent.
func (n Node) Up(ctx context.Context, agent Agent) error {
	release, err := n.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if !n.complete() {
		if err := n.reset(ctx); err != nil {
			return err
		}
	}
	if err := n.start(ctx, agent); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return errors.New("interrupted: processes and files remain: run \"lab up\" to start again, " +
				"or \"lab down\" to remove them")
		}
		return err
	}
	return nil
}

// reset removes the remains of an interrupted start, and prepares a new start.
func (n Node) reset(ctx context.Context) error {
	if n.traces() {
		n.Report.Say("removing the remains of an interrupted lab")
		if err := n.clean(ctx); err != nil {
			return err
		}
	}
	if err := n.Create(); err != nil {
		return err
	}
	// The state is saved before anything is started, because the cleanup after an interrupted start needs the saved
	// state.
	if err := footprint.Observe().Save(n.beforeFile()); err != nil {
		return err
	}
	if err := n.writeCertificates(); err != nil {
		return err
	}
	if err := os.MkdirAll(n.In("static-pods"), 0o700); err != nil {
		return fmt.Errorf("create static pod directory: %w", err)
	}
	return nil
}

// start runs all components that do not run yet. start follows the order of their dependencies, and starts independent
// components concurrently.
func (n Node) start(ctx context.Context, agent Agent) error {
	if err := n.Create(); err != nil { // again, because a repair might have to restore a directory
		return err
	}
	if err := n.Thaw(); err != nil { // a killed scenario leaves frozen components
		return err
	}
	base, err := n.BaseImage()
	if err != nil {
		return err
	}
	if err := errors.Join(n.installSelf(), n.writeContainerdConfig(base), n.writeKubeletConfig(nil),
		n.writeAuditPolicy()); err != nil {
		return err
	}
	images, etcd, runtime, server := n.registryComponent(), n.etcd(), n.containerd(), n.apiServer()
	for _, c := range []component{images, etcd, runtime} {
		if err := n.ensure(c); err != nil {
			return err
		}
	}
	tasks, together := errgroup.WithContext(ctx)
	tasks.Go(func() error {
		if err := n.await(together, images); err != nil {
			return err
		}
		if err := n.await(together, runtime); err != nil {
			return err
		}
		return n.warmBaseImage(together, base)
	})
	tasks.Go(func() error {
		if err := n.await(together, etcd); err != nil {
			return err
		}
		if err := n.ensure(server); err != nil {
			return err
		}
		return n.await(together, server)
	})
	if err := tasks.Wait(); err != nil {
		return err
	}
	return n.startNode(ctx, agent)
}

// startNode starts all components that need a running API server.
func (n Node) startNode(ctx context.Context, agent Agent) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := grantAgent(ctx, client); err != nil {
		return err
	}
	if err := n.startClients(ctx, client); err != nil {
		return err
	}
	if err := n.runAgent(ctx, client, agent); err != nil {
		return err
	}
	if err := os.WriteFile(n.readyFile(), []byte(process.BootID()+"\n"), 0o600); err != nil {
		return fmt.Errorf("record that the node is up: %w", err)
	}
	return nil
}

// startClients starts the clients of the API server that run the cluster, unless these clients already run.
// startClients waits until pods can start.
func (n Node) startClients(ctx context.Context, client *kube.Client) error {
	clients := []component{n.kubelet(), n.controllerManager(), n.scheduler()}
	for _, c := range clients {
		if err := n.ensure(c); err != nil {
			return err
		}
	}
	for _, c := range clients {
		if err := n.await(ctx, c); err != nil {
			return err
		}
	}
	return n.awaitNode(ctx, client)
}

// Restore reverts a scenario's changes to the API server, the kubelet and the agent, and stops the processes that the
// scenario started. Without changes, Restore does nothing. Up reverts these changes too, after a killed scenario.
func (n Node) Restore(ctx context.Context) error {
	return errors.Join(n.Thaw(), n.UseOwnPauseImage(ctx), n.StopExtraAgents(), n.StopReceiver(), n.StopPrometheus(),
		n.EnableStreamingLists(ctx), n.PullSerially(ctx), n.RestoreAgent(ctx))
}

// awaitNode waits until pods can be scheduled and can start at the first attempt.
func (n Node) awaitNode(ctx context.Context, client *kube.Client) error {
	err := n.Report.Wait(ctx, "node "+layout.NodeName+" to be ready", startLimit, 100*time.Millisecond,
		func(ctx context.Context) error {
			var node corev1.Node
			if err := client.Get(ctx, "/api/v1/nodes/"+layout.NodeName, &node); err != nil {
				return err
			}
			for _, condition := range node.Status.Conditions {
				if condition.Type == corev1.NodeReady && condition.Status != corev1.ConditionTrue {
					return errors.New(condition.Message)
				}
			}
			if len(node.Status.Conditions) == 0 {
				return errors.New("the kubelet has not reported the node's status yet")
			}
			// The scheduler respects taints, which the node lifecycle controller removes with a short delay.
			for _, taint := range node.Spec.Taints {
				return fmt.Errorf("the node still has the taint %s", taint.Key)
			}
			return nil
		})
	if err != nil {
		return err
	}
	return n.Report.Wait(ctx, "the default service account", startLimit, 50*time.Millisecond,
		func(ctx context.Context) error {
			return client.Usable(ctx, "default")
		})
}
