package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/cli"
	"github.com/podlapse/podlapse/internal/terminal"
)

// checkLimit is the timeout of one test of the command `check`.
const checkLimit = 5 * time.Second

// The outcomes of a check.
const (
	checkOK      = "ok"
	checkFailed  = "failed"
	checkOff     = "off"     // a flag turned the tested feature off
	checkSkipped = "skipped" // not run, because a required earlier test failed
)

// finding is the result of one test.
type finding struct {
	subject string
	outcome string // checkOK, checkFailed, checkOff or checkSkipped
	detail  string
	remedy  string // empty unless outcome is checkFailed
}

func (f finding) String() string {
	const indent = 9 + 15
	line := fmt.Sprintf("%-8s %-14s %s\n", f.outcome, f.subject, oneLine(f.detail))
	if f.remedy != "" {
		line += strings.Repeat(" ", indent) + "remedy: " + f.remedy + "\n"
	}
	return line
}

// oneLine joins the lines of an error, and removes control characters. Without oneLine, an error of several lines would
// look like several findings.
func oneLine(text string) string { return terminal.Clean(strings.Join(strings.Fields(text), " ")) }

// runCheck tests every permission and connection that the command `run` requires. For these tests, the command `check`
// calls the same code as the command `run`.
func runCheck(ctx context.Context, call cli.Call) int {
	var c config
	_, code, ok := call.Parse(c.flagTable(), "check [flags]\n\nTests the requirements of the command run. Accepts the "+
		"flags of run. "+
		"Prints one line per test, and a remedy for each failure.", 0)
	if !ok {
		return code
	}
	if err := c.readOTLP(call.Getenv); err != nil {
		return call.FailUsage(err)
	}
	findings := checkControlPlane(ctx, c)
	findings = append(findings, checkRuntime(ctx, c), checkState(c))
	findings = append(findings, checkRecording(c)...)
	findings = append(findings, checkWeb(c)...)
	findings = append(findings, checkPressure(c)...)
	findings = append(findings, checkBoot(c)...)
	findings = append(findings, checkFeatures(c)...)
	for _, f := range findings {
		if _, err := io.WriteString(call.Stdout, f.String()); err != nil {
			return call.Fail(fmt.Errorf("write to standard output: %w", err))
		}
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.outcome == checkFailed }) {
		return cli.ExitFailed
	}
	return cli.ExitOK
}
