package node

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// maxGuests is how many agents can run beside the node's own.
const maxGuests = 8

// guestProcess is an agent beside the node's own, counted from 0.
func guestProcess(guest int) string { return fmt.Sprintf("podlapse-agent-guest-%d", guest+1) }

func guestAddress(guest int) string { return layout.Address(layout.FirstGuestPort + guest) }

// Guest asks one of the guests.
func (n Node) Guest(guest int) agent.Client {
	return agent.Client{Server: "http://" + guestAddress(guest)}
}

// GuestSocket is where the runtime of the guests' node listens.
func (n Node) GuestSocket() string { return n.Run + "/guest.sock" }

// GuestRecords is the file that collects a guest's standard output.
func (n Node) GuestRecords(guest int) string {
	return n.In(fmt.Sprintf("guest-%d-records.jsonl", guest+1))
}

// GuestAgent is the agent of a guest.
type GuestAgent struct {
	Program    string
	Kubeconfig string
	Flags      []string // besides the usual ones
}

// StartGuests starts the agent's program several times for another node, which has nothing but a runtime's
// socket, and waits until all are ready.
func (n Node) StartGuests(ctx context.Context, nodeName string, count int) error {
	agents := make([]GuestAgent, count)
	for i := range agents {
		agents[i] = GuestAgent{n.Agent(), n.AgentKubeconfig(), nil}
	}
	return n.StartGuestsOf(ctx, nodeName, agents)
}

// StartGuestsOf is StartGuests of different agents.
func (n Node) StartGuestsOf(ctx context.Context, nodeName string, agents []GuestAgent) error {
	agents = slices.Clone(agents)
	node := []string{"--node-name=" + nodeName, "--cri-endpoint=unix://" + n.GuestSocket()}
	for i := range agents {
		agents[i].Flags = slices.Concat(node, agents[i].Flags)
	}
	return n.startGuests(ctx, agents)
}

// StartBeside starts the agent's program for the lab's own node once with each of these sets of flags, beside the agent that it
// has, and waits until all are ready.
func (n Node) StartBeside(ctx context.Context, flags ...[]string) error {
	agents := make([]GuestAgent, len(flags))
	for i := range agents {
		agents[i] = GuestAgent{n.Agent(), n.AgentKubeconfig(), append([]string{"--node-name=" + layout.NodeName,
			"--cri-endpoint=unix://" + n.ContainerdSocket(), "--records=both"}, flags[i]...)} // of those that are given twice, the last counts
	}
	return n.startGuests(ctx, agents)
}

func (n Node) startGuests(ctx context.Context, agents []GuestAgent) error {
	if len(agents) > maxGuests {
		return fmt.Errorf("start %d guests: %d are the most", len(agents), maxGuests)
	}
	if err := n.StopGuests(); err != nil { // of a scenario that was killed
		return err
	}
	for guest, agent := range agents {
		if err := n.startGuest(ctx, agent, guest); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) startGuest(ctx context.Context, agent GuestAgent, guest int) error {
	program, err := CheckAgent(agent.Program)
	if err != nil {
		return err
	}
	c := n.agent(program, AgentChange{})
	c.Name, c.ports, c.Stdout = guestProcess(guest), []int{layout.FirstGuestPort + guest}, n.GuestRecords(guest)
	c.Args = append([]string{"run", "--kubeconfig=" + agent.Kubeconfig, "--listen-address=" + guestAddress(guest)}, agent.Flags...)
	c.ready = func(ctx context.Context) error { return get(ctx, "http://"+guestAddress(guest)+"/readyz") }
	if err := os.RemoveAll(c.Stdout); err != nil {
		return fmt.Errorf("remove the records of another scenario: %w", err)
	}
	if err := n.ensure(c); err != nil {
		return err
	}
	return n.await(ctx, c)
}

// GuestUsage is what a guest has used since it started.
func (n Node) GuestUsage(guest int) (process.Usage, error) { return n.usage(guestProcess(guest)) }

// StopGuests ends all guests there are.
func (n Node) StopGuests() error {
	names := make([]string, maxGuests)
	for guest := range names {
		names[guest] = guestProcess(guest)
	}
	return n.stop(5*time.Second, names...)
}

// APIServerUsage is what the API server has used since it started.
func (n Node) APIServerUsage() (process.Usage, error) { return n.usage(apiServerName) }

func (n Node) usage(name string) (process.Usage, error) {
	record, ok := n.table().Get(name)
	if !ok {
		return process.Usage{}, fmt.Errorf("read usage of %s: it was never started", name)
	}
	return record.Usage()
}
