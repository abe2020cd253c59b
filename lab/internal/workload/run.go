package workload

import (
	"fmt"
	"io"
	"os"
	"time"
)

// Run is the main process of a container. Run logs its start, follows the plan, and returns the exit status. If the
// channel "terminate" receives a signal, Run waits for plan.StopFor, and then returns plan.StopCode.
func Run(plan Plan, startedAt time.Time, terminate <-chan os.Signal, log io.Writer) int {
	// Only probes read the file of noteStart. A container without probes can have a read-only root file system.
	if plan.probed() {
		if err := noteStart(startedAt); err != nil {
			fmt.Fprintln(os.Stderr, "workload:", err)
			return 1
		}
	}
	var over <-chan time.Time
	word := WordDone
	switch {
	case plan.Crashes:
		over, word = time.After(time.Until(startedAt.Add(plan.CrashAfter))), WordCrashed
	case plan.Runs:
		over = time.After(time.Until(startedAt.Add(plan.RunFor)))
	}
	writeLine(log, WordStarted, startedAt)
	if plan.Fills {
		go fillMemory(startedAt.Add(plan.FillAfter))
	}
	select {
	case <-over:
		writeLine(log, word, time.Now())
		return plan.ExitCode
	case <-terminate:
		time.Sleep(plan.StopFor)
		return plan.StopCode
	}
}

// fillMemory starts to allocate memory at the given time, and continues until the kernel kills the process. If the
// container has no memory limit, the process exits after 1 GiB, so that the machine keeps enough memory.
func fillMemory(from time.Time) {
	const piece, page, most = 1 << 20, 4096, 1 << 10
	time.Sleep(time.Until(from))
	for taken := [][]byte{}; len(taken) < most; {
		next := make([]byte, piece)
		for i := 0; i < piece; i += page {
			next[i] = 1
		}
		taken = append(taken, next)
	}
	fmt.Fprintln(os.Stderr, "workload: no memory limit stopped the process at 1 GiB: set resources.limits.memory")
	os.Exit(1)
}
