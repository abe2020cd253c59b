package node

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/prereq"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// ScrapeInterval is the time between two scrapes of the agent.
const ScrapeInterval = time.Second

// scrapeConfig is the Prometheus configuration for scrapes of the agent. Prometheus keeps the labels that the agent
// sets.
const scrapeConfig = `global:
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
scrape_configs:
- job_name: podlapse
  honor_labels: true
  static_configs:
  - targets: [%[2]q]
`

// StartPrometheus starts two Prometheus servers that scrape the agent, and waits until both servers are ready. Debian's
// Prometheus 2.42 stores only one kind of bucket for histograms: the classic buckets or, with a feature flag, the
// native buckets. The lab therefore runs one Prometheus server for each kind of bucket.
func (n Node) StartPrometheus(ctx context.Context) error {
	if err := n.StopPrometheus(); err != nil { // a killed scenario leaves its servers running
		return err
	}
	programs, err := prereq.Prometheus(ctx, n.Report, n.Cache)
	if err != nil {
		return err
	}
	config := n.In("prometheus.yml")
	text := fmt.Sprintf(scrapeConfig, ScrapeInterval, layout.Address(layout.AgentPort))
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write Prometheus' configuration: %w", err)
	}
	servers := []component{
		n.prometheus(prometheusName, programs, config, layout.PrometheusPort, "exemplar-storage"),
		n.prometheus(nativeName, programs, config, layout.NativePort, "exemplar-storage,native-histograms"),
	}
	for _, c := range servers {
		if err := n.ensureRunning(c); err != nil {
			return err
		}
	}
	for _, c := range servers {
		if err := n.awaitReady(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

func (n Node) prometheus(name, programs, config string, port int, features string) component {
	return component{
		Spec: process.Spec{Name: name, Path: filepath.Join(programs, "prometheus"), Args: []string{
			"--config.file=" + config, "--web.listen-address=" + layout.Address(port),
			"--storage.tsdb.path=" + n.In(name), "--storage.tsdb.retention.time=1h",
			"--enable-feature=" + features, "--log.level=warn",
		}, Inputs: []string{config}},
		ports: []int{port},
		ready: func(ctx context.Context) error { return checkURL(ctx, "http://"+layout.Address(port)+"/-/ready") },
		limit: startLimit,
	}
}

// StopPrometheus stops the Prometheus servers if they run, and removes their data.
func (n Node) StopPrometheus() error {
	if err := n.stopComponents(2*time.Second, prometheusName, nativeName); err != nil {
		return err
	}
	for _, name := range []string{prometheusName, nativeName} {
		if err := os.RemoveAll(n.In(name)); err != nil {
			return fmt.Errorf("remove the data of %s: %w", name, err)
		}
	}
	return nil
}

// KillPrometheus sends SIGKILL to the Prometheus server that StartMonitoring started. The kernel does the same when
// memory runs out.
func (n Node) KillPrometheus() error { return n.stopComponents(0, prometheusName) }

// LintMetrics runs promtool to check metrics in the Prometheus text format. LintMetrics returns promtool's output.
func (n Node) LintMetrics(ctx context.Context, text string) (string, error) {
	programs, err := prereq.Prometheus(ctx, n.Report, n.Cache)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(programs, "promtool"), "check", "metrics")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if _, failed := err.(*exec.ExitError); err != nil && !failed {
		return "", fmt.Errorf("run promtool: %w", err)
	}
	complaint := strings.TrimSpace(string(out))
	if err != nil && complaint == "" {
		complaint = err.Error()
	}
	return complaint, nil
}
