package scenario

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// plugin is the kubectl plugin. The plugin is the agent's program, under the plugin's name, in a directory on kubectl's
// PATH.
type plugin struct {
	b   *bench.Bench
	dir string
}

// commandLine tests the kubectl plugin while a pod pulls an image, after the pod's start-up, and after the pod's
// deletion. After the start-up, the scenario tests all forms of the plugin's arguments. The plugin must find the
// DaemonSet's agent through the API server. The plugin must use a port-forward, because the agent serves data about
// pods only to loopback clients. At the end, the scenario deploys an agent that serves data about pods to all clients.
// A browser then opens this agent's page through the API server's proxy.
func commandLine(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	closeTunnel, err := b.OpenTunnel(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTunnel()) }()
	p, err := installPlugin(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()

	const size, rate = 12 << 20, 3 << 20
	cold, err := b.Image(ctx, "main", size)
	if err != nil {
		return err
	}
	if err := b.Throttle(ctx, rate); err != nil {
		return err
	}
	if err := b.CreatePod(ctx, "shown",
		corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, cold, 0)}}); err != nil {
		return err
	}
	if err := p.awaitPull(ctx, v, b.Namespace+"/shown"); err != nil {
		return err
	}
	if err := b.AwaitReady(ctx, "shown", startLimit); err != nil {
		return err
	}
	timeline, err := b.AwaitSettled(ctx, "shown")
	if err != nil {
		return err
	}
	pods, err := b.CreateDeployment(ctx, "many", 2,
		corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, cold, 0)}})
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if _, err := b.AwaitSettled(ctx, pod); err != nil {
			return err
		}
	}
	if err := p.judgeForms(ctx, v); err != nil {
		return err
	}
	if err := b.DeletePod(ctx, "shown"); err != nil {
		return err
	}
	if err := b.AwaitGone(ctx, "shown"); err != nil {
		return err
	}
	if err := p.judgeGone(ctx, v, timeline); err != nil {
		return err
	}
	if err := p.judgeRules(ctx, v); err != nil {
		return err
	}
	return p.judgePage(ctx, v)
}

func installPlugin(b *bench.Bench) (plugin, error) {
	dir, err := os.MkdirTemp("", "plugin")
	if err != nil {
		return plugin{}, fmt.Errorf("install the kubectl plugin: %w", err)
	}
	program, err := filepath.Abs(b.Node.Agent())
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "kubectl-podlapse"))
	}
	if err == nil {
		err = os.Symlink(program, filepath.Join(dir, "kubectl_complete-podlapse"))
	}
	if err != nil {
		return plugin{}, errors.Join(fmt.Errorf("install the kubectl plugin: %w", err), os.RemoveAll(dir))
	}
	return plugin{b, dir}, nil
}

// kubectlResponse is the result of a call of kubectl.
type kubectlResponse struct {
	code           int
	stdout, stderr string
}

// runKubectl runs kubectl with a kubeconfig.
func (p plugin) runKubectl(ctx context.Context, kubeconfig string, arguments ...string) (kubectlResponse, error) {
	cmd := exec.CommandContext(ctx, p.b.Node.Programs.Tool("kubectl"), arguments...)
	cmd.Env = []string{"PATH=" + p.dir, "KUBECONFIG=" + kubeconfig, "HOME=" + p.dir}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exited *exec.ExitError
	if errors.As(err, &exited) && ctx.Err() == nil {
		err = nil
	}
	if err != nil {
		return kubectlResponse{}, fmt.Errorf("run kubectl %s: %w", strings.Join(arguments, " "), err)
	}
	return kubectlResponse{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}, nil
}

// runPlugin runs the plugin with the administrator's kubeconfig.
func (p plugin) runPlugin(ctx context.Context, arguments ...string) (kubectlResponse, error) {
	return p.runKubectl(ctx, p.b.Node.AdminKubeconfig(), append([]string{"podlapse"}, arguments...)...)
}

// awaitAgents waits until the plugin reaches the agent. After a restart, the kubelet first reads its pods from the API
// server. Before that, the kubelet cannot forward ports.
func (p plugin) awaitAgents(ctx context.Context) error {
	return p.b.Node.Report.Wait(ctx, "the plugin to reach the agent", startLimit, 200*time.Millisecond,
		func(ctx context.Context) error {
			got, err := p.runPlugin(ctx, "nodes")
			if err == nil && got.code != 0 {
				err = fmt.Errorf("\"kubectl podlapse nodes\" failed with exit code %d: %s", got.code, got.stderr)
			}
			return err
		})
}

// awaitPull waits until the commands "top" and "pulls" show the progress of the pod's image pull.
func (p plugin) awaitPull(ctx context.Context, v *Verdict, pod string) error {
	for _, command := range []string{"top", "pulls"} {
		err := p.b.Node.Report.Wait(ctx, command+" to show the pull", startLimit, 200*time.Millisecond,
			func(ctx context.Context) error {
				got, err := p.runPlugin(ctx, command)
				if err != nil {
					return err
				}
				for line := range strings.Lines(got.stdout) {
					if strings.Contains(line, pod) && strings.Contains(line, mainName) &&
						strings.Contains(line, " %)") {
						v.Note("%s during the pull: %s", command, strings.Join(strings.Fields(line), " "))
						if command == "top" {
							return p.takeTopPicture(ctx)
						}
						return nil
					}
				}
				return fmt.Errorf("the output of \"kubectl podlapse %s\" does not show the progress of the pull; "+
					"exit code %d: %s%s", command, got.code, got.stdout, got.stderr)
			})
		if err != nil {
			return err
		}
		v.Compared++
	}
	return nil
}

// takeTopPicture replaces the documentation's picture of "kubectl podlapse top". The picture is 120 columns wide.
func (p plugin) takeTopPicture(ctx context.Context) error {
	got, err := p.runPlugin(ctx, "top", "--width=120")
	if err != nil {
		return err
	}
	return saveTopPicture("kubectl podlapse top", got.stdout)
}

// judgeGone requires that the command "explain" shows a deleted pod. The output must contain the verdict and the
// durations that the agent reported before the pod was deleted.
func (p plugin) judgeGone(ctx context.Context, v *Verdict, timeline agent.Timeline) error {
	pod := p.b.Namespace + "/shown"
	var want struct {
		Verdict string        `json:"verdict"`
		Total   json.Number   `json:"total_seconds"`
		Phases  []phaseLength `json:"phases"`
	}
	if err := json.Unmarshal(timeline.Raw, &want); err != nil {
		return fmt.Errorf("read the agent's timeline: %w", err)
	}
	text, err := p.runPlugin(ctx, "explain", pod)
	if err != nil {
		return err
	}
	lines := strings.Join(strings.Fields(text.stdout), " ")
	v.Compared += 2 + len(want.Phases)
	if text.code != 0 || !strings.HasPrefix(lines, pod+": "+want.Verdict+" on node ") {
		v.Problem("explain of a deleted pod: exit code %d, want 0 and the verdict %q at the start: %s%s", text.code,
			want.Verdict, text.stdout, text.stderr)
	}
	for _, phase := range want.Phases {
		length, err := phase.Length.Float64()
		if err != nil {
			return fmt.Errorf("read the agent's timeline: %w", err)
		}
		row := strings.Join(strings.Fields(fmt.Sprintf("%s %s %.3f s", phase.Phase, phase.Container, length)), " ")
		if phase.Merged == nil && !strings.Contains(lines, row+" ±") {
			v.Problem("explain of a deleted pod: row %q is missing:\n%s", row, text.stdout)
		}
	}
	again, err := p.runPlugin(ctx, "explain", pod, "-o", "json")
	if err != nil {
		return err
	}
	var got struct {
		Total  json.Number `json:"total_seconds"`
		GoneAt string      `json:"gone_at"`
	}
	if err := json.Unmarshal([]byte(again.stdout), &got); err != nil || got.Total != want.Total || got.GoneAt == "" {
		v.Problem("explain -o json of a deleted pod: error %v, total %s s, gone_at %q; want a value of gone_at, and "+
			"the total %s s", err, got.Total,
			got.GoneAt, want.Total)
	}
	v.Note("explain of a deleted pod:\n%s", text.stdout)
	return nil
}

// phaseLength is a phase of the agent's timeline, with its duration.
type phaseLength struct {
	Phase     string      `json:"phase"`
	Container string      `json:"container"`
	Length    json.Number `json:"seconds"`
	Merged    []string    `json:"merged_with"`
}

// judgeRules runs the command "explain" with two accounts. The command must succeed for the account with the RBAC rules
// in docs/cli.md, and must fail for the account without permissions. judgeRules also tests the exit code for a pod that
// never existed. Finally, it requires that the shell completion of --node returns the name of the node.
func (p plugin) judgeRules(ctx context.Context, v *Verdict) error {
	pod := p.b.Namespace + "/shown"
	rules := map[string][]rbacv1.PolicyRule{
		"user": {
			{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}},
			{APIGroups: []string{""}, Resources: []string{"pods/proxy"}, Verbs: []string{"get"}},
			{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}},
		},
		"unprivileged": {},
	}
	for account, code := range map[string]int{"user": 0, "unprivileged": 5} {
		if err := p.b.CreateAccount(ctx, account, rules[account]...); err != nil {
			return err
		}
		token, err := p.b.AccountToken(ctx, p.b.Namespace, account)
		if err != nil {
			return err
		}
		kubeconfig, err := p.b.Node.TokenKubeconfig(p.b.Namespace+"-"+account, token)
		if err != nil {
			return err
		}
		got, err := p.runKubectl(ctx, kubeconfig, "podlapse", "explain", pod)
		if err != nil {
			return err
		}
		if v.Compared++; got.code != code {
			v.Problem("explain for account %s: exit code %d, want %d: %s", account, got.code, code, got.stderr)
		}
	}
	missing, err := p.runPlugin(ctx, "explain", p.b.Namespace+"/never-was")
	if err != nil {
		return err
	}
	if v.Compared++; missing.code != 3 {
		v.Problem("explain of a pod that never existed: exit code %d, want 3: %s", missing.code, missing.stderr)
	}
	completed, err := p.runKubectl(ctx, p.b.Node.AdminKubeconfig(), "__complete", "podlapse", "explain", "--node", "")
	if err != nil {
		return err
	}
	if v.Compared++; !strings.Contains(completed.stdout, layout.NodeName) {
		v.Problem("the completion of --node must include %s, but returned: %s%s", layout.NodeName, completed.stdout,
			completed.stderr)
	}
	return nil
}
