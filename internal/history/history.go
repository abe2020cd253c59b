// Package history keeps the records of deleted pods, so that the API can still explain their start-ups. The number of
// pods and the total size of the records are limited. If a limit is exceeded, the package drops the oldest records. The
// goroutine of package reconcile adds records. The API reads records from any goroutine.
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
	Pods       int                   // maximum number of pods; 0 means that the history keeps no pods
	Bytes      int                   // maximum total size of the entries (Entry.size) and of OtherBytes
	OtherBytes func() int            // size in bytes of other data that counts toward Bytes; can be nil
	Now        func() time.Time      // returns the current time; Add uses it as the deletion time of the pod
	Registerer prometheus.Registerer // registers the metrics
	Logger     *zap.Logger
}

// Stats holds the size of the history.
type Stats struct {
	Pods, Bytes int
	Dropped     uint64    // number of entries that the history dropped because of a limit
	OldestAt    time.Time // deletion time of the oldest pod; zero if there are no entries
}

// History keeps the records of deleted pods. A History is safe for concurrent use.
type History struct {
	config Config

	mu      sync.Mutex
	entries []*Entry // oldest first
	bytes   int
	dropped uint64
}

// New returns an empty history. New panics if its metrics are already registered.
func New(config Config) *History {
	h := &History{config: config}
	h.register()
	return h
}

// Add adds the timeline of a pod that was just deleted. Add takes a fraction of a millisecond and never waits for
// I/O.
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
	h.trim()
}

// Trim removes the oldest entries until all data is within the limits. If the result of Config.OtherBytes grows, the
// caller must call Trim.
func (h *History) Trim() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trim()
}

func (h *History) trim() {
	most := h.config.Bytes
	if h.config.OtherBytes != nil {
		most -= h.config.OtherBytes()
	}
	for len(h.entries) > 0 && (len(h.entries) > h.config.Pods || h.bytes > most) {
		h.bytes -= h.entries[0].size()
		h.entries[0] = nil
		h.entries = h.entries[1:]
		h.dropped++
	}
}

// Entries returns all entries, oldest first.
func (h *History) Entries() []*Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// Stats returns the size of the history.
func (h *History) Stats() Stats {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := Stats{Pods: len(h.entries), Bytes: h.bytes, Dropped: h.dropped}
	if len(h.entries) > 0 {
		s.OldestAt = h.entries[0].GoneAt()
	}
	return s
}

// Limits returns the maximum number of pods and the maximum total size in bytes.
func (h *History) Limits() (pods, bytes int) { return h.config.Pods, h.config.Bytes }
