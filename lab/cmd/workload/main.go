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
		fmt.Fprintln(os.Stderr, "workload:", err)
		os.Exit(2)
	}
	switch arguments := os.Args[1:]; {
	case len(arguments) == 0:
		// Process 1 of a pid namespace gets no default signal action: without a handler a
		// container would live until the kill at the end of its grace period.
		terminate := make(chan os.Signal, 1)
		signal.Notify(terminate, syscall.SIGTERM, syscall.SIGINT)
		os.Exit(workload.Run(plan, startedAt, terminate))
	case len(arguments) == 1 && arguments[0] == workload.Probe:
		if err := workload.WaitReady(plan, 10*time.Second); err != nil {
			fmt.Fprintln(os.Stderr, "workload:", err)
			os.Exit(1)
		}
	default:
		fmt.Fprintf(os.Stderr, "workload: arguments %q: give none, or %q\n", arguments, workload.Probe)
		os.Exit(2)
	}
}
