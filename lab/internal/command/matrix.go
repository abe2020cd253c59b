package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agentimage"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/matrix"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/scenario"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// For each stack, tryStacks starts a new node and runs the scenarios of the compatibility page on this node. If the
// command line names a stack, tryStacks uses only this stack. If a scenario fails, tryStacks continues with the next
// scenario. If a node does not start, tryStacks continues with the next stack.
func tryStacks(ctx context.Context, n node.Node, a arguments, stdout io.Writer) error {
	if a.agent == "" || a.image == "" {
		return UsageError{"matrix: set --agent PATH and --image ARCHIVE, or run \"make matrix\""}
	}
	if err := os.MkdirAll(a.results, 0o755); err != nil {
		return fmt.Errorf("create the directory of the results: %w", err)
	}
	version, err := checkAgent(ctx, a)
	if err != nil {
		return err
	}
	names := stack.Names()
	if a.stack != "" {
		names = []string{a.stack}
	}
	var failed []string
	for _, name := range names {
		s, err := stack.Load(name)
		if err != nil {
			return UsageError{"matrix: " + err.Error()}
		}
		if _, err := n.Down(ctx); err != nil {
			return err
		}
		n.Stack = s
		result, err := tryStack(ctx, n, a, stdout)
		if err != nil {
			return fmt.Errorf("run the scenarios on the stack %q: %w", name, err)
		}
		result.Agent = version
		if err := result.Write(a.results); err != nil {
			return err
		}
		for _, o := range result.Outcomes {
			if o.Problem != "" {
				failed = append(failed, o.Scenario+" on "+name)
			}
		}
	}
	if _, err := n.Down(ctx); err != nil {
		return err
	}
	if len(failed) > 0 {
		return fmt.Errorf("these scenarios failed: %s", strings.Join(failed, ", "))
	}
	return nil
}

// checkAgent returns the version of the agent. It fails in two cases, because the results would be useless. If the
// agent contains uncommitted changes, its version names no commit. If the image is invalid, every installation fails.
func checkAgent(ctx context.Context, a arguments) (string, error) {
	version, err := agentVersion(ctx, a.agent)
	if err != nil {
		return "", err
	}
	if strings.HasSuffix(version, "-dirty") {
		return "", UsageError{"matrix: the agent " + a.agent + " contains uncommitted changes: commit or stash them, " +
			"because the results must name a commit"}
	}
	dir, err := os.MkdirTemp("", "podlapse-lab-image-")
	if err != nil {
		return "", fmt.Errorf("check the agent's image: %w", err)
	}
	defer os.RemoveAll(dir)
	if _, err := agentimage.Open(a.image, dir); err != nil {
		return "", UsageError{"matrix: --image: " + err.Error()}
	}
	return version, nil
}

// tryStack runs the scenarios on a node of the stack. If the node does not start for a scenario, the outcome of this
// scenario contains the error, and tryStack skips the remaining scenarios.
func tryStack(ctx context.Context, n node.Node, a arguments, stdout io.Writer) (matrix.Result, error) {
	result := matrix.Result{Stack: n.Stack.Name, TriedAt: time.Now().UTC().Truncate(time.Second)}
	for _, name := range matrix.Scenarios() {
		i := slices.IndexFunc(scenario.Table(), func(s scenario.Scenario) bool { return s.Name == name })
		if i < 0 {
			return result, fmt.Errorf("the matrix names an unknown scenario %q", name)
		}
		s := scenario.Table()[i]
		form := node.AsProcess
		if s.Deployed {
			form = node.Deployed
		}
		outcome := matrix.Outcome{Scenario: name}
		up, err := raise(ctx, n, node.Agent{Program: a.agent, Archive: a.image, Form: form})
		if err == nil && result.Kubernetes == "" {
			err = readVersions(ctx, up, &result)
		}
		if err != nil {
			if ctx.Err() != nil {
				return result, err
			}
			outcome.Problem, _, _ = strings.Cut("start the node: "+err.Error(), "\n")
			result.Outcomes = append(result.Outcomes, outcome)
			return result, nil
		}
		if outcome.Figures, err = scenario.Play(ctx, up, s, scenario.Choice{Seed: a.seed}, stdout); err != nil {
			if ctx.Err() != nil {
				return result, err
			}
			text := strings.TrimPrefix(err.Error(), fmt.Sprintf("scenario %q: ", name))
			outcome.Problem, _, _ = strings.Cut(text, "\n")
			if problems := strings.Split(err.Error(), "\n"); errors.Is(err, scenario.ErrDisagree) && len(problems) > 1 {
				outcome.Problem = strings.TrimSpace(problems[1])
			}
		}
		result.Outcomes = append(result.Outcomes, outcome)
	}
	return result, nil
}

// agentVersion returns the version of the agent's program. The program prints "podlapse-agent VERSION (...)".
func agentVersion(ctx context.Context, program string) (string, error) {
	output, err := exec.CommandContext(ctx, program, "version").Output()
	if err != nil {
		return "", fmt.Errorf("run %s version: %w", program, err)
	}
	fields := strings.Fields(string(output))
	if len(fields) < 2 {
		return "", fmt.Errorf("\"%s version\" printed %q, want the program's name and version", program, output)
	}
	return fields[1], nil
}

func readVersions(ctx context.Context, n node.Node, r *matrix.Result) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	var node corev1.Node
	if err := client.Get(ctx, "/api/v1/nodes/"+layout.NodeName, &node); err != nil {
		return fmt.Errorf("read the versions of the node's software: %w", err)
	}
	info := node.Status.NodeInfo
	r.Kubernetes = info.KubeletVersion
	r.Runtime = strings.Replace(info.ContainerRuntimeVersion, "://", " ", 1)
	return nil
}
