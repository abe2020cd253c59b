package workload

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// startFile is written by the main process and read by the probes of the same container.
const startFile = "/workload-started"

// Run plays the main process: it notes its start, then lives as the plan says. It returns the exit
// status. A signal on terminate ends it at once, with status 0.
func Run(plan Plan, startedAt time.Time, terminate <-chan os.Signal) int {
	if plan.ReadyAfter > 0 { // not otherwise: the root of a pause container is read-only
		// The probes are other processes; the wall clock is what they share with this one.
		note := []byte(strconv.FormatInt(startedAt.UnixNano(), 10) + "\n")
		if err := writeWhole(startFile, note); err != nil {
			fmt.Fprintln(os.Stderr, "workload:", err)
			return 1
		}
	}
	var over <-chan time.Time
	word := "done"
	switch {
	case plan.Crashes:
		over, word = time.After(time.Until(startedAt.Add(plan.CrashAfter))), "injected crash"
	case plan.Runs:
		over = time.After(time.Until(startedAt.Add(plan.RunFor)))
	}
	fmt.Printf("started at %s\n", startedAt.UTC().Format(time.RFC3339Nano))
	select {
	case <-over:
		fmt.Println(word)
		return plan.ExitCode
	case <-terminate:
		return 0
	}
}

// WaitReady plays the readiness probe: it blocks until ReadyAfter has passed since the main process
// started. The answer so comes at the injected instant and not at a tick of the probe's period; the
// probe needs a timeout above ReadyAfter. limit bounds the wait for a main process that never starts.
func WaitReady(plan Plan, limit time.Duration) error {
	if plan.ReadyAfter == 0 {
		return nil
	}
	for deadline := time.Now().Add(limit); ; time.Sleep(2 * time.Millisecond) {
		startedAt, err := readStart()
		if err == nil {
			time.Sleep(time.Until(startedAt.Add(plan.ReadyAfter)))
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if time.Now().After(deadline) {
			return errors.New("wait for the main process: it has not noted its start")
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

// writeWhole writes a file that a reader sees either whole or not at all.
func writeWhole(path string, data []byte) error {
	if err := os.WriteFile(path+".new", data, 0o644); err != nil {
		return fmt.Errorf("note start: %w", err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		return fmt.Errorf("note start: %w", err)
	}
	return nil
}
