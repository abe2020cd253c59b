// Package workload is the program in every container of the lab: pause containers, init containers, sidecars, main
// containers, and their probes and hooks.
//
// Environment variables define the behavior of a container, so one image is sufficient. The program writes the time of
// each step to the container's log. For scenarios, this log is the truth about the application. The package uses only
// the standard library, because it is compiled into a small static program.
package workload

import (
	"fmt"
	"strconv"
	"time"
)

// The environment variables, which the pod's specification sets.
const (
	// Go duration until the container exits; if unset, the container runs until SIGTERM
	RunFor   = "WORKLOAD_RUN_FOR"
	ExitCode = "WORKLOAD_EXIT_CODE" // exit status after RUN_FOR or CRASH_AFTER
	// Go duration until the container crashes with status 139, or with EXIT_CODE
	CrashAfter = "WORKLOAD_CRASH_AFTER"
	// Go duration until the container starts to allocate memory. The kernel kills the container when the memory limit
	// is reached.
	FillAfter = "WORKLOAD_FILL_AFTER"
	// Go duration from the start of the main process until the startup probe passes.
	StartedAfter = "WORKLOAD_STARTED_AFTER"
	// Go duration from the start of the main process until the container is ready
	ReadyAfter = "WORKLOAD_READY_AFTER"
	HookFor    = "WORKLOAD_HOOK_FOR" // Go duration of the post-start or pre-stop hook
	// Go duration from SIGTERM to the exit; if unset, the container exits immediately
	StopFor  = "WORKLOAD_STOP_FOR"
	StopCode = "WORKLOAD_STOP_CODE" // exit status after SIGTERM
)

// Path is the program's path in the image. Each of the other constants is the argument of a process that is not the
// main process.
const (
	Path         = "/workload"
	StartupProbe = "started"
	Probe        = "ready"
	Hook         = "hook"
)

// Plan is the configuration from the environment variables.
type Plan struct {
	RunFor       time.Duration
	Runs         bool // true if RunFor is set
	CrashAfter   time.Duration
	Crashes      bool // true if CrashAfter is set
	FillAfter    time.Duration
	Fills        bool // true if FillAfter is set
	StartedAfter time.Duration
	ReadyAfter   time.Duration
	HookFor      time.Duration
	StopFor      time.Duration
	ExitCode     int
	StopCode     int
}

// ReadPlan reads the variables through getenv. Outside tests, getenv is os.Getenv.
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
			err = fmt.Errorf("%s=%q: must be a duration, for example 1.5s", name, text)
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
	const segmentationFault = 128 + 11 // the status of a C program that crashed
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
			return Plan{}, fmt.Errorf("%s=%q: must be a number from 0 to 255", name, text)
		}
		*status = int(code)
	}
	return plan, nil
}
