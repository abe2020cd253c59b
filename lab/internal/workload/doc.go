// Package workload is the program in every container of the lab. The program runs in pause containers, init containers,
// sidecars and main containers, and in their probes and hooks.
//
// Environment variables define the behavior of a container, so one image is sufficient. The program logs the time of
// each step to the container's log. Scenarios use the logged times as the true times of the application. The package
// uses only the standard library, so that the static program stays small.
package workload

import (
	"fmt"
	"strconv"
	"time"
)

// The environment variables that define a container's behavior. The pod's specification sets the variables.
// Durations have the format of time.ParseDuration.
const (
	// Duration until the container exits. If RunFor is unset, the container runs until SIGTERM.
	RunFor   = "WORKLOAD_RUN_FOR"
	ExitCode = "WORKLOAD_EXIT_CODE" // exit status when the duration RunFor or CrashAfter has passed
	// Duration until the container crashes. The exit status is 139, or ExitCode if ExitCode is set.
	CrashAfter = "WORKLOAD_CRASH_AFTER"
	// Duration until the container starts to allocate memory. When the container reaches the memory limit, the
	// kernel kills the container.
	FillAfter = "WORKLOAD_FILL_AFTER"
	// Duration from the start of the main process until the startup probe passes.
	StartedAfter = "WORKLOAD_STARTED_AFTER"
	// Duration from the start of the main process until the container is ready.
	ReadyAfter = "WORKLOAD_READY_AFTER"
	HookFor    = "WORKLOAD_HOOK_FOR" // duration of the post-start or pre-stop hook
	// Duration from SIGTERM until the exit. If StopFor is unset, the container exits immediately.
	StopFor  = "WORKLOAD_STOP_FOR"
	StopCode = "WORKLOAD_STOP_CODE" // exit status after SIGTERM
)

// Path is the path of the program in the image. The other constants are the arguments of the program in probes and
// hooks.
const (
	Path         = "/workload"
	StartupProbe = "started"
	Probe        = "ready"
	Hook         = "hook"
)

// Plan contains the values of the environment variables.
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

// ReadPlan reads the environment variables with the given function, which is os.Getenv except in tests.
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
	const segmentationFault = 128 + 11 // exit status of a C program that crashed with SIGSEGV
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
