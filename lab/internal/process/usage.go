package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage contains the resources that a process has used.
type Usage struct {
	CPU    time.Duration // user time plus system time of all threads
	Memory int64         // resident memory in bytes
	Own    int64         // resident memory in bytes; excludes file-backed pages such as the pages of the program file
	Peak   int64         // maximum of the resident memory, in bytes
	Sleeps int64         // number of sleeps of all threads; each sleep ends with a wake-up, which costs CPU time
}

// tick is the unit of the times in /proc. The unit is 1/100 s on every Linux system that runs Go.
const tick = 10 * time.Millisecond

// Usage returns the resources that this process has used.
func (id Identity) Usage() (Usage, error) {
	s, err := readStat(id.PID)
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	if s.start != id.Start {
		return Usage{}, fmt.Errorf("read usage of process %d: the process has exited", id.PID)
	}
	memory, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", id.PID))
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	fields := strings.Fields(string(memory))
	if len(fields) < 3 {
		return Usage{}, fmt.Errorf("read usage of process %d: invalid content of statm: %q", id.PID, memory)
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
	sleeps, err := id.contextSwitches()
	if err != nil {
		return Usage{}, fmt.Errorf("read usage of process %d: %w", id.PID, err)
	}
	size := int64(os.Getpagesize())
	return Usage{CPU: time.Duration(s.cpu) * tick, Memory: pages * size, Own: (pages - shared) * size, Peak: peak,
		Sleeps: sleeps}, nil
}

// peak returns the maximum of the resident memory. The kernel reports the maximum in KiB, in the field VmHWM.
func (id Identity) peak() (int64, error) {
	kibibytes, err := statusNumber(fmt.Sprintf("/proc/%d/status", id.PID), "VmHWM")
	return kibibytes << 10, err
}

// contextSwitches returns the number of voluntary context switches of all threads that exist now. The result excludes
// threads that have already ended. The error is small, because Go's runtime rarely ends threads.
func (id Identity) contextSwitches() (int64, error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", id.PID))
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for _, path := range threads {
		n, err := statusNumber(path, "voluntary_ctxt_switches")
		// A missing file is not an error, because a thread can end at any time.
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			return 0, err
		}
		total += n
	}
	return total, nil
}

// statusNumber reads a field of a file in /proc and returns the field's number. For example, the result for the line
// "VmHWM: 12 kB" is 12.
func statusNumber(path, field string) (int64, error) {
	status, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if text, found := strings.CutPrefix(line, field+":"); found {
			return strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
		}
	}
	return 0, fmt.Errorf("the kernel does not report %s", field)
}
