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

// GuestSocket is where the runtime of the guest's node listens.
func (n Node) GuestSocket() string { return n.Run + "/guest.sock" }

// GuestRecords is the file that collects the guest's standard output.
func (n Node) GuestRecords() string { return n.In("guest-records.jsonl") }

// StartGuest starts the agent's program for another node, which has nothing but a runtime's socket, and waits
// until it is ready.
func (n Node) StartGuest(ctx context.Context, nodeName string) error {
	if err := n.StopGuest(); err != nil { // of a scenario that was killed
		return err
	}
	program, err := CheckAgent(n.Agent())
	if err != nil {
		return err
	}
	c := n.agent(program, AgentChange{})
	c.Name, c.ports, c.Stdout = guestProcess, []int{layout.GuestPort}, n.GuestRecords()
	c.Args = []string{"run", "--node-name=" + nodeName, "--kubeconfig=" + n.AgentKubeconfig(),
		"--cri-endpoint=unix://" + n.GuestSocket(), "--listen-address=" + layout.Address(layout.GuestPort)}
	c.ready = func(ctx context.Context) error { return get(ctx, "http://"+layout.Address(layout.GuestPort)+"/readyz") }
	if err := os.RemoveAll(c.Stdout); err != nil {
		return fmt.Errorf("remove the records of another scenario: %w", err)
	}
	if err := n.ensure(c); err != nil {
		return err
	}
	return n.await(ctx, c)
}

// GuestUsage is what the guest has used since it started.
func (n Node) GuestUsage() (process.Usage, error) { return n.usage(guestProcess) }

// StopGuest ends the guest, if there is one.
func (n Node) StopGuest() error { return n.stop(5*time.Second, guestProcess) }

// APIServerUsage is what the API server has used since it started.
func (n Node) APIServerUsage() (process.Usage, error) { return n.usage(apiServerName) }

func (n Node) usage(name string) (process.Usage, error) {
	record, ok := n.table().Get(name)
	if !ok {
		return process.Usage{}, fmt.Errorf("read usage of %s: it was never started", name)
	}
	return record.Usage()
}
