// Package workload plays every container of the lab: pause, init, sidecar, main, their probes and hooks.
//
// Environment variables say what the container does, so that one image stands for all of them. What
// it did it dates in the container's log, which is the truth about the application that scenarios
// compare with. The package uses only the standard library: it is the body of a small static program.
package workload

import (
	"fmt"
	"strconv"
	"time"
)

// Environment variables, set in the pod's spec.
const (
	RunFor       = "WORKLOAD_RUN_FOR"       // Go duration; the container ends after it. Unset: it runs until SIGTERM.
	ExitCode     = "WORKLOAD_EXIT_CODE"     // exit status after RUN_FOR or CRASH_AFTER
	CrashAfter   = "WORKLOAD_CRASH_AFTER"   // Go duration; the container dies after it with status 139, or EXIT_CODE
	FillAfter    = "WORKLOAD_FILL_AFTER"    // Go duration; the container takes memory from then on until it is killed
	StartedAfter = "WORKLOAD_STARTED_AFTER" // Go duration from the start of the main process until the startup probe passes
	ReadyAfter   = "WORKLOAD_READY_AFTER"   // Go duration from the start of the main process to readiness
	HookFor      = "WORKLOAD_HOOK_FOR"      // Go duration that the post-start or pre-stop hook takes
	StopFor      = "WORKLOAD_STOP_FOR"      // Go duration from SIGTERM to the end; unset: it ends at once
	StopCode     = "WORKLOAD_STOP_CODE"     // exit status after SIGTERM
)

// Path is where the program lies in the image. The others are the argument that makes it something
// else than the main process.
const (
	Path         = "/workload"
	StartupProbe = "started"
	Probe        = "ready"
	Hook         = "hook"
)

// Plan is what the environment asks for.
type Plan struct {
	RunFor       time.Duration
	Runs         bool // RunFor was given
	CrashAfter   time.Duration
	Crashes      bool // CrashAfter was given
	FillAfter    time.Duration
	Fills        bool // FillAfter was given
	StartedAfter time.Duration
	ReadyAfter   time.Duration
	HookFor      time.Duration
	StopFor      time.Duration
	ExitCode     int
	StopCode     int
}

// ReadPlan reads the variables through getenv, which is os.Getenv outside tests.
func ReadPlan(getenv func(string) string) (Plan, error) {
	var plan Plan
	var err error
	duration := func(name string) (time.Duration, bool) {
		text := getenv(name)
		if text == "" || err != nil {
			return 0, false
		}
		d, parseErr := time.ParseDuration(text)
		if parseErr != nil || d < 0 {
			err = fmt.Errorf("%s=%q: give a duration such as 1.5s", name, text)
			return 0, false
		}
		return d, true
	}
	plan.RunFor, plan.Runs = duration(RunFor)
	plan.CrashAfter, plan.Crashes = duration(CrashAfter)
	plan.FillAfter, plan.Fills = duration(FillAfter)
	plan.StartedAfter, _ = duration(StartedAfter)
	plan.ReadyAfter, _ = duration(ReadyAfter)
	plan.HookFor, _ = duration(HookFor)
	plan.StopFor, _ = duration(StopFor)
	if err != nil {
		return Plan{}, err
	}
	const segmentationFault = 128 + 11 // what a crashed C program looks like
	if plan.Crashes {
		plan.ExitCode = segmentationFault
	}
	for name, status := range map[string]*int{ExitCode: &plan.ExitCode, StopCode: &plan.StopCode} {
		text := getenv(name)
		if text == "" {
			continue
		}
		code, err := strconv.ParseUint(text, 10, 8)
		if err != nil {
			return Plan{}, fmt.Errorf("%s=%q: give a number from 0 to 255", name, text)
		}
		*status = int(code)
	}
	return plan, nil
}
