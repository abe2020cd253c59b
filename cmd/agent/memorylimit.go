package main

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// memoryShare is the percentage of the cgroup's memory limit that Go can use. The remaining memory is for data that
// Go does not count: pages of the program's file, and the kernel's connection buffers.
const memoryShare = 90

// collectAt is the agent's value for GOGC; Go's default is 100. When the garbage reaches this percentage of the memory
// in use, a garbage collection starts. The agent allocates little, so a lower value saves memory and costs little CPU
// time.
const collectAt = 40

// limitMemory makes Go's garbage collector run more often than by default. When the memory in use approaches the limit
// of the process's cgroup, the garbage collector runs even more often. Go itself applies the variables GOGC and
// GOMEMLIMIT at the start of the program. If GOGC or GOMEMLIMIT is set, limitMemory keeps the value.
func limitMemory(getenv func(string) string, root fs.FS) {
	if getenv("GOGC") == "" {
		debug.SetGCPercent(collectAt)
	}
	if getenv("GOMEMLIMIT") != "" {
		return
	}
	if limit, ok := cgroupMemory(root); ok {
		debug.SetMemoryLimit(limit / 100 * memoryShare)
	}
}

// memoryLimitField returns the log field with the memory limit. Without a limit, memoryLimitField returns a field
// that the logger skips.
func memoryLimitField() zap.Field {
	if limit := debug.SetMemoryLimit(-1); limit < math.MaxInt64 {
		return zap.Int64("memory_limit_bytes", limit)
	}
	return zap.Skip()
}

// cgroupMemory returns the lowest memory limit of the process's cgroup and of the visible parent cgroups. In a
// container, the root of the mounted cgroup file system is usually the container's own cgroup.
func cgroupMemory(root fs.FS) (limit int64, ok bool) {
	membership, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0, false
	}
	limit = math.MaxInt64
	for line := range strings.Lines(string(membership)) {
		// The format of a line is hierarchy:controllers:path. In version 2 of cgroups, the field "hierarchy" is 0 and
		// the field "controllers" is empty (man 7 cgroups).
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		directory, file := "sys/fs/cgroup", "memory.max"
		switch {
		case parts[0] == "0" && parts[1] == "":
		case parts[1] == "memory":
			directory, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		default:
			continue
		}
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			limit = min(limit, readLimit(root, path.Join(directory, at, file)))
			if at == "/" {
				break
			}
		}
	}
	return limit, limit < math.MaxInt64
}

// readLimit reads a memory limit in bytes from a file. In version 1 of cgroups, a number near 2^63 means that there is
// no limit. readLimit treats every number of at least 2^60 as no limit.
func readLimit(root fs.FS, name string) int64 {
	const none = 1 << 60
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return math.MaxInt64
	}
	limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || limit <= 0 || limit >= none { // version 2 of cgroups writes "max" if there is no limit
		return math.MaxInt64
	}
	return limit
}
