package record

import "sync"

// Limits on the lines that a ring keeps: minutes of a busy node.
const (
	ringLines = 4096
	ringBytes = 4 << 20
)

// ring keeps the latest lines and drops the oldest first. It is safe for concurrent use.
type ring struct {
	mu    sync.Mutex
	lines [ringLines][]byte
	first int // index of the oldest
	count int
	bytes int
}

// add keeps a line, which must not be changed afterwards.
func (r *ring) add(line []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.count > 0 && (r.count == ringLines || r.bytes+len(line) > ringBytes) {
		r.bytes -= len(r.lines[r.first])
		r.lines[r.first] = nil
		r.first = (r.first + 1) % ringLines
		r.count--
	}
	r.lines[(r.first+r.count)%ringLines] = line
	r.count++
	r.bytes += len(line)
}

// latest returns the lines, the oldest first.
func (r *ring) latest() [][]byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	lines := make([][]byte, 0, r.count)
	for i := range r.count {
		lines = append(lines, r.lines[(r.first+i)%ringLines])
	}
	return lines
}
