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

// maxExtraAgents is the maximum number of agents that run in addition to the node's own agent.
const maxExtraAgents = 16

// extraProcess returns the name of an extra agent's process. The first extra agent has the number 0.
func extraProcess(extra int) string { return fmt.Sprintf("podlapse-agent-extra-%d", extra+1) }

func extraAddress(extra int) string { return layout.Address(layout.FirstExtraPort + extra) }

// Extra returns a client of an extra agent.
func (n Node) Extra(extra int) agent.Client {
	return agent.Client{Server: "http://" + extraAddress(extra)}
}

// ExtraSocket returns the path of the synthetic runtime's socket. The extra agents of a synthetic node connect to this
// socket.
func (n Node) ExtraSocket() string { return n.Run + "/extra.sock" }

// ExtraRecords returns the path of the file that contains an extra agent's standard output.
func (n Node) ExtraRecords(extra int) string {
	return n.In(fmt.Sprintf("extra-%d-records.jsonl", extra+1))
}

// ExtraAgent contains the settings of an extra agent.
type ExtraAgent struct {
	Program    string
	Kubeconfig string
	Flags      []string // flags that are added to the usual flags
	Env        []string // environment variables, NAME=VALUE
}

// StartExtraAgents starts several agents for a synthetic node, which the lab simulates. StartExtraAgents waits until
// all of these agents are ready. The synthetic runtime of this node must listen on ExtraSocket.
func (n Node) StartExtraAgents(ctx context.Context, nodeName string, count int) error {
	agents := make([]ExtraAgent, count)
	for i := range agents {
		agents[i] = ExtraAgent{Program: n.Agent(), Kubeconfig: n.AgentKubeconfig()}
	}
	return n.StartExtraAgentsOf(ctx, nodeName, agents)
}

// StartExtraAgentsOf is like StartExtraAgents, but each agent has its own settings.
func (n Node) StartExtraAgentsOf(ctx context.Context, nodeName string, agents []ExtraAgent) error {
	agents = slices.Clone(agents)
	node := []string{"--node-name=" + nodeName, "--cri-endpoint=unix://" + n.ExtraSocket()}
	for i := range agents {
		agents[i].Flags = slices.Concat(node, agents[i].Flags)
	}
	return n.startExtraAgents(ctx, agents)
}

// StartExtraAgent starts one extra agent for a synthetic node and waits until the agent is ready. The argument "extra"
// is the number of the agent. The other extra agents keep running.
func (n Node) StartExtraAgent(ctx context.Context, nodeName string, extra int) error {
	return n.startExtraAgent(ctx, ExtraAgent{Program: n.Agent(), Kubeconfig: n.AgentKubeconfig(),
		Flags: []string{"--node-name=" + nodeName, "--cri-endpoint=unix://" + n.ExtraSocket()}}, extra)
}

// StartExtraAgentsOnNode starts extra agents on the lab's own node and waits until all of them are ready. Each argument
// contains the flags of one agent.
func (n Node) StartExtraAgentsOnNode(ctx context.Context, flags ...[]string) error {
	agents := make([]ExtraAgent, len(flags))
	for i := range agents {
		agents[i] = ExtraAgent{Program: n.Agent(), Kubeconfig: n.AgentKubeconfig(), Flags: slices.Concat([]string{
			// The caller can override the following flags, because the last value of a repeated flag takes effect.
			"--node-name=" + layout.NodeName, "--cri-endpoint=unix://" + n.ContainerdSocket(), "--records=both"},
			flags[i])}
	}
	return n.startExtraAgents(ctx, agents)
}

func (n Node) startExtraAgents(ctx context.Context, agents []ExtraAgent) error {
	if len(agents) > maxExtraAgents {
		return fmt.Errorf("start %d extra agents: the number must be at most %d", len(agents), maxExtraAgents)
	}
	if err := n.StopExtraAgents(); err != nil { // a killed scenario leaves its extra agents running
		return err
	}
	for extra, agent := range agents {
		if err := n.startExtraAgent(ctx, agent, extra); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) startExtraAgent(ctx context.Context, agent ExtraAgent, extra int) error {
	program, err := CheckAgent(agent.Program)
	if err != nil {
		return err
	}
	c := n.agent(program, AgentChange{})
	c.Name, c.ports, c.Stdout = extraProcess(extra), []int{layout.FirstExtraPort + extra}, n.ExtraRecords(extra)
	c.Args = append([]string{"run", "--kubeconfig=" + agent.Kubeconfig, "--listen-address=" + extraAddress(extra)},
		agent.Flags...)
	c.Env = slices.Concat(c.Env, agent.Env)
	c.ready = func(ctx context.Context) error { return checkURL(ctx, "http://"+extraAddress(extra)+"/readyz") }
	if err := os.RemoveAll(c.Stdout); err != nil {
		return fmt.Errorf("remove an agent's records from an earlier scenario: %w", err)
	}
	if err := n.ensureRunning(c); err != nil {
		return err
	}
	return n.awaitReady(ctx, c)
}

// ExtraUsage returns the resources that an extra agent's process has used.
func (n Node) ExtraUsage(extra int) (process.Usage, error) { return n.usage(extraProcess(extra)) }

// StopExtraAgents stops the extra agents of all nodes.
func (n Node) StopExtraAgents() error {
	names := make([]string, maxExtraAgents)
	for extra := range names {
		names[extra] = extraProcess(extra)
	}
	return n.stopComponents(5*time.Second, names...)
}

// ControlPlaneCPU returns the CPU time of the API server and etcd together, from their start until now.
func (n Node) ControlPlaneCPU() (time.Duration, error) {
	server, err := n.usage(apiServerName)
	if err != nil {
		return 0, err
	}
	store, err := n.usage(etcdName)
	return server.CPU + store.CPU, err
}

// APIServerMemory returns the resident memory of the API server in bytes.
func (n Node) APIServerMemory() (int64, error) {
	server, err := n.usage(apiServerName)
	return server.Memory, err
}

func (n Node) usage(name string) (process.Usage, error) {
	record, ok := n.table().Get(name)
	if !ok {
		return process.Usage{}, fmt.Errorf("read usage of %s: the process was not started", name)
	}
	return record.Usage()
}
