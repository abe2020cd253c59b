package workload

import (
	"io"
	"time"
)

// RunHook plays the post-start or pre-stop hook: it takes its time and succeeds.
func RunHook(plan Plan, log io.Writer) {
	say(log, WordHookBegun, time.Now())
	time.Sleep(plan.HookFor)
	say(log, WordHookDone, time.Now())
}
