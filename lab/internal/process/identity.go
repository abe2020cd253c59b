// Package process starts, records and stops the lab's background processes.
//
// The lab identifies a process by its PID and its start time in clock ticks. If a new process reuses the PID, it has
// another start time. Therefore, the lab never sends a signal to the new process. Every process also has the
// environment variable PODLAPSE_LAB_PROCESS, which identifies its lab. The lab uses this variable to find processes
// that are not in its records. These processes are containerd's shims and processes that an interrupted lab started.
package process

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Identity distinguishes one process from all other processes of the same boot.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start_ticks"` // field 22 of /proc/PID/stat, in clock ticks since the boot
}

// stat contains the fields of /proc/PID/stat that the lab needs.
type stat struct {
	state byte // state of the process, such as R, S, D or Z
	start uint64
	cpu   uint64 // CPU time in clock ticks: user time (field 14) plus system time (field 15)
}

// parseStat parses the line in /proc/PID/stat. The command name in this line is in parentheses, and can itself contain
// spaces and parentheses. parseStat therefore counts the fields only after the last parenthesis.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("parse the line %q of /proc/PID/stat: no command name", line)
	}
	fields := strings.Fields(line[end+1:])
	const startField = 22 - 3 // the first field after the command name is field 3
	if len(fields) <= startField || len(fields[0]) != 1 {
		return stat{}, fmt.Errorf("parse the line %q of /proc/PID/stat: too few fields", line)
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse the line %q of /proc/PID/stat: %w", line, err)
	}
	const userField, systemField = 14 - 3, 15 - 3
	user, err := strconv.ParseUint(fields[userField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse the line %q of /proc/PID/stat: %w", line, err)
	}
	system, err := strconv.ParseUint(fields[systemField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse the line %q of /proc/PID/stat: %w", line, err)
	}
	return stat{state: fields[0][0], start: start, cpu: user + system}, nil
}

func readStat(pid int) (stat, error) {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return stat{}, err
	}
	return parseStat(string(line))
}

// Identify returns the identity of a running process.
func Identify(pid int) (Identity, error) {
	s, err := readStat(pid)
	if err != nil {
		return Identity{}, fmt.Errorf("identify process %d: %w", pid, err)
	}
	return Identity{PID: pid, Start: s.start}, nil
}

// Alive reports whether this process still runs. If another process now has the same PID, the result is false. For a
// zombie, the result is also false.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.start == id.Start && s.state != 'Z' && s.state != 'X'
}

// BootID returns the ID of the current boot. Start times count from the boot, so start times of different boots cannot
// be compared.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}
