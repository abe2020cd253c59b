package node

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// Form states how the agent runs on the node: as a process or as a DaemonSet.
type Form string

// The possible forms. AsItWas selects the form in which the agent ran last. If the agent never ran, AsItWas selects
// AsProcess.
const (
	AsItWas   Form = ""
	AsProcess Form = "process"
	Deployed  Form = "daemonset"
)

// Agent describes the agent that the node runs. If a field is empty, the node keeps the previous value.
type Agent struct {
	Program string // path of the agent's program
	Archive string // path of an archive with the agent's image; image.sh builds this archive
	Form    Form
}

func (n Node) formFile() string { return n.In("agent-form") }

// Form returns the form of the running agent. If no agent runs, Form returns the form in which the agent will be
// started.
func (n Node) Form() Form {
	if data, err := os.ReadFile(n.formFile()); err == nil && Form(data) == Deployed {
		return Deployed
	}
	return AsProcess
}

// runAgent stores the agent's settings and runs the agent in the selected form. If an agent runs in the other form,
// runAgent first stops that agent. If the selected form is AsProcess and no program was ever set, runAgent starts no
// agent.
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

// storeAgent stores the agent's program and image for later starts.
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

// changeForm stores the agent's new form. Then changeForm calls the function "change", which starts the agent in this
// form. If the change is interrupted, a later command can complete the change.
func (n Node) changeForm(form Form, change func() error) error {
	if err := os.WriteFile(n.formFile(), []byte(form), 0o600); err != nil {
		return fmt.Errorf("store whether the agent runs as a process or as a DaemonSet: %w", err)
	}
	return change()
}

// RestoreAgent restarts the agent in its current form, with the usual settings.
func (n Node) RestoreAgent(ctx context.Context) error {
	if n.Form() == Deployed {
		return n.DeployAgent(ctx)
	}
	return n.startAgent(ctx)
}

// stopAgentProcess stops the agent's process gracefully.
func (n Node) stopAgentProcess() error {
	const grace = 5 * time.Second
	return n.stopComponents(grace, agentProcess)
}
