package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// agentFile returns the path of a file. The file contains the path of the agent's program. If the user of "lab up" does
// not set a program, the lab uses the program from this file.
func (n Node) agentFile() string { return n.In("agent-program") }

// Agent returns the path of the agent's program. If no program was ever set, Agent returns an empty string.
func (n Node) Agent() string {
	data, err := os.ReadFile(n.agentFile())
	if err != nil {
		return ""
	}
	return string(data)
}

// AgentChange contains changes to the usual settings of an agent.
type AgentChange struct {
	Flags       []string // added after the usual flags; if a flag is repeated, the last value takes effect
	Environment []string // additional variables, as NAME=VALUE
}

// agent returns the component for an agent that runs as a process. This agent has the same permissions and settings as
// an agent from the manifests. The agent also prints its records in all formats.
func (n Node) agent(program string, change AgentChange) component {
	return component{
		Spec: process.Spec{Name: agentProcess, Path: program, Args: append([]string{"run",
			"--node-name=" + layout.NodeName, "--kubeconfig=" + n.AgentKubeconfig(),
			"--cri-endpoint=unix://" + n.ContainerdSocket(), "--listen-address=" + layout.Address(layout.AgentPort),
			"--record-observations=" + n.AgentObservations(), "--state-dir=" + n.AgentState(), "--records=both"},
			change.Flags...),
			Env: change.Environment, Inputs: []string{program, n.AgentKubeconfig()}, Stdout: n.AgentRecords(),
			Enter: n.mountNamespaceEntry()},
		ports: []int{layout.AgentPort},
		ready: func(ctx context.Context) error {
			return checkURL(ctx, "http://"+layout.Address(layout.AgentPort)+"/readyz")
		},
		limit: time.Minute,
	}
}

// startAgent starts the agent as a process. If no program was set, or if the program does not exist, startAgent does
// nothing.
func (n Node) startAgent(ctx context.Context) error {
	program := n.Agent()
	if _, err := os.Stat(program); program == "" || err != nil {
		return nil
	}
	return n.RestartAgentWith(ctx, AgentChange{})
}

// RestartAgentWith restarts the agent's process with changed settings and waits until the agent is ready. If the agent
// already has these settings, RestartAgentWith does not restart the agent. The methods Restore and Up revert the
// change.
func (n Node) RestartAgentWith(ctx context.Context, change AgentChange) error {
	program, err := CheckAgent(n.Agent())
	if err != nil {
		return err
	}
	c := n.agent(program, change)
	if err := n.ensureRunning(c); err != nil {
		return err
	}
	return n.awaitReady(ctx, c)
}

// KillAgent kills the agent with SIGKILL, as the kernel does when memory runs out. The agent gets no chance to finish
// its work.
func (n Node) KillAgent() error {
	if record, ok := n.table().Get(agentProcess); ok {
		return record.Stop(0)
	}
	return nil
}

// RestartAgent starts the agent's process after KillAgent, but does not wait until the agent is ready.
func (n Node) RestartAgent() error {
	program, err := CheckAgent(n.Agent())
	if err != nil {
		return err
	}
	_, err = n.starter().Start(n.agent(program, AgentChange{}).Spec)
	return err
}

// AwaitAgent waits until the agent is ready.
func (n Node) AwaitAgent(ctx context.Context) error {
	return n.awaitReady(ctx, n.agent(n.Agent(), AgentChange{}))
}

// CheckAgent returns the absolute path of the agent's program. If the path is not the path of an executable file,
// CheckAgent returns an error that suggests a solution.
func CheckAgent(program string) (string, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("find the agent's program: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the agent's program: %w: build the program with \"make build\"", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", errors.New(path + " must be an executable file: set --agent to the path of podlapse-agent")
	}
	return path, nil
}

// AgentLog returns the path of the agent's log. If the agent runs in a container, the log also contains the agent's
// standard output.
func (n Node) AgentLog() string {
	if n.Form() == Deployed {
		return n.latestKeptLog()
	}
	return filepath.Join(n.Logs(), agentProcess+".log")
}

// AgentUsage returns the resource usage of the agent's process since the start of the process. If the process has
// exited, AgentUsage returns an error.
func (n Node) AgentUsage() (process.Usage, error) { return n.usage(agentProcess) }

// AgentAge returns the time since the start of the agent's process.
func (n Node) AgentAge() time.Duration {
	record, ok := n.table().Get(agentProcess)
	if !ok {
		return 0
	}
	return time.Since(record.StartedAt)
}
