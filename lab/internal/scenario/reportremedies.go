package scenario

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/node"
)

// Exit codes of the agent's commands.
const (
	exitFailed      = 1
	exitUnreachable = 4
	exitPartial     = 6 // an agent did not respond
)

// judgeRemedies requires that the command "report" fails and prints a remedy for each problem with Prometheus. The
// problems are a wrong URL, a server that hangs, a server that crashes while the command runs, a server without rules,
// and a server without data. At the end, judgeRemedies stops Prometheus.
func (m reportMetrics) judgeRemedies(ctx context.Context) error {
	m.requireRemedy(ctx, "no server", exitUnreachable, "Check that Prometheus listens at http://"+refusedAddress,
		"http://"+refusedAddress)
	m.requireRemedy(ctx, "another server", exitFailed, "Set --prometheus to the URL of a Prometheus server",
		m.b.Agent.Server)
	m.requireRemedy(ctx, "wrong path", exitFailed, "The server must respond at "+m.client.Server+"/none/api/v1/query",
		m.client.Server+"/none")
	if err := m.b.Node.Freeze(node.Prometheus); err != nil {
		return err
	}
	m.requireRemedy(ctx, "frozen server", exitUnreachable, "Set a longer --timeout or a shorter --since",
		m.client.Server, "--timeout=2s")
	killed := make(chan error, 1)
	time.AfterFunc(time.Second, func() { killed <- m.b.Node.KillPrometheus() })
	m.requireRemedy(ctx, "server that crashes before it responds", exitUnreachable,
		"Check that Prometheus listens at "+m.client.Server, m.client.Server)
	if err := <-killed; err != nil {
		return err
	}
	for _, without := range []struct {
		what, remedy string
		monitoring   node.Monitoring
	}{
		{"no rules", "Check that the server loads manifests/monitoring/rules.yaml",
			node.Monitoring{Interval: reportScrape, Rules: []byte("groups: []\n")}},
		{"no agents", "the query count(podlapse_build_info) must return the number of agents",
			node.Monitoring{Interval: reportScrape, Rules: m.rules, NoAgents: true}},
	} {
		if _, err := m.b.Node.StartMonitoring(ctx, without.monitoring); err != nil {
			return err
		}
		// A report contains the data until the latest full second, and no newer data. A report right after the first
		// scrape might not contain the data of this scrape.
		if err := sleep(ctx, 2*reportScrape); err != nil {
			return err
		}
		m.requireRemedy(ctx, without.what, exitFailed, without.remedy, m.client.Server)
	}
	return m.b.Node.StopPrometheus()
}

// requireRemedy requires that a report from the given server fails with the given exit code, and that the error
// contains the given remedy.
func (m reportMetrics) requireRemedy(ctx context.Context, what string, code int, remedy, server string,
	arguments ...string) {
	arguments = append(reportFrom(server), arguments...)
	output, err := exec.CommandContext(ctx, m.b.Node.Agent(), arguments...).Output()
	m.v.Compared++
	var exited *exec.ExitError
	if !errors.As(err, &exited) {
		m.v.Problem("Prometheus, %s: the report must fail, but: %v\n%s", what, err, output)
		return
	}
	text := strings.TrimSpace(string(exited.Stderr))
	if exited.ExitCode() != code || !strings.Contains(text, remedy) || len(output) > 0 {
		m.v.Problem("Prometheus, %s: exit code %d, want %d and %q:\n%s", what, exited.ExitCode(), code, remedy,
			text+"\n"+string(output))
		return
	}
	m.v.Note("Prometheus, %s:\n%s", what, text)
}
