package node

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// Form is how the agent runs on the node.
type Form string

// The forms. As it was means the one in which it ran last, or a process where it never ran.
const (
	AsItWas   Form = ""
	AsProcess Form = "process"
	Deployed  Form = "daemonset"
)

// Agent is what can run as the agent. What is empty is as it was when it was last given.
type Agent struct {
	Program string // a path
	Archive string // of its image, as image.sh makes it
	Form    Form
}

func (n Node) formFile() string { return n.In("agent-form") }

// Form is how the agent runs, or would if it was up.
func (n Node) Form() Form {
	if data, err := os.ReadFile(n.formFile()); err == nil && Form(data) == Deployed {
		return Deployed
	}
	return AsProcess
}

// bringAgent has the agent run in its form, and ends the other one. There may be no agent at all.
func (n Node) bringAgent(ctx context.Context, client *kube.Client, a Agent) error {
	if err := n.takeAgent(ctx, a); err != nil {
		return err
	}
	form := a.Form
	if form == AsItWas {
		form = n.Form()
	}
	if form == Deployed {
		return n.changeForm(Deployed, func() error { return n.DeployAgent(ctx) })
	}
	return n.changeForm(AsProcess, func() error {
		if err := n.withdrawAgent(ctx, client); err != nil {
			return err
		}
		return n.startAgent(ctx)
	})
}

// takeAgent remembers what was given.
func (n Node) takeAgent(ctx context.Context, a Agent) error {
	if a.Program != "" {
		program, err := CheckAgent(a.Program)
		if err != nil {
			return err
		}
		if err := os.WriteFile(n.agentFile(), []byte(program), 0o600); err != nil {
			return fmt.Errorf("note the agent's program: %w", err)
		}
	}
	if a.Archive != "" {
		return n.pushAgentImage(ctx, a.Archive)
	}
	return nil
}

// changeForm notes the form before the change, so that an interrupted one is gone on with.
func (n Node) changeForm(form Form, change func() error) error {
	if err := os.WriteFile(n.formFile(), []byte(form), 0o600); err != nil {
		return fmt.Errorf("note how the agent runs: %w", err)
	}
	return change()
}

// RestoreAgent has the agent run as usual again, in the form that it has.
func (n Node) RestoreAgent(ctx context.Context) error {
	if n.Form() == Deployed {
		return n.DeployAgent(ctx)
	}
	return n.startAgent(ctx)
}

// stopAgentProcess ends the process, gently.
func (n Node) stopAgentProcess() error {
	const grace = 5 * time.Second
	return n.stop(grace, agentProcess)
}
