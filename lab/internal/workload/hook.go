package workload

import (
	"io"
	"time"
)

// RunHook runs the post-start or pre-stop hook: it waits for its duration and succeeds.
func RunHook(plan Plan, log io.Writer) {
	say(log, WordHookBegun, time.Now())
	time.Sleep(plan.HookFor)
	say(log, WordHookDone, time.Now())
}
