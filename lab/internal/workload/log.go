package workload

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// MainOutput is the standard output of the main process, as other processes of the container reach it.
// Nobody keeps what probes and hooks print themselves.
const MainOutput = "/proc/1/fd/1"

// Words say in the container's log what happened.
const (
	WordStarted   = "started"
	WordDone      = "done"
	WordCrashed   = "crashed"
	WordStartup   = "startup-probe-passes" // the probe is about to end with success
	WordReady     = "readiness-probe-passes"
	WordHookBegun = "hook-begun"
	WordHookDone  = "hook-done"
)

// say writes one line with one write call: several processes share the log.
func say(log io.Writer, word string, at time.Time) {
	_, _ = fmt.Fprintf(log, "%s at %s\n", word, at.UTC().Format(time.RFC3339Nano))
}

// ReadLine reads a line of a container's log back; ok is false for a line that dates nothing.
func ReadLine(line string) (word string, at time.Time, ok bool) {
	word, stamp, found := strings.Cut(strings.TrimSpace(line), " at ")
	if !found || strings.Contains(word, " ") {
		return "", time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, stamp)
	return word, at, err == nil
}
