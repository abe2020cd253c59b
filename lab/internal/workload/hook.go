package workload

import (
	"io"
	"time"
)

// RunHook runs the post-start or pre-stop hook. RunHook waits for the hook's duration and succeeds.
func RunHook(plan Plan, log io.Writer) {
	say(log, WordHookBegun, time.Now())
	time.Sleep(plan.HookFor)
	say(log, WordHookDone, time.Now())
}
