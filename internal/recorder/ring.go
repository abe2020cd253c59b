package recorder

import (
	"slices"
	"sync"
)

// Limits on the lines in a ring. On a busy node, the limits are enough for a few minutes of observations.
const (
	ringLines = 4096
	ringBytes = 4 << 20
)

// ring keeps the latest lines. If the lines exceed a limit, ring drops the oldest lines. ring is safe for concurrent
// use.
type ring struct {
	mu    sync.Mutex
	lines [][]byte // kept lines, oldest first
	bytes int
}

// addLine stores a line. The caller must not change the line afterwards.
func (r *ring) addLine(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, line)
	r.bytes += len(line)
	for len(r.lines) > ringLines || r.bytes > ringBytes {
		r.bytes -= len(r.lines[0])
		r.lines[0] = nil
		r.lines = r.lines[1:]
	}
}

// latest returns the lines, oldest first.
func (r *ring) latest() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.lines)
}
