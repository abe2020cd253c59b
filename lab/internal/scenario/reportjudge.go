package scenario

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// judgeReport compares the report with the injected faults.
func (v *Verdict) judgeReport(b *bench.Bench, r fleetReport) {
	const total = reportNear + reportFar + reportPlain + 2
	v.Compared += 5
	// One note is normal: the period of the report begins before the agent's start.
	if r.StartUps != total || len(r.Notes) > 1 {
		v.Problem("the report contains %d start-ups, want %d; notes %q", r.StartUps, total, r.Notes)
	}
	if len(r.Nodes.Items) > 0 || !strings.Contains(r.Nodes.Note, "only one agent") {
		v.Problem("only one agent responded, but the report contains %+v", r.Nodes)
	}
	if len(r.Registries.Items) != 1 || r.Registries.Items[0].Name != node.OtherRegistry {
		v.Problem("the slow registry is %s, but the report contains %+v", node.OtherRegistry, r.Registries.Items)
	}
	deployment := func(name string) string { return "deployment " + b.Namespace + "/" + name }
	config, there := r.Causes.row("config")
	if !there || !strings.HasPrefix(config.Most, deployment(brokenName)+" on") {
		v.Problem("the ConfigMap of broken is missing, but the report contains %+v", r.Causes.Items)
	} else {
		v.requireBetween("lost in config", configDelay-2*time.Second, configRetry, config)
	}
	if broken, there := r.Workloads.row(deployment(brokenName)); !there || broken.Most != "config" {
		v.Problem("the workload broken loses time in config, but the report contains %+v", broken)
	}
	for i, row := range r.Images.Items {
		if far := strings.HasPrefix(row.Name, node.OtherRegistry); far != (i < reportFar) {
			v.Problem("the images of %s take the longest time, but the row %d of the report is %+v", node.OtherRegistry,
				i+1, row)
		}
	}
	for _, row := range r.Workloads.Items {
		if strings.HasPrefix(row.Name, deployment("far-")) {
			v.Compared++
			if row.Most != registryCause {
				v.Problem("%s loses time in %q, want %s", row.Name, row.Most, registryCause)
			}
		}
	}
	slow := slices.DeleteFunc(slices.Clone(r.Workloads.Items), func(row reportRow) bool {
		return row.Name != deployment(brokenName) && !strings.HasPrefix(row.Name, deployment("far-"))
	})
	if v.Compared++; len(slow) != reportFar+1 {
		v.Problem("the report contains %d of the %d slow workloads: %+v", len(slow), reportFar+1, slow)
	}
}

// requireBetween requires that the lost time of a row is between the arguments "least" and "most".
func (v *Verdict) requireBetween(what string, least, most time.Duration, row reportRow) {
	lost, err := agent.Nanoseconds(row.Lost)
	if v.Compared++; err != nil || lost < least || lost > most {
		v.Problem("%s: %s s, want %s s to %s s", what, row.Lost, seconds(least), seconds(most))
	}
}

// requireReportText runs the command "report" with text output and with HTML output. Both outputs must contain the
// same sentences, and the command must be fast.
func (v *Verdict) requireReportText(ctx context.Context, b *bench.Bench) error {
	began := time.Now()
	text, err := runReportCommand(ctx, b)
	if err != nil {
		return err
	}
	v.inTime("report", time.Since(began))
	page, err := runReportCommand(ctx, b, "-o", "html")
	if err != nil {
		return err
	}
	for _, want := range []string{"registry " + node.OtherRegistry + ": ", "config: ", "SECONDS LOST BY CAUSE",
		"deployment " + b.Namespace + "/broken: "} {
		if v.Compared++; !strings.Contains(text, want) || !strings.Contains(page, want) {
			v.Problem("the text or the HTML of report does not contain %q:\n%s", want, text)
		}
	}
	v.Note("report:\n%s", text)
	return nil
}
