package agent

import (
	"bytes"
	"time"
)

// The names of the output streams in a container's log.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Printed returns the text that a container printed to one of its streams. The log is in the CRI format, in which each
// entry is "TIME STREAM TAGS TEXT". The runtime splits a long line into several entries (containerd: at 16 KiB). Each
// of these entries has the tag P, except the last entry. If the last line of the log is incomplete, the runtime is
// still writing it, and Printed omits it.
func Printed(log []byte, stream string) []byte {
	var out, parts []byte
	for line := range bytes.Lines(log) {
		fields := bytes.SplitN(bytes.TrimSuffix(line, []byte("\n")), []byte(" "), 4)
		if !bytes.HasSuffix(line, []byte("\n")) || len(fields) < 4 || string(fields[1]) != stream {
			continue
		}
		parts = append(parts, fields[3]...)
		if tag, _, _ := bytes.Cut(fields[2], []byte(":")); string(tag) == "P" {
			continue
		}
		out = append(append(out, parts...), '\n')
		parts = parts[:0]
	}
	return out
}

// begunAt returns the time of the first entry in a container's log. If the log is empty, begunAt returns the zero time.
func begunAt(log []byte) time.Time {
	stamp, _, _ := bytes.Cut(log, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}
	}
	return at
}
