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

// agentFile holds the path of the agent's program, so that a later up without one can start it again.
func (n Node) agentFile() string { return n.In("agent-program") }

// Agent returns the path of the agent's program that was last set, or an empty string.
func (n Node) Agent() string {
	data, err := os.ReadFile(n.agentFile())
	if err != nil {
		return ""
	}
	return string(data)
}

// AgentChange is how an agent's settings differ from the usual ones.
type AgentChange struct {
	Flags       []string // the last one of repeated flags applies
	Environment []string // NAME=VALUE
}

// agent is the agent as a process: with the permissions and settings of the manifests, and every kind of record.
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

// startAgent starts the agent's program as a process, if one was set.
func (n Node) startAgent(ctx context.Context) error {
	program := n.Agent()
	if _, err := os.Stat(program); program == "" || err != nil {
		return nil
	}
	return n.RestartAgentWith(ctx, AgentChange{})
}

// RestartAgentWith restarts the agent's process with a change, unless it already runs with it, and waits until it is
// ready. Restore, or the next Up, undoes the change.
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

// KillAgent ends the agent with SIGKILL, like the kernel when memory runs out: the agent cannot finish anything.
func (n Node) KillAgent() error {
	if record, ok := n.table().Get(agentProcess); ok {
		return record.Stop(0)
	}
	return nil
}

// RestartAgent starts the agent again after KillAgent and does not wait until it is ready.
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

// CheckAgent returns the absolute path of an agent program, or an error that says why it is not one.
func CheckAgent(program string) (string, error) {
	path, err := filepath.Abs(program)
	if err != nil {
		return "", fmt.Errorf("find the agent's program: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find the agent's program (build it with \"make build\"): %w", err)
	}
	if info.IsDir() || info.Mode()&0o111 == 0 {
		return "", errors.New(path + " is not an executable: set the path of podlapse-agent")
	}
	return path, nil
}

// AgentLog is the file with the agent's log. For an agent in a container, it also has its standard output.
func (n Node) AgentLog() string {
	if n.Form() == Deployed {
		return n.latestKeptLog()
	}
	return filepath.Join(n.Logs(), agentProcess+".log")
}

// AgentUsage is what the agent's process has used since it started. It returns an error if the process has ended.
func (n Node) AgentUsage() (process.Usage, error) { return n.usage(agentProcess) }

// AgentAge is how long the agent's process has been running.
func (n Node) AgentAge() time.Duration {
	record, ok := n.table().Get(agentProcess)
	if !ok {
		return 0
	}
	return time.Since(record.StartedAt)
}
