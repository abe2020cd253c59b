package workload

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// MainOutput is the path of the main process's standard output. Probes and hooks write to this path, because the
// runtime discards their own output.
const MainOutput = "/proc/1/fd/1"

// The names of the steps in the container's log.
const (
	WordStarted   = "started"
	WordDone      = "done"
	WordCrashed   = "crashed"
	WordStartup   = "startup-probe-passes" // logged just before the probe succeeds
	WordReady     = "readiness-probe-passes"
	WordHookBegun = "hook-begun"
	WordHookDone  = "hook-done"
)

// writeLine writes one line to the log. writeLine uses only one system call, because several processes write to the
// same log.
func writeLine(log io.Writer, word string, at time.Time) {
	_, _ = fmt.Fprintf(log, "%s at %s\n", word, at.UTC().Format(time.RFC3339Nano))
}

// ReadLine parses a line of a container's log. If the line contains no time, ok is false.
func ReadLine(line string) (word string, at time.Time, ok bool) {
	word, stamp, found := strings.Cut(strings.TrimSpace(line), " at ")
	if !found || strings.Contains(word, " ") {
		return "", time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339Nano, stamp)
	return word, at, err == nil
}
