package cli

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/fleetmetrics"
	"github.com/podlapse/podlapse/internal/report"
)

// maxMetricsTime is the largest value of --since with --prometheus.
const maxMetricsTime = 7 * 24 * time.Hour

// prometheus contains the flags that select a Prometheus server.
type prometheus struct {
	server *url.URL // nil to query the agents
	token  string   // bearer token for the server; empty without --prometheus-token-file
}

func (p *prometheus) table() flags.Table {
	return flags.Table{
		{
			Name: "prometheus", Value: "URL",
			Help: "URL of a Prometheus server. The command queries this server instead of the agents. Use this flag " +
				"in large fleets. The server must have the metrics of the agents and the recording rules of " +
				"podlapse. Example: http://127.0.0.1:9090. For a server that requires a password: " +
				"http://USER:PASSWORD@HOST:PORT",
			Set: setURL(&p.server),
		},
		{
			Name: "prometheus-token-file", Value: "FILE",
			Help: "file with the bearer token for the server in --prometheus", Set: setTokenFile(&p.token),
		},
	}
}

// check returns an error if the user set flags that select agents. These flags have no meaning for a Prometheus server.
func (p *prometheus) check(t target) error {
	given := t.ofServer()
	for _, f := range []struct {
		flag string
		is   bool
	}{
		{"--server", t.server != nil}, {"--kubeconfig", t.kubeconfig != ""}, {"--context", t.context != ""},
		{"--node", t.node != ""}, {"--as", t.as != ""}, {"--as-group", len(t.asGroups) > 0},
	} {
		if f.is {
			given = append(given, f.flag)
		}
	}
	if len(given) > 0 {
		return fmt.Errorf("--prometheus cannot be combined with %s: remove --prometheus or the other flags",
			strings.Join(given, ", "))
	}
	return nil
}

// fromPrometheus prints a report from the metrics in the Prometheus server and returns the exit code.
func (c *reportConfig) fromPrometheus(ctx context.Context, call Call) int {
	if err := c.check(); err != nil {
		return call.FailUsage(err)
	}
	server, err := fleetmetrics.Open(c.prometheus.server, c.prometheus.token)
	if err != nil {
		return call.Fail(err)
	}
	defer server.Close()
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	measured, err := server.Read(ctx, call.Now(), c.past)
	if err != nil {
		call.note(err)
		return exitOf(err)
	}
	text, err := c.text(report.FromMetrics(measured, c.rows), c.page(call.Stdout, call.Getenv))
	if err != nil {
		return call.Fail(err)
	}
	return agentQuery{Call: call}.write(text)
}
