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

// readyFile returns the path of a file that the lab writes at the end of a complete start. The file contains the
// machine's boot ID. If the file is missing or contains another boot ID, the lab does not repair the node. In this
// case, Up removes the node's state and then starts a new node.
func (n Node) readyFile() string { return n.In("ready") }

func (n Node) stackFile() string { return n.In("stack") }

// RunningStack returns the name of the node's stack, or an empty string if no node is up.
func (n Node) RunningStack() string {
	if name, err := os.ReadFile(n.stackFile()); err == nil && n.complete() {
		return string(name)
	}
	return ""
}

// StackError is the error of a command that requests a stack other than the running stack.
func StackError(running, wanted string) error {
	return fmt.Errorf("the lab runs the stack %q, want %q: run \"make down\" first", running, wanted)
}

func (n Node) complete() bool {
	data, err := os.ReadFile(n.readyFile())
	return err == nil && strings.TrimSpace(string(data)) == process.BootID()
}

// Up starts the node, or repairs a running node. When Up returns, pods can be created and the agent runs with its usual
// settings. Up starts an agent only if this call or an earlier call sets a program or an image for the agent.
func (n Node) Up(ctx context.Context, agent Agent) error {
	release, err := n.Hold(ctx)
	if err != nil {
		return err
	}
	defer release()
	if running := n.RunningStack(); running != "" && running != n.Stack.Name {
		return StackError(running, n.Stack.Name) // another command started this stack while Hold waited
	}
	if !n.complete() {
		if err := n.reset(ctx); err != nil {
			return err
		}
	}
	if err := n.startComponents(ctx, agent); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return errors.New("the start was interrupted: run \"make up\" to start the lab again, or \"make down\" " +
				"to remove the processes and files that remain")
		}
		return err
	}
	return nil
}

// reset removes the state of an interrupted start and prepares a new start.
func (n Node) reset(ctx context.Context) error {
	if n.traces() {
		n.Report.Say("removing the remains of an interrupted lab")
		if err := n.stopAndRemove(ctx); err != nil {
			return err
		}
	}
	if err := n.Create(); err != nil {
		return err
	}
	if err := n.mountCgroups(); err != nil {
		return err
	}
	// reset saves the state of the machine before the node starts. If the start is interrupted, the cleanup needs this
	// saved state.
	if err := footprint.Observe().Save(n.beforeFile()); err != nil {
		return err
	}
	if err := os.WriteFile(n.stackFile(), []byte(n.Stack.Name), 0o600); err != nil {
		return fmt.Errorf("store the name of the stack: %w", err)
	}
	if err := n.writeCertificates(); err != nil {
		return err
	}
	if err := n.RegistryGuard().Create(); err != nil {
		return err
	}
	if err := os.MkdirAll(n.In("static-pods"), 0o700); err != nil {
		return fmt.Errorf("create the directory for static pods: %w", err)
	}
	return nil
}

// startComponents starts all components that are not running, in the order of their dependencies. Components that do
// not depend on each other start concurrently.
func (n Node) startComponents(ctx context.Context, agent Agent) error {
	if err := n.Create(); err != nil { // a repair also creates missing directories
		return err
	}
	if err := n.Thaw(); err != nil { // a killed scenario can leave components frozen
		return err
	}
	base, err := n.BaseImage()
	if err != nil {
		return err
	}
	if err := errors.Join(n.installSelf(), n.writeContainerdConfig(n.pauseImage(base)), n.writeKubeletConfig(nil),
		n.writeCredentialConfig(), n.writeAuditPolicy()); err != nil {
		return err
	}
	images, etcd, runtime, server := n.registryComponent(), n.etcd(), n.containerd(), n.apiServer()
	for _, c := range []component{images, etcd, runtime} {
		if err := n.ensureRunning(c); err != nil {
			return err
		}
	}
	tasks, together := errgroup.WithContext(ctx)
	tasks.Go(func() error {
		if err := n.awaitReady(together, images); err != nil {
			return err
		}
		if err := n.awaitReady(together, runtime); err != nil {
			return err
		}
		return errors.Join(n.pushPauseImage(together), n.warmBaseImage(together, base))
	})
	tasks.Go(func() error {
		if err := n.awaitReady(together, etcd); err != nil {
			return err
		}
		if err := n.ensureRunning(server); err != nil {
			return err
		}
		return n.awaitReady(together, server)
	})
	if err := tasks.Wait(); err != nil {
		return err
	}
	return n.startNode(ctx, agent)
}

// startNode starts all components that need the API server.
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
		return fmt.Errorf("write the file that marks the node as up: %w", err)
	}
	return nil
}

// startClients starts the kubelet, the controller manager and the scheduler, and waits until pods can start. If a
// component already runs with the same spec, startClients does not restart the component.
func (n Node) startClients(ctx context.Context, client *kube.Client) error {
	clients := []component{n.kubelet(), n.controllerManager(), n.scheduler()}
	for _, c := range clients {
		if err := n.ensureRunning(c); err != nil {
			return err
		}
	}
	for _, c := range clients {
		if err := n.awaitReady(ctx, c); err != nil {
			return err
		}
	}
	return n.awaitNode(ctx, client)
}

// Restore reverts a scenario's changes to the API server, containerd, the kubelet and the agent. Restore also stops the
// processes that the scenario started. If the scenario changed nothing, Restore does nothing. A killed scenario does
// not call Restore. In this case, the next call of Up reverts the scenario's changes.
func (n Node) Restore(ctx context.Context) error {
	return errors.Join(n.Thaw(), n.UseOwnPauseImage(ctx), n.StopExtraAgents(), n.StopReceiver(), n.StopPrometheus(),
		n.EnableStreamingLists(ctx), n.RestorePulls(ctx), n.RestoreAgent(ctx))
}

// awaitNode waits until the scheduler can schedule pods and new pods can start without a retry.
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
			// The node lifecycle controller removes taints with a short delay. The scheduler schedules no pods until
			// the taints are removed.
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
