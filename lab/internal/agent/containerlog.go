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

// Printed returns what a container printed to one of its streams. It reads the log that the kubelet has the runtime
// write, in CRI's format: "TIME STREAM TAGS TEXT" for each line that the container printed. A long line takes several
// entries, all but the last with the tag P (containerd cuts at 16 KiB). An incomplete line is omitted, because it is
// still being written.
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

// begunAt is when the first line of such a log was printed; zero if the log is empty.
func begunAt(log []byte) time.Time {
	stamp, _, _ := bytes.Cut(log, []byte(" "))
	at, err := time.Parse(time.RFC3339Nano, string(stamp))
	if err != nil {
		return time.Time{}
	}
	return at
}
