package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used so far.
type Usage struct {
	CPU    time.Duration // user and system time of all its threads
	Memory int64         // bytes that are resident now
	Own    int64         // of these, those that are no file's, as the program's is
	Peak   int64         // the most bytes that were ever resident
}

// tick is the unit of times in /proc: 100 a second on every Linux that runs Go.
const tick = 10 * time.Millisecond

// Usage reads what exactly this process has used.
func (id Identity) Usage() (Usage, error) {
	s, err := readStat(id.PID)
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	if s.start != id.Start {
		return Usage{}, fmt.Errorf("read usage of process %d: it has ended", id.PID)
	}
	memory, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id.PID))
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	fields := strings.Fields(string(memory))
	if len(fields) < 3 {
		return Usage{}, fmt.Errorf("read usage of process %d: memory is %q", id.PID, memory)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	shared, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	peak, err := id.peak()
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	size := int64(os.Getpagesize())
	return Usage{CPU: time.Duration(s.cpu) * tick, Memory: pages * size, Own: (pages - shared) * size, Peak: peak}, nil
}

// peak reads VmHWM, which the kernel states in KiB.
func (id Identity) peak() (int64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", id.PID))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, "VmHWM:"); found {
			kibibytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, errors.New("the kernel does not state VmHWM")
}
