package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// checkLimit is how long one question of check may take.
const checkLimit = 5 * time.Second

// The outcomes of a check.
const (
	checkOK      = "ok"
	checkFailed  = "failed"
	checkOff     = "off"     // by a flag
	checkSkipped = "skipped" // something that failed before stands in the way
)

// finding is what check tells of one thing that the agent needs.
type finding struct {
	subject string
	outcome string // checkOK and so on
	detail  string
	remedy  string // of what failed
}

func (f finding) String() string {
	const indent = 9 + 15
	line := fmt.Sprintf("%-8s %-14s %s\n", f.outcome, f.subject, oneLine(f.detail))
	if f.remedy != "" {
		line += strings.Repeat(" ", indent) + "remedy: " + f.remedy + "\n"
	}
	return line
}

// oneLine keeps an error of several lines from looking like several findings.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// runCheck tries everything that run needs, in the way in which run would.
func runCheck(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) int {
	var c config
	_, err := settle(c.settings(), args, getenv, 0)
	if errors.Is(err, errHelp) {
		printHelp(stdout, agentProgram, "check [flags]\n\nTests what run needs, with the flags of run. "+
			"Prints one line per test, and a remedy for each failure.", c.settings())
		return exitOK
	}
	if err != nil {
		return failUsage(stderr, "check", err)
	}
	findings := checkControlPlane(ctx, c)
	findings = append(findings, checkRuntime(ctx, c), checkState(c))
	findings = append(findings, checkWeb(c)...)
	findings = append(findings, checkPressure(c)...)
	findings = append(findings, checkProbes(c)...)
	for _, f := range findings {
		if _, err := io.WriteString(stdout, f.String()); err != nil {
			return fail(stderr, "check", fmt.Errorf("write to standard output: %w", err))
		}
	}
	if slices.ContainsFunc(findings, func(f finding) bool { return f.outcome == checkFailed }) {
		return exitFailed
	}
	return exitOK
}
