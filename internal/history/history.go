// Package history keeps the records of deleted pods, so that a pod deleted an hour ago can still be
// explained. It is a ring limited by count and bytes, which drops the oldest first. Reconcile's
// goroutine adds; the API reads from any goroutine.
package history

import (
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Config configures a History.
type Config struct {
	Pods       int                   // the maximum number of pods; 0 keeps none
	Bytes      int                   // the maximum memory of all entries, as counted by Entry
	Now        func() time.Time      // when an added pod was removed
	Registerer prometheus.Registerer // gets the metrics
	Logger     *zap.Logger
}

// Stats is how much is kept.
type Stats struct {
	Pods, Bytes int
	Dropped     uint64    // dropped for others, or too large, so far
	OldestAt    time.Time // when the oldest was removed; zero if there is none
}

// History is safe for concurrent use.
type History struct {
	config Config

	mu      sync.Mutex
	entries []*Entry // the oldest first
	bytes   int
	dropped uint64
}

// New returns an empty history. It panics if its metrics are already registered.
func New(config Config) *History {
	h := &History{config: config}
	h.register()
	return h
}

// Add keeps the timeline of a pod that was just removed. It takes a fraction of a millisecond and
// never waits for I/O.
func (h *History) Add(t timeline.Timeline) {
	entry, err := newEntry(t, h.config.Now())
	if err != nil {
		h.config.Logger.Error("cannot keep a deleted pod in the history", zap.String("namespace", t.Namespace),
			zap.String("pod", t.Name), zap.Error(err))
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entry)
	h.bytes += entry.size()
	for len(h.entries) > h.config.Pods || h.bytes > h.config.Bytes {
		h.bytes -= h.entries[0].size()
		h.entries[0] = nil
		h.entries = h.entries[1:]
		h.dropped++
	}
}

// Entries returns the kept entries, the oldest first.
func (h *History) Entries() []*Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// Stats returns how much is kept.
func (h *History) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Pods: len(h.entries), Bytes: h.bytes, Dropped: h.dropped}
	if len(h.entries) > 0 {
		s.OldestAt = h.entries[0].GoneAt()
	}
	return s
}

// Limits returns the limits of the Config.
func (h *History) Limits() (pods, bytes int) { return h.config.Pods, h.config.Bytes }
