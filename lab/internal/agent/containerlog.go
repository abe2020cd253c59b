package agent

import (
	"bytes"
	"time"
)

// The streams of a container's log.
const (
	Stdout = "stdout"
	Stderr = "stderr"
)

// Printed takes what a container printed to one of its streams from the log that kubelet has the runtime write, in CRI's
// format: a line "TIME STREAM TAGS TEXT" for each line that the container printed, and several where that was long, all but the
// last with the tag P (containerd cuts at 16 KiB). A line that is not there in full yet is left out, its writer is at it.
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

// begunAt is when the first line of such a log was printed; zero if there is none.
func begunAt(log []byte) time.Time {
	stamp, _, _ := bytes.Cut(log, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}
	}
	return at
}
