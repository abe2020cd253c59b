package node

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/process"
)

// FloorCommand is an internal command of the lab's program. The command uses a bare reflector to follow a node's pods.
const FloorCommand = "follow-pods"

const floorName = "floor"

// StartFloor starts a program that only follows the pods of a node, and waits until the program has listed the pods.
func (n Node) StartFloor(ctx context.Context, nodeName string) error {
	self, ready := n.In("bin", "lab"), n.In("floor-ready")
	if err := n.StopFloor(); err != nil { // a killed scenario leaves the program running
		return err
	}
	if err := os.Remove(ready); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	c := component{
		Spec: process.Spec{Name: floorName, Path: self, Inputs: []string{self},
			Args: []string{FloorCommand, n.AgentKubeconfig(), nodeName, ready}},
		ready: func(context.Context) error { _, err := os.Stat(ready); return err },
		limit: startLimit,
	}
	if err := n.ensure(c); err != nil {
		return err
	}
	return n.await(ctx, c)
}

// FloorUsage returns the resource usage of StartFloor's program since its start.
func (n Node) FloorUsage() (process.Usage, error) { return n.usage(floorName) }

// StopFloor stops the program that StartFloor started. If the program does not run, StopFloor does nothing.
func (n Node) StopFloor() error { return n.stop(5*time.Second, floorName) }
