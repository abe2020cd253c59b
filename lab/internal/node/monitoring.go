package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/prereq"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// Monitoring contains the settings of a Prometheus server that is configured as docs/monitoring.md recommends. Each
// target has the label "node" with the name of the agent's node.
type Monitoring struct {
	// Interval is the time between two scrapes. Rule groups without their own interval are evaluated at the same
	// interval.
	Interval time.Duration
	Rules    []byte // content of a rule file
	// If Extra is set, Prometheus also scrapes the first extra agent. Extra is the name of this agent's node.
	Extra    string
	NoAgents bool // scrape nothing
}

// Rules returns the content of the rule file in the manifests.
func Rules() ([]byte, error) {
	source, err := build.FindSource()
	if err != nil {
		return nil, err
	}
	rules, err := os.ReadFile(filepath.Join(Manifests(source), "monitoring", "rules.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	return rules, nil
}

// config returns the configuration of Prometheus. The targets are static, because Debian's Prometheus does not support
// the discovery of Kubernetes pods.
func (m Monitoring) config(rules string) string {
	var text strings.Builder
	fmt.Fprintf(&text, `global:
  scrape_interval: %[1]s
  scrape_timeout: %[1]s
  evaluation_interval: %[1]s
rule_files: [%[2]q]
`, m.Interval, rules)
	if m.NoAgents {
		return text.String()
	}
	text.WriteString(`scrape_configs:
- job_name: podlapse
  honor_labels: true
  static_configs:
`)
	target := func(address, node string) {
		fmt.Fprintf(&text, "  - targets: [%q]\n    labels: {node: %q}\n", address, node)
	}
	target(layout.Address(layout.AgentPort), layout.NodeName)
	if m.Extra != "" {
		target(extraAddress(0), m.Extra)
	}
	return text.String()
}

// FindPrometheus finds the programs that StartMonitoring needs. If the programs are missing, FindPrometheus tries to
// download them. If FindPrometheus can neither find nor download the programs, it returns an error.
func (n Node) FindPrometheus(ctx context.Context) error {
	_, err := prereq.Prometheus(ctx, n.Report, n.Cache)
	return err
}

// StartMonitoring starts a Prometheus server with an empty storage directory. StartMonitoring waits until this server
// has scraped every target.
func (n Node) StartMonitoring(ctx context.Context, m Monitoring) (prometheus.Client, error) {
	client := prometheus.Client{Server: "http://" + layout.Address(layout.PrometheusPort)}
	if err := n.StopPrometheus(); err != nil {
		return client, err
	}
	programs, err := prereq.Prometheus(ctx, n.Report, n.Cache)
	if err != nil {
		return client, err
	}
	config, rules := n.In("monitoring.yml"), n.In("rules.yaml")
	for path, text := range map[string]string{rules: string(m.Rules), config: m.config(rules)} {
		if err := writeFile(path, text); err != nil {
			return client, err
		}
	}
	c := n.prometheus(prometheusName, programs, config, layout.PrometheusPort, "exemplar-storage")
	c.Inputs = append(c.Inputs, rules)
	if err := n.ensureRunning(c); err != nil {
		return client, err
	}
	if err := n.awaitReady(ctx, c); err != nil || m.NoAgents {
		return client, err
	}
	return client, n.Report.Wait(ctx, "Prometheus to scrape the agent", 6*m.Interval+5*time.Second,
		200*time.Millisecond, func(ctx context.Context) error {
			missing, err := client.Query(ctx, `up == 0 or absent(up) or (up unless on (instance) podlapse_build_info)`)
			if err != nil {
				return err
			}
			if len(missing) > 0 && len(missing[0].Labels) == 0 {
				return errors.New("the list of targets is still empty")
			}
			if len(missing) > 0 {
				return fmt.Errorf("the target %v has not been scraped successfully yet", missing[0].Labels)
			}
			return nil
		})
}
