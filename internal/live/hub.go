// Package live sends changes of start-ups and pulls to any number of viewers as they happen. It
// encodes each change once, and keeps only the last one of each pod. A viewer is a position in that
// log: changes overtake a viewer that reads slowly, instead of queueing for it. Without a viewer,
// nothing is computed.
//
// Reconcile's goroutine notes what has changed. The goroutine in Run fetches and encodes it.
// Viewers read from goroutines of their own.
package live

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// flushEvery is the shortest time between two flushes, so that a pod is sent at most twice a
	// second.
	flushEvery = 500 * time.Millisecond
	// pullsEvery is the shortest time between two queries of the pulls in progress, while a pod
	// waits for one.
	pullsEvery = 2 * time.Second
	// othersEvery replaces pullsEvery while no pod waits for a pull: other clients of the runtime may pull as well.
	othersEvery = 10 * time.Second
	// restFactor is the length of the pause after a query, as a multiple of the length of the query, so that queries
	// take at most 2 % of a core.
	restFactor = 50
	// lingering is how long after the last viewer left its changes are still logged, in case it
	// comes back.
	lingering = time.Minute
	// maxViewers limits the connections.
	maxViewers = 32
	// maxBytes limits the log.
	maxBytes = 2 << 20
	// maxBatch limits how many events a blocked viewer holds that the log has already dropped.
	maxBatch = 64
)

// Config configures a Hub.
type Config struct {
	// Some returns the timelines of those pods that are present. The goroutine in Run calls it.
	Some func(ctx context.Context, uids []string) ([]timeline.Timeline, error)
	// Pulls returns the current pulls. Its contract is that of Some.
	Pulls      func(ctx context.Context) (livepull.Snapshot, error)
	Now        func() time.Time
	Registerer prometheus.Registerer
	Logger     *zap.Logger
}

// ErrTooManyViewers says that all viewer slots are taken.
var ErrTooManyViewers = errors.New("too many viewers")

// Hub is safe for concurrent use.
type Hub struct {
	config  Config
	metrics metrics
	wake    chan struct{} // capacity 1: there is a viewer

	mu      sync.Mutex
	epoch   string // of the log; empty without viewers
	log     log
	news    chan struct{} // closed when the log has more
	viewers int
	leftAt  time.Time           // when the last viewer left
	changed map[string]struct{} // UIDs
	gone    map[string]*Event   // by UID
	pulling bool                // pulls may be in progress
}

// New creates a hub. It panics if its metrics are already registered.
func New(config Config) *Hub {
	h := &Hub{config: config, wake: make(chan struct{}, 1), news: make(chan struct{})}
	h.metrics = newMetrics(config.Registerer, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		return float64(h.viewers)
	})
	return h
}

// Changed notes that a pod changed, so that Some would return a new timeline of it. It never blocks.
func (h *Hub) Changed(uid string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	h.changed[uid] = struct{}{}
}

// Gone notes that a pod's object was removed. It never blocks.
func (h *Hub) Gone(t timeline.Timeline) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	delete(h.changed, t.UID)
	h.gone[t.UID] = newEvent(KindGone, t)
}

// Follow adds a viewer that has seen everything up to lastID, which may be empty or invalid. The
// caller must Close it.
func (h *Hub) Follow(lastID string) (*Viewer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == maxViewers {
		h.metrics.refused.Inc()
		return nil, ErrTooManyViewers
	}
	if h.epoch == "" {
		h.epoch = strconv.FormatInt(h.config.Now().UnixNano(), 16)
		h.log = newLog()
		h.changed, h.gone = map[string]struct{}{}, map[string]*Event{}
		h.pulling = true // as far as known
	}
	h.viewers++
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
	v := &Viewer{hub: h, at: h.log.last}
	if at, ok := h.position(lastID); ok {
		v.at = at
	} else {
		v.reset = true
	}
	return v, nil
}

// Refused counts a viewer that the server of the stream refused.
func (h *Hub) Refused() { h.metrics.refused.Inc() }

// position parses the ID of an event after which the log is complete.
func (h *Hub) position(id string) (uint64, bool) {
	epoch, number, _ := strings.Cut(id, "-")
	at, err := strconv.ParseUint(number, 10, 64)
	return at, err == nil && epoch == h.epoch && at >= h.log.floor && at <= h.log.last
}

func (h *Hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
	h.leftAt = h.config.Now()
}

// Run sends changes while there are viewers, until ctx ends, and then returns nil.
func (h *Hub) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		pulls := pullLook{hub: h}
		for h.watched() {
			began := h.config.Now()
			h.flush(ctx)
			pulls.look(ctx)
			if !backoff.Sleep(ctx, max(flushEvery, restFactor*h.config.Now().Sub(began))) {
				return nil
			}
		}
	}
}

// watched reports whether there is, or recently was, a viewer. If not, it drops the log.
func (h *Hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == 0 && h.config.Now().Sub(h.leftAt) >= lingering {
		h.epoch, h.log, h.changed, h.gone = "", log{}, nil, nil
	}
	return h.epoch != ""
}

// flush logs what has changed since the last flush.
func (h *Hub) flush(ctx context.Context) {
	h.mu.Lock()
	uids := slices.Collect(maps.Keys(h.changed))
	gone := slices.Collect(maps.Values(h.gone))
	clear(h.changed)
	clear(h.gone)
	h.mu.Unlock()

	events := make([]*Event, 0, len(uids)+len(gone))
	if len(uids) > 0 {
		timelines, err := h.config.Some(ctx, uids)
		if err != nil {
			h.config.Logger.Debug("cannot send changes to viewers", zap.Error(err)) // the agent stops
			return
		}
		for _, t := range timelines {
			events = h.encode(events, newEvent(KindPod, t), api.NewRecord(t))
			if pulls(t) {
				h.pullsGoOn()
			}
		}
	}
	for _, e := range gone {
		events = h.encode(events, e, e.Pod)
	}
	h.publish(events)
}

// encode adds an event with its data.
func (h *Hub) encode(events []*Event, e *Event, data any) []*Event {
	var err error
	if e.data, err = api.EncodeLine(data); err != nil {
		h.config.Logger.Error("cannot encode change for viewers", zap.String("kind", e.Kind), zap.Error(err))
		return events
	}
	return append(events, e)
}

// publish appends events to the log and wakes the viewers.
func (h *Hub) publish(events []*Event) {
	if len(events) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	for _, e := range events {
		h.log.add(e, h.epoch)
	}
	h.metrics.events.Add(float64(len(events)))
	close(h.news)
	h.news = make(chan struct{})
}
