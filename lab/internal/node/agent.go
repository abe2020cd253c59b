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

// agentFile returns the file with the path of the agent's program. A later up without a program uses this path.
func (n Node) agentFile() string { return n.In("agent-program") }

// Agent returns the path of the agent's program that was set last, or an empty string.
func (n Node) Agent() string {
	data, err := os.ReadFile(n.agentFile())
	if err != nil {
		return ""
	}
	return string(data)
}

// AgentChange describes how an agent's settings differ from the usual settings.
type AgentChange struct {
	Flags       []string // the last one of repeated flags takes effect
	Environment []string // NAME=VALUE
}

// agent returns the component of an agent that runs as a process. The agent has the permissions and settings of the
// manifests, and writes all kinds of records.
func (n Node) agent(program string, change AgentChange) component {
	return component{
		Spec: process.Spec{Name: agentProcess, Path: program, Args: append([]string{"run",
			"--node-name=" + layout.NodeName, "--kubeconfig=" + n.AgentKubeconfig(),
			"--cri-endpoint=unix://" + n.ContainerdSocket(), "--listen-address=" + layout.Address(layout.AgentPort),
			"--record-observations=" + n.AgentObservations(), "--state-dir=" + n.AgentState(), "--records=both"},
			change.Flags...),
			Env: change.Environment, Inputs: []string{program, n.AgentKubeconfig()}, Stdout: n.AgentRecords()},
		ports: []int{layout.AgentPort},
		ready: func(ctx context.Context) error {
			return get(ctx, "http://"+layout.Address(layout.AgentPort)+"/readyz")
		},
		limit: time.Minute,
	}
}

// startAgent starts the agent's program as a process. Without a program, startAgent does nothing.
func (n Node) startAgent(ctx context.Context) error {
	program := n.Agent()
	if _, err := os.Stat(program); program == "" || err != nil {
		return nil
	}
	return n.RestartAgentWith(ctx, AgentChange{})
}

// RestartAgentWith restarts the agent's process with a change, and waits until the agent is ready. If the agent already
// runs with this change, RestartAgentWith keeps the running process. Restore or the next Up reverts the change.
func (n Node) RestartAgentWith(ctx context.Context, change AgentChange) error {
	program, err := CheckAgent(n.Agent())
	if err != nil {
		return err
	}
	c := n.agent(program, change)
	if err := n.ensure(c); err != nil {
		return err
	}
	return n.await(ctx, c)
}

// KillAgent kills the agent with SIGKILL, as the kernel does when memory runs out. KillAgent gives the agent no time to
// finish work.
func (n Node) KillAgent() error {
	if record, ok := n.table().Get(agentProcess); ok {
		return record.Stop(0)
	}
	return nil
}

// RestartAgent starts the agent's process after KillAgent. RestartAgent does not wait until the agent is ready.
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
	return n.await(ctx, n.agent(n.Agent(), AgentChange{}))
}

// CheckAgent returns the absolute path of an agent's program, or an error that states why the file cannot be the agent.
func CheckAgent(program string) (string, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("find the agent's program: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the agent's program (build the program with \"make build\"): %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", errors.New(path + " must be an executable file: set the path of podlapse-agent")
	}
	return path, nil
}

// AgentLog returns the file with the agent's log. For an agent in a container, the file also contains the standard
// output.
func (n Node) AgentLog() string {
	if n.Form() == Deployed {
		return n.latestKeptLog()
	}
	return filepath.Join(n.Logs(), agentProcess+".log")
}

// AgentUsage returns the resource usage of the agent's process from its start until now. AgentUsage returns an error if
// the process has exited.
func (n Node) AgentUsage() (process.Usage, error) { return n.usage(agentProcess) }

// AgentAge returns the time for which the agent's process has been running.
func (n Node) AgentAge() time.Duration {
	record, ok := n.table().Get(agentProcess)
	if !ok {
		return 0
	}
	return time.Since(record.StartedAt)
}
