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

// The forms. AsItWas is the form in which the agent last ran; a process if it never ran.
const (
	AsItWas   Form = ""
	AsProcess Form = "process"
	Deployed  Form = "daemonset"
)

// Agent is what can run as the agent. For an empty field, the last value applies.
type Agent struct {
	Program string // a path
	Archive string // of its image, built by image.sh
	Form    Form
}

func (n Node) formFile() string { return n.In("agent-form") }

// Form is how the agent runs, or would run.
func (n Node) Form() Form {
	if data, err := os.ReadFile(n.formFile()); err == nil && Form(data) == Deployed {
		return Deployed
	}
	return AsProcess
}

// runAgent stores the agent that was set, runs it in its form, and ends the agent of the other form. As a process, it
// starts nothing if no program was ever set.
func (n Node) runAgent(ctx context.Context, client *kube.Client, a Agent) error {
	if err := n.storeAgent(ctx, a); err != nil {
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
		if err := n.removeAgentPod(ctx, client); err != nil {
			return err
		}
		return n.startAgent(ctx)
	})
}

// storeAgent stores the program and the image that were set.
func (n Node) storeAgent(ctx context.Context, a Agent) error {
	if a.Program != "" {
		program, err := CheckAgent(a.Program)
		if err != nil {
			return err
		}
		if err := os.WriteFile(n.agentFile(), []byte(program), 0o600); err != nil {
			return fmt.Errorf("store the agent's program: %w", err)
		}
	}
	if a.Archive != "" {
		return n.pushAgentImage(ctx, a.Archive)
	}
	return nil
}

// changeForm stores the form before the change, so that an interrupted change can be continued.
func (n Node) changeForm(form Form, change func() error) error {
	if err := os.WriteFile(n.formFile(), []byte(form), 0o600); err != nil {
		return fmt.Errorf("store how the agent runs: %w", err)
	}
	return change()
}

// RestoreAgent restarts the agent with its usual settings, in its current form.
func (n Node) RestoreAgent(ctx context.Context) error {
	if n.Form() == Deployed {
		return n.DeployAgent(ctx)
	}
	return n.startAgent(ctx)
}

// stopAgentProcess ends the process gracefully.
func (n Node) stopAgentProcess() error {
	const grace = 5 * time.Second
	return n.stop(grace, agentProcess)
}
