package scenario

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/layout"
)

// form is a command line of the plugin, with the expected exit code and output.
type form struct {
	arguments string
	code      int
	stdout    string // text that standard output must contain
	stderr    string // text that standard error must contain
}

// judgeForms runs the plugin with arguments and flags that users know from kubectl, such as deploy/NAME and -o wide.
// judgeForms needs the pod "shown" and the Deployment "many".
func (p plugin) judgeForms(ctx context.Context, v *Verdict) error {
	n := p.b.Namespace
	waterfall := n + "/shown: "
	for _, f := range []form{
		{"explain shown -n " + n, 0, waterfall, ""},
		{"explain pod/shown -n " + n, 0, waterfall, ""},
		{"explain pod shown -n " + n, 0, waterfall, ""},
		{"explain pods shown -n " + n + " -o name", 0, "pod/shown\n", ""},
		{"explain " + n + "/shown", 0, waterfall, ""},
		{"explain deploy/many -n " + n + " -o name", 0, "pod/many-", ""},
		{"explain deployments.apps many -n " + n + " --sort-by duration", 0, n + "/many-", ""},
		{"explain node/" + layout.NodeName + " -n " + n + " -o name", 0, "pod/shown\n", ""},
		{"explain -A -l app=many -o wide", 0, "Deployment/many", ""},
		{"top --once=true -n " + n + " -o name", 0, "pod/shown\n", ""},
		{"top -n " + n + " --no-headers --sort-by phase", 0, n + "/shown", ""},
		{"pulls -n " + n + " -o wide --no-headers", 0, n + "/shown", ""},
		{"nodes -o wide", 0, "only one agent responded, so there is no other node to compare with", ""},
		{"nodes -o name", 0, "node/" + layout.NodeName + "\n", ""},
		{"registries -o json", 0, `"p90_seconds"`, ""},
		{"explain shown -n " + n + " --as nobody", 5, "", "requires these permissions"},
		{"explain " + n + "/shown -n other", 2, "", "use only one of the two namespaces"},
		{"explain svc/shown -n " + n, 2, "", "resources of type svc have no start-ups"},
		{"explain deploy/none -n " + n, 3, "", "check the name and the namespace"},
		{"top --agent-namespace none", 4, "", "no agent"},
	} {
		got, err := p.runPlugin(ctx, strings.Fields(f.arguments)...)
		if err != nil {
			return err
		}
		v.Compared++
		if got.code != f.code || !strings.Contains(got.stdout, f.stdout) || !strings.Contains(got.stderr, f.stderr) {
			v.Problem("%s: exit code %d, want %d with standard output %q and standard error %q:\n%s%s", f.arguments,
				got.code, f.code, f.stdout, f.stderr, got.stdout, got.stderr)
		}
	}
	return errors.Join(p.judgeFallback(ctx, v), p.judgePlugInPage(ctx, v))
}

// judgeFallback runs the plugin with an account that has no permission for the API server's proxy. The plugin must
// reach the agent over a port-forward. With -v, the plugin must report the port-forward once.
func (p plugin) judgeFallback(ctx context.Context, v *Verdict) error {
	err := p.b.CreateAccount(ctx, "forwarder", []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get", "list"}},
		{APIGroups: []string{""}, Resources: []string{"pods/portforward"}, Verbs: []string{"get", "create"}},
	}...)
	if err != nil {
		return err
	}
	token, err := p.b.AccountToken(ctx, p.b.Namespace, "forwarder")
	if err != nil {
		return err
	}
	kubeconfig, err := p.b.Node.TokenKubeconfig(p.b.Namespace+"-forwarder", token)
	if err != nil {
		return err
	}
	got, err := p.runKubectl(ctx, kubeconfig, "podlapse", "explain", "shown", "-n", p.b.Namespace, "-v")
	if err != nil {
		return err
	}
	if v.Compared++; got.code != 0 || strings.Count(got.stderr, "over port-forwards") != 1 {
		v.Problem("explain without permission for the proxy: exit code %d: %s%s", got.code, got.stdout, got.stderr)
	}
	return nil
}

// judgePlugInPage runs "kubectl podlapse page" for the node, requests the URL that the command prints, and interrupts
// the command.
func (p plugin) judgePlugInPage(ctx context.Context, v *Verdict) (err error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, p.b.Node.Programs.Tool("kubectl"), "podlapse", "page", layout.NodeName)
	cmd.Env = []string{"PATH=" + p.dir, "KUBECONFIG=" + p.b.Node.AdminKubeconfig(), "HOME=" + p.dir}
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("run \"kubectl podlapse page\": %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("run \"kubectl podlapse page\": %w", err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("read the output of \"kubectl podlapse page\": %w", err), cmd.Wait())
	}
	url := line[strings.LastIndex(line, " ")+1:]
	v.Compared += 2
	if err := requestPage(ctx, strings.TrimSpace(url)); err != nil {
		v.Problem("request the URL that \"kubectl podlapse page\" printed: %v; the output was %q", err, line)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		return fmt.Errorf("interrupt \"kubectl podlapse page\": %w", err)
	}
	if err := cmd.Wait(); err != nil {
		v.Problem("interrupted \"kubectl podlapse page\": %v, want exit code 0", err)
	}
	return nil
}

// requestPage requests the URL. If the request fails, or if the response is not podlapse's page, requestPage returns an
// error.
func requestPage(ctx context.Context, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("create request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("read page: %w", err)
	}
	if response.StatusCode != http.StatusOK || !strings.Contains(string(body), "podlapse") {
		return fmt.Errorf("the response (status %d) is not podlapse's page", response.StatusCode)
	}
	return nil
}
