// Package process starts, records and stops the lab's background processes.
//
// The lab identifies a process by its PID and the clock tick of its start. A new process with a reused PID therefore
// never receives a signal. Every process also has an environment variable that names its lab. With this variable, the
// lab finds processes that an interrupted lab started but did not record, and the shims that containerd starts.
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
	Start uint64 `json:"start_ticks"` // field 22 of /proc/PID/stat: clock ticks since boot
}

// stat contains the values from /proc/PID/stat that the lab needs.
type stat struct {
	state byte // R, S, D, Z, …
	start uint64
	cpu   uint64 // ticks of user and system time, fields 14 and 15
}

// parseStat parses the line in /proc/PID/stat. The command name is in parentheses and can contain spaces and
// parentheses. The fields are therefore counted from the last parenthesis.
func parseStat(line string) (stat, error) {
	end := strings.LastIndexByte(line, ')')
	if end < 0 {
		return stat{}, fmt.Errorf("parse process stat %q: no command name", line)
	}
	fields := strings.Fields(line[end+1:])
	const startField = 22 - 3 // the first field after the name is field 3
	if len(fields) <= startField || len(fields[0]) != 1 {
		return stat{}, fmt.Errorf("parse process stat %q: too few fields", line)
	}
	start, err := strconv.ParseUint(fields[startField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse process stat %q: %w", line, err)
	}
	const userField, systemField = 14 - 3, 15 - 3
	user, err := strconv.ParseUint(fields[userField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse process stat %q: %w", line, err)
	}
	system, err := strconv.ParseUint(fields[systemField], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("parse process stat %q: %w", line, err)
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

// Alive reports whether exactly this process still runs. A zombie does not run.
func (id Identity) Alive() bool {
	if id.PID <= 0 {
		return false
	}
	s, err := readStat(id.PID)
	return err == nil && s.start == id.Start && s.state != 'Z' && s.state != 'X'
}

// BootID returns an ID that changes at every boot. Clock ticks are comparable only within one boot.
func BootID() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(id))
}
