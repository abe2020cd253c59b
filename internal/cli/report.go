package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/report"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
)

const (
	outputHTML = "html"
	// maxReportRows is the largest value of --rows.
	maxReportRows = 1000
)

// reportConfig selects the agents or the Prometheus server to query, and the period and the format of the report.
type reportConfig struct {
	target
	output
	prometheus prometheus
	past       time.Duration
	rows       int
}

func (c *reportConfig) table() flags.Table {
	shape := c.output.table(outputTable, outputJSON, outputYAML, outputHTML)
	shape[0].Help = "output format. \"table\": text. \"json\" and \"yaml\": the data of the text. \"html\": one " +
		"HTML file without scripts"
	return slices.Concat(flags.Table{
		{
			Name: "since", Value: "DURATION", Default: "24h",
			Help: "show start-ups that are in progress or that ended in the past DURATION. DURATION: at most 24h " +
				"(with --prometheus, at most 7d), in the units s, m, h, d. Without --prometheus, the command rounds " +
				"the beginning of this period down to a full hour. With --prometheus, the command rounds DURATION " +
				"up to whole hours",
			Set: flags.Duration(&c.past, maxMetricsTime,
				"at most 24h, or at most 7d with --prometheus, for example 6h"),
		},
		{
			Name: "rows", Value: "NUMBER", Default: "5",
			Help: "maximum number of rows in each section, 1 to 1000", Set: c.setRows,
		},
	}, c.noNamespaces("nodes and registries"), shape, c.prometheus.table(), c.target.table())
}

func (c *reportConfig) setRows(value string) error {
	rows, err := strconv.Atoi(value)
	if err != nil || rows < 1 || rows > maxReportRows {
		return fmt.Errorf("invalid number %q: must be 1 to %d", value, maxReportRows)
	}
	c.rows = rows
	return nil
}

// check reports flags that the user cannot combine.
func (c *reportConfig) check() error {
	if c.prometheus.server != nil {
		return c.prometheus.check(c.target)
	}
	switch {
	case c.prometheus.token != "":
		return errors.New("--prometheus-token-file requires --prometheus: add --prometheus with the URL of a " +
			"Prometheus server")
	case c.past > tally.Kept:
		return errors.New("--since must be at most 24h without --prometheus, because agents keep report data for " +
			"only 24h: set a shorter --since, or add --prometheus with the URL of a Prometheus server")
	}
	return c.target.check()
}

func runReport(ctx context.Context, call Call) int {
	var c reportConfig
	if _, code, ok := call.Parse(c.table(), call.help(), 0); !ok {
		return code
	}
	if c.prometheus.server != nil {
		return c.fromPrometheus(ctx, call)
	}
	a, code, ok := prepare(call, &c.target, c.check)
	if !ok {
		return code
	}
	defer a.close()
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	result, failed, err := a.report(ctx, c)
	if err != nil {
		return a.fail(err)
	}
	text, err := c.text(result, c.page(a.Stdout, a.Getenv))
	if err != nil {
		return a.fail(err)
	}
	return a.print(text, failed)
}

// report queries the agents for the sums of their start-ups, and adds up the sums of all agents.
func (a agentQuery) report(ctx context.Context, c reportConfig) (report.Report, []error, error) {
	found, err := a.agents(ctx, a.target.node)
	if err != nil {
		return report.Report{}, nil, err
	}
	now := a.Now()
	fleet := report.NewFleet(now.Add(-c.past), now)
	since := fleet.Beginning()
	ask := func(ctx context.Context, agent client.Client) (api.ReportRecord, error) {
		return sumsOf(ctx, agent, since, now)
	}
	_, failed, err := eachAgent(ctx, a, found, ask, func(response agents.Result[api.ReportRecord]) {
		fleet.Add(cmp.Or(response.Agent.Node, response.Value.Node), response.Value)
	})
	if err != nil {
		return report.Report{}, nil, err
	}
	result := fleet.Report(c.rows)
	var nodes []string
	for _, err := range failed {
		var ofAgent *nodeError
		if errors.As(err, &ofAgent) && !errors.Is(err, agents.ErrNotQueried) {
			nodes = append(nodes, ofAgent.node)
		}
	}
	slices.Sort(nodes)
	late := lateOf(failed)
	result.RequestFailed(nodes, len(failed)-late, late)
	return result, failed, nil
}

// sumsOf returns the sums of one agent's start-ups. If the sums are not available, sumsOf adds up the records of the
// start-ups. The sums are not available if the agent is too old, if the agent keeps no sums, or if the user has no
// permission to get sums. If the sums or the records have impossible values, sumsOf fails.
func sumsOf(ctx context.Context, c client.Client, since, now time.Time) (api.ReportRecord, error) {
	sums, err := c.Report(ctx, since)
	if err == nil {
		return sums, impossible("sums", report.Check(sums))
	}
	if !unknownToAgent(err) && !forbiddenByAgent(err) {
		return sums, err
	}
	known := tally.NewSums("")
	node, err := addRecords(ctx, c, since, known.Add)
	if err != nil {
		return api.ReportRecord{}, err
	}
	sums = known.Record()
	// The field sums.Since stays zero, because the records do not show from which time on the sums are complete.
	sums.Node, sums.At = node, api.InstantOf(now)
	return sums, nil
}

func (c *reportConfig) text(r report.Report, page terminal.Page) (string, error) {
	switch c.format {
	case outputJSON:
		return terminal.JSON(r)
	case outputYAML:
		return terminal.YAML(r)
	case outputHTML:
		return report.HTML(r, terminal.Clean)
	}
	var out strings.Builder
	if !page.Fit {
		page.Columns = 1 << 10 // wide enough that scripts get each sentence on one line
	}
	paragraph := func(style terminal.Style, text string) {
		out.WriteString(page.Paragraph(style, terminal.Clean(text)))
	}
	paragraph(terminal.Bold, r.Summary)
	for _, note := range r.Notes {
		paragraph("", "Note: "+note+".")
	}
	for _, part := range r.Parts() {
		out.WriteString("\n")
		paragraph(terminal.Dim, part.Heading)
		for _, row := range part.Rows {
			paragraph("", row.Sentence)
		}
		if part.More > 0 {
			paragraph("", fmt.Sprintf("(%d more: set --rows)", part.More))
		}
		if part.Note != "" {
			paragraph("", "("+part.Note+")")
		}
	}
	return out.String(), nil
}
