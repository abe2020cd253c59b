package workload

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// startFile is the path of a file with the start time. The main process writes the file. The probes of the same
// container read the file.
const startFile = "/workload-started"

// mainStartLimit is the longest time that a probe waits for the start of the main process.
const mainStartLimit = 10 * time.Second

func (p Plan) probed() bool { return p.StartedAfter > 0 || p.ReadyAfter > 0 }

// WaitStarted runs the startup probe, which blocks until StartedAfter has passed since the start of the main process.
func WaitStarted(plan Plan, log io.Writer) error {
	return waitUntil(plan.StartedAfter, WordStartup, log)
}

// WaitReady runs the readiness probe. WaitReady blocks until ReadyAfter has passed since the start of the main process.
// So the kubelet gets the result as soon as ReadyAfter has passed, and not only at the next attempt of the probe. The
// probe's timeout must be longer than ReadyAfter.
func WaitReady(plan Plan, log io.Writer) error { return waitUntil(plan.ReadyAfter, WordReady, log) }

func waitUntil(after time.Duration, word string, log io.Writer) error {
	if after > 0 {
		startedAt, err := awaitStart()
		if err != nil {
			return err
		}
		time.Sleep(time.Until(startedAt.Add(after)))
	}
	// The log contains only the first success of a probe. The kubelet repeats the probe, so a file marks the first
	// success.
	mark, err := os.OpenFile("/workload-"+word, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("record the first result of the probe: %w", err)
	}
	writeLine(log, word, time.Now())
	return mark.Close()
}

// noteStart writes the start time of the main process to a file for the probes. A probe is a separate process and
// cannot use the main process's monotonic clock, so the file contains the time of the wall clock.
func noteStart(startedAt time.Time) error {
	note := []byte(strconv.FormatInt(startedAt.UnixNano(), 10) + "\n")
	return writeWhole(startFile, note)
}

func awaitStart() (time.Time, error) {
	for deadline := time.Now().Add(mainStartLimit); ; time.Sleep(2 * time.Millisecond) {
		startedAt, err := readStart()
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return startedAt, err
		}
		if time.Now().After(deadline) {
			return time.Time{}, errors.New("wait for the main process: the process did not record its start in time")
		}
	}
}

func readStart() (time.Time, error) {
	data, err := os.ReadFile(startFile)
	if err != nil {
		return time.Time{}, err
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("parse %s: %w", startFile, err)
	}
	return time.Unix(0, nanoseconds), nil
}

// writeWhole writes a file atomically, so that readers never see an incomplete file.
func writeWhole(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return fmt.Errorf("record the start of the main process: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("record the start of the main process: %w", err)
	}
	return nil
}
