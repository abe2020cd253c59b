package node

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/process"
)

// FloorCommand is an internal command of the lab's program. The command watches a node's pods with a client-go
// Reflector and only stores the pods. If the command gets the path of a runtime socket, it also queries the container
// runtime.
const FloorCommand = "follow-pods"

const floorGrace = 5 * time.Second

const (
	floorName        = "floor"
	runtimeFloorName = "runtime-floor"
)

// StartFloor starts a program that watches the pods of a node and does nothing else. StartFloor waits until the program
// has listed the pods.
func (n Node) StartFloor(ctx context.Context, nodeName string) error {
	return n.startFloor(ctx, floorName, nodeName, "")
}

// StartRuntimeFloor starts a program that watches the pods of a node and queries the container runtime. No agent can
// report the runtime's timestamps without the queries of this program. The program sends no other queries.
// StartRuntimeFloor waits until the program has listed the pods.
func (n Node) StartRuntimeFloor(ctx context.Context, nodeName string) error {
	return n.startFloor(ctx, runtimeFloorName, nodeName, n.ContainerdSocket())
}

func (n Node) startFloor(ctx context.Context, name, nodeName, socket string) error {
	self, ready := n.In("bin", "lab"), n.In(name+"-ready")
	if err := n.stopComponents(floorGrace, name); err != nil { // a killed scenario leaves the program running
		return err
	}
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c := component{
		Spec: process.Spec{Name: name, Path: self, Inputs: []string{self},
			Args: []string{FloorCommand, n.AgentKubeconfig(), nodeName, ready, socket}},
		ready: func(context.Context) error { _, err := os.Stat(ready); return err },
		limit: startLimit,
	}
	if err := n.ensureRunning(c); err != nil {
		return err
	}
	return n.awaitReady(ctx, c)
}

// FloorUsage returns the resources that the program of StartFloor has used.
func (n Node) FloorUsage() (process.Usage, error) { return n.usage(floorName) }

// RuntimeFloorUsage returns the resources that the program of StartRuntimeFloor has used.
func (n Node) RuntimeFloorUsage() (process.Usage, error) { return n.usage(runtimeFloorName) }

// StopFloor stops the programs that StartFloor and StartRuntimeFloor started. StopFloor ignores programs that do not
// run.
func (n Node) StopFloor() error { return n.stopComponents(floorGrace, floorName, runtimeFloorName) }
