package workload

import (
	"io"
	"time"
)

// RunHook runs a post-start or pre-stop hook. RunHook waits for the duration in the plan, and then succeeds.
func RunHook(plan Plan, log io.Writer) {
	writeLine(log, WordHookBegun, time.Now())
	time.Sleep(plan.HookFor)
	writeLine(log, WordHookDone, time.Now())
}
