package node

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// guestProcess is an agent beside the node's own.
const guestProcess = "podlapse-agent-guest"

// Guest is an agent for a node that has nothing but a runtime's socket. StopGuest ends it.
type Guest struct {
	process.Record
	Records string // the file of what it prints
}

// GuestSocket is where the runtime of such a node listens.
func (n Node) GuestSocket() string { return n.Run + "/guest.sock" }

// StartGuest starts the agent's program for another node and waits until it is ready.
func (n Node) StartGuest(ctx context.Context, nodeName string) (Guest, error) {
	if err := n.StopGuest(); err != nil { // of a scenario that was killed
		return Guest{}, err
	}
	program, err := CheckAgent(n.Agent())
	if err != nil {
		return Guest{}, err
	}
	c := n.agent(program)
	c.Name, c.ports, c.Stdout = guestProcess, []int{layout.GuestPort}, n.In("guest-records.jsonl")
	c.Args = []string{"run", "--node-name=" + nodeName, "--kubeconfig=" + n.AgentKubeconfig(),
		"--cri-endpoint=unix://" + n.GuestSocket(), "--listen-address=" + layout.Address(layout.GuestPort)}
	c.ready = func(ctx context.Context) error { return get(ctx, "http://"+layout.Address(layout.GuestPort)+"/readyz") }
	if err := os.RemoveAll(c.Stdout); err != nil {
		return Guest{}, fmt.Errorf("remove the records of another scenario: %w", err)
	}
	if err := n.ensure(c); err != nil {
		return Guest{}, err
	}
	record, _ := n.table().Get(guestProcess)
	return Guest{Record: record, Records: c.Stdout}, n.await(ctx, c)
}

// StopGuest ends the guest, if there is one.
func (n Node) StopGuest() error {
	record, ok := n.table().Get(guestProcess)
	if !ok {
		return nil
	}
	if record.Alive() {
		if err := record.Stop(5 * time.Second); err != nil {
			return err
		}
	}
	return n.table().Remove(guestProcess)
}

// APIServerUsage is what the API server has used since it started.
func (n Node) APIServerUsage() (process.Usage, error) {
	record, ok := n.table().Get(apiServerName)
	if !ok {
		return process.Usage{}, fmt.Errorf("read usage of %s: it was never started", apiServerName)
	}
	return record.Usage()
}
