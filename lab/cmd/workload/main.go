// Command workload is the only program in the lab's images. See internal/workload.
package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

func main() {
	startedAt := time.Now()
	plan, err := workload.ReadPlan(os.Getenv)
	if err != nil {
		fail(2, err)
	}
	switch arguments := os.Args[1:]; {
	case len(arguments) == 0:
		// If a Go program does not handle SIGTERM, Go ends the program at once. With this handler, workload.Run
		// decides when the program ends, and with which exit status.
		terminate := make(chan os.Signal, 1)
		signal.Notify(terminate, syscall.SIGTERM, syscall.SIGINT)
		os.Exit(workload.Run(plan, startedAt, terminate, os.Stdout))
	case len(arguments) == 1:
		if err := runProbeOrHook(arguments[0], plan); err != nil {
			fail(1, err)
		}
	default:
		fail(2, fmt.Errorf("invalid arguments %q: at most one argument is allowed", arguments))
	}
}

// runProbeOrHook runs one probe or one hook. The kubelet starts probes and hooks as additional processes in the
// container.
func runProbeOrHook(role string, plan workload.Plan) error {
	log, err := os.OpenFile(workload.MainOutput, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("open the container's log: %w", err)
	}
	defer log.Close()
	switch role {
	case workload.StartupProbe:
		return workload.WaitStarted(plan, log)
	case workload.Probe:
		return workload.WaitReady(plan, log)
	case workload.Hook:
		workload.RunHook(plan, log)
		return nil
	}
	return fmt.Errorf("invalid argument %q: must be %q, %q or %q", role, workload.StartupProbe, workload.Probe,
		workload.Hook)
}

func fail(status int, err error) {
	fmt.Fprintln(os.Stderr, "workload:", err)
	os.Exit(status)
}
