package workload

import (
	"io"
	"time"
)

// RunHook runs a post-start or pre-stop hook. RunHook waits for the duration in the plan, and then succeeds.
func RunHook(plan Plan, log io.Writer) {
	say(log, WordHookBegun, time.Now())
	time.Sleep(plan.HookFor)
	say(log, WordHookDone, time.Now())
}
