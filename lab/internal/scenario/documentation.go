package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/manifests"
	"github.com/podlapse/podlapse/lab/internal/markdown"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// The scenario "documentation" runs every command of README.md, docs and docs/runbooks, except commands with a comment
// "not run". Before the first command, the scenario starts a Deployment and other workloads with the names that the
// documents use. Each documented command must succeed. The API server reaches the agent's pod and the kubelet through a
// tunnel, so that kubectl exec, logs and port-forward work.
func documentation(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	source, err := build.FindSource()
	if err != nil {
		return err
	}
	repository := filepath.Dir(source)
	commands, err := documentedCommands(repository)
	if err != nil {
		return err
	}
	p, err := installPlugin(b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(p.dir)) }()
	shop, err := openShop(ctx, b, p)
	if shop != nil {
		defer func() { err = errors.Join(err, shop.Clear(context.WithoutCancel(ctx))) }()
	}
	if err != nil {
		return err
	}
	closeTunnel, err := b.OpenTunnel(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeTunnel()) }()
	if err := p.awaitAgents(ctx); err != nil {
		return err
	}
	shell, err := openDocumentedShell(ctx, p, repository)
	if err != nil {
		return err
	}
	if err := runDocumented(ctx, v, shell, commands); err != nil {
		return err
	}
	return judgeRecords(shop.Observer, v)
}

// documentedCommands returns the commands of all documents for users. The order of the documents is README.md, docs and
// docs/runbooks.
func documentedCommands(repository string) ([]markdown.Command, error) {
	var files []string
	for _, pattern := range []string{"README.md", "docs/*.md", "docs/runbooks/*.md"} {
		found, err := filepath.Glob(filepath.Join(repository, pattern))
		if err != nil {
			return nil, fmt.Errorf("find documents: %w", err)
		}
		files = append(files, found...)
	}
	var all []markdown.Command
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		name, err := filepath.Rel(repository, file)
		if err != nil {
			return nil, fmt.Errorf("read documents: %w", err)
		}
		commands, err := markdown.Commands(filepath.ToSlash(name), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, commands...)
	}
	return all, nil
}

// The scenario creates objects with the names from the documents' examples.
const (
	documentedNamespace  = "shop"
	documentedDeployment = "shop"
	documentedSet        = "web" // a StatefulSet; its first pod is web-0
)

// openShop creates the namespace of the documents' examples, and starts the workloads in this namespace. Then openShop
// waits until the agent has reported the start-ups of all pods.
func openShop(ctx context.Context, b *bench.Bench, p plugin) (*bench.Bench, error) {
	shop, err := bench.Set(ctx, b.Node, documentedNamespace, purpose)
	if err != nil {
		return shop, fmt.Errorf("create the namespace of the documents' examples: %w", err)
	}
	const size, replicas = 2 << 20, 2
	cold, err := shop.Image(ctx, "shop", size)
	if err != nil {
		return shop, err
	}
	main := func(image string) corev1.PodSpec {
		const readyAfter = 1500 * time.Millisecond
		return corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, image, readyAfter)}}
	}
	job := corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{bench.InitContainer("import", shop.BaseImage, time.Second)}}
	if _, err := shop.CreateDeployment(ctx, documentedDeployment, replicas, main(cold)); err != nil {
		return shop, err
	}
	for _, w := range []struct {
		kind bench.WorkloadKind
		name string
		spec corev1.PodSpec
	}{
		{bench.StatefulSet, documentedSet, main(shop.BaseImage)},
		{bench.DaemonSet, "log-agent", main(shop.BaseImage)},
		{bench.Job, "import", job},
		{bench.CronJob, "backup", job},
	} {
		if err := shop.CreateWorkload(ctx, w.kind, w.name, w.spec); err != nil {
			return shop, err
		}
	}
	made, err := p.runKubectl(ctx, b.Node.AdminKubeconfig(), "--namespace="+documentedNamespace, "create", "job",
		"--from=cronjob/backup", "backup-1")
	if err == nil && made.code != 0 {
		err = fmt.Errorf("create a Job from a CronJob: %s", made.stderr)
	}
	if err != nil {
		return shop, err
	}
	const podCount = replicas + 4 // the StatefulSet, the DaemonSet and the two Jobs have one pod each
	return shop, awaitShop(ctx, shop, podCount)
}

// awaitShop waits until the agent has reported the start-ups of all pods.
func awaitShop(ctx context.Context, shop *bench.Bench, podCount int) error {
	var pods []corev1.Pod
	err := shop.Node.Report.Wait(ctx, "the pods of the documents' examples", startLimit, 100*time.Millisecond,
		func(ctx context.Context) (err error) {
			if pods, err = shop.Kube.Pods(ctx, shop.Namespace); err == nil && len(pods) < podCount {
				err = fmt.Errorf("%d of %d pods exist", len(pods), podCount)
			}
			return err
		})
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if _, err := shop.AwaitSettled(ctx, pod.Name); err != nil {
			return err
		}
	}
	return nil
}

// openDocumentedShell prepares a shell for the documents' commands. The shell's working directory looks like a clone of
// the repository. The shell's PATH contains the programs that the commands use.
func openDocumentedShell(ctx context.Context, p plugin, repository string) (documentedShell, error) {
	b := p.b
	definitions, err := manifests.Definitions(ctx)
	if err != nil {
		return documentedShell{}, err
	}
	for _, definition := range definitions {
		if err := b.ApplyOwned(ctx, definition); err != nil {
			return documentedShell{}, err
		}
	}
	agentPod, err := b.Node.AgentPod(ctx)
	if err != nil {
		return documentedShell{}, err
	}
	program, err := filepath.Abs(b.Node.Agent())
	clone := filepath.Join(p.dir, "clone")
	err = errors.Join(err, os.Symlink(program, filepath.Join(p.dir, "podlapse-agent")),
		os.Symlink(b.Node.Programs.Tool("kubectl"), filepath.Join(p.dir, "kubectl")),
		os.CopyFS(filepath.Join(clone, "manifests"), os.DirFS(node.Manifests(filepath.Join(repository, "lab")))),
		copyFile(b.Node.AgentObservations(), filepath.Join(clone, "recording.jsonl")))
	if err != nil {
		return documentedShell{}, fmt.Errorf("prepare the documents' commands: %w", err)
	}
	return documentedShell{b: b, dir: clone, names: documentedNames(agentPod.Name),
		releases: &helmReleases{}, environment: append(os.Environ(),
			"PATH="+p.dir+string(os.PathListSeparator)+os.Getenv("PATH"), "HOME="+p.dir,
			"KUBECONFIG="+b.Node.AdminKubeconfig(), "NO_COLOR=1", "NODE_NAME="+layout.NodeName)}, nil
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// runDocumented runs the commands, and adds a problem to the verdict for each command that fails.
func runDocumented(ctx context.Context, v *Verdict, shell documentedShell, commands []markdown.Command) error {
	marked, ran := 0, map[string]bool{}
	var background []*documentedProcess // background processes of the current code block
	last := markdown.Command{}
	endBlock := func() {
		if err := stopAll(background); err != nil {
			v.Problem("%s:%d: a command in the background: %v", last.File, last.Line, err)
		}
		background = nil
	}
	defer endBlock()
	for _, command := range commands {
		if command.File != last.File || command.Block != last.Block {
			endBlock()
		}
		last = command
		if command.NotRun != "" {
			marked++
			continue
		}
		run, err := planDocumented(command, shell.names)
		if err != nil {
			v.Problem("%v", err)
			continue
		}
		if ran[run.text] && !run.stays && run.helm == nil {
			continue // skip a repeated command, except a background command or a call of helm
		}
		ran[run.text] = true
		v.Compared++
		process, err := shell.runCommand(ctx, command.File, run)
		if err != nil {
			v.Problem("%s:%d: %s: %v", command.File, command.Line, firstLine(run.text), err)
		}
		if process != nil {
			background = append(background, process)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	v.Note("%d commands of the documentation ran, %d are marked as not run", len(ran), marked)
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
