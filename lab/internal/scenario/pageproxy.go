package scenario

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/browser"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/page"
	"github.com/podlapse/podlapse/lab/internal/prereq"
)

// judgePage opens the agent's page in a browser. The browser connects through "kubectl proxy" and the API server's
// proxy to pods, as documented in docs/page.md. Then a pod starts, and the browser opens the waterfall of this pod.
// The browser must enforce the page's content security policy.
func (p plugin) judgePage(ctx context.Context, v *Verdict) (err error) {
	if err := prereq.Browser(ctx, p.b.Node.Report); err != nil {
		return err
	}
	// The API server's proxy is not a loopback client, so the agent must serve all clients. After the scenario, the
	// bench restores the agent's usual settings.
	if err := p.b.Node.DeployAgent(ctx, "open-api"); err != nil {
		return err
	}
	server, stop, err := p.runProxy(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	agentPod, err := p.runKubectl(ctx, p.b.Node.AdminKubeconfig(), "get", "pods", "--namespace="+node.AgentNamespace,
		"--selector=app.kubernetes.io/component=agent", "--output=jsonpath={.items[0].metadata.name}")
	if err != nil {
		return err
	}
	chromium, err := browser.Start(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, chromium.Close()) }()
	tab, err := chromium.Open(browser.Look{Width: deskWidth, Height: deskHeight})
	if err != nil {
		return err
	}
	address := server + "/api/v1/namespaces/" + node.AgentNamespace + "/pods/" + agentPod.stdout + ":9717/proxy/"
	if err := tab.Go(address); err != nil {
		return err
	}
	if err := tab.Await("the page to be live at "+address, page.Live, 2*pageWait); err != nil {
		return err
	}
	if err := p.b.CreatePod(ctx, "seen",
		corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, p.b.BaseImage, 0)}}); err != nil {
		return err
	}
	if err := tab.Await("the row of a pod, ready", page.HasRow("seen", agent.Ready), startLimit); err != nil {
		return err
	}
	if _, err := browser.Eval[int](tab,
		`([...document.querySelectorAll('a.row')].find((row) =>
			row.querySelector('.pod b').textContent === 'seen').click(), 0)`); err != nil {
		return err
	}
	if err := tab.Await("the waterfall of the pod", `document.querySelectorAll('.wf-rows > .wf-phase').length > 3`,
		pageWait); err != nil {
		return err
	}
	v.Compared += 4
	for _, complaint := range tab.Complaints() {
		v.Problem("behind the API server's proxy, the browser must report no errors, but reports: %s", complaint)
	}
	if err := page.Attack(tab); err != nil {
		v.Problem("behind the API server's proxy, the browser must enforce the page's content security policy: %v", err)
	}
	v.Note("the page was live at %s", address)
	return nil
}

// runProxy runs "kubectl proxy" and returns the proxy's address.
func (p plugin) runProxy(ctx context.Context) (server string, stop func() error, err error) {
	cmd := exec.CommandContext(ctx, p.b.Node.Programs.Tool("kubectl"), "proxy", "--port=0")
	cmd.Env = []string{"KUBECONFIG=" + p.b.Node.AdminKubeconfig(), "HOME=" + p.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return "", nil, fmt.Errorf("run kubectl proxy: %w", err)
	}
	stop = func() error {
		_ = cmd.Process.Kill() // the process might have exited already
		var killed *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &killed) {
			return fmt.Errorf("stop kubectl proxy: %w", err)
		}
		return nil
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "Starting to serve on ")
	if err == nil && !ok {
		err = errors.New("the output contains no address")
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("run kubectl proxy: %w: %q", err, line), stop())
	}
	return "http://" + address, stop, nil
}
