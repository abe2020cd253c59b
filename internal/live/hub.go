// Package live sends changes of pod start-ups and image pulls to viewers (clients of the API's stream). The package
// encodes each change once for all viewers. The log holds only the last change of each pod. Each viewer has a position
// in the log, but no queue. A slow viewer does not receive changes that newer changes have replaced. A minute after the
// last viewer disconnected, the package stops its work until a viewer connects.
//
// The goroutine of package reconcile records which pods have changed. The goroutine of Hub.Run fetches and encodes the
// changed timelines. Viewers read from their own goroutines.
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
	// flushEvery is the minimum time between two flushes. So a viewer receives each pod at most twice per second.
	flushEvery = 500 * time.Millisecond
	// pullsEvery is the minimum time between two queries of the pulls in progress. pullsEvery applies if a changed pod
	// waits for a pull, or if the last query found pulls.
	pullsEvery = 2 * time.Second
	// othersEvery is the minimum time between two queries if no changed pod waits for a pull and the last query found
	// no pulls. The query can still find pulls of other clients of the runtime.
	othersEvery = 10 * time.Second
	// After a flush or a query, the Hub pauses for at least restFactor times the duration of this flush or query. So
	// flushes and queries use at most 2 % of a core.
	restFactor = 50
	// lingering is how long the Hub still logs changes after the last viewer disconnected. While the Hub logs changes,
	// a viewer that reconnects can resume the stream.
	lingering = time.Minute
	// maxViewers is the maximum number of viewers.
	maxViewers = 32
	// maxBytes is the maximum size of the log in bytes.
	maxBytes = 2 << 20
	// maxBatch is the maximum number of events that Viewer.Next returns. If a viewer does not read, the events of its
	// last batch stay in memory, even after the log has dropped them.
	maxBatch = 64
)

// Config configures a Hub.
type Config struct {
	// The function Some returns the timelines of the given pods, except for pods that no longer exist. The goroutine of
	// Run calls the function Some.
	Some func(ctx context.Context, uids []string) ([]timeline.Timeline, error)
	// Pulls returns the pulls in progress. The goroutine of Run calls Pulls.
	Pulls      func(ctx context.Context) (livepull.Snapshot, error)
	Now        func() time.Time
	Registerer prometheus.Registerer
	Logger     *zap.Logger
}

// ErrTooManyViewers means that the maximum number of viewers is connected.
var ErrTooManyViewers = errors.New("too many viewers")

// Hub sends changes to viewers. A Hub is safe for concurrent use.
type Hub struct {
	config  Config
	metrics metrics
	wake    chan struct{} // signals that a viewer is connected; has capacity 1

	mu      sync.Mutex
	epoch   string // ID of the log (the time of its creation); empty if no log exists
	log     log
	news    chan struct{} // closed when the log has new events
	viewers int
	leftAt  time.Time           // time at which the last viewer disconnected
	changed map[string]struct{} // UIDs of changed pods
	gone    map[string]*Event   // deleted pods, by UID
	pulling bool                // a pod might wait for a pull
}

// New creates a hub. New panics if its metrics are already registered.
func New(config Config) *Hub {
	h := &Hub{config: config, wake: make(chan struct{}, 1), news: make(chan struct{})}
	h.metrics = newMetrics(config.Registerer, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		return float64(h.viewers)
	})
	return h
}

// Changed receives the UID of a pod that has changed. Run then fetches the pod's new timeline. Changed never blocks.
func (h *Hub) Changed(uid string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	h.changed[uid] = struct{}{}
}

// Gone receives the last timeline of a pod whose object was deleted. Gone never blocks.
func (h *Hub) Gone(t timeline.Timeline) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	delete(h.changed, t.UID)
	h.gone[t.UID] = newEvent(KindGone, t)
}

// AddViewer adds a viewer that has received all events up to lastID. If lastID is empty, invalid or too old, the
// viewer first receives an event of KindReset. The caller must call Viewer.Close.
func (h *Hub) AddViewer(lastID string) (*Viewer, error) {
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
		h.pulling = true // a pod might already wait for a pull, so the first query must run
	}
	h.viewers++
	select {
	case h.wake <- struct{}{}:
	default: // Run has not processed the previous signal yet
	}
	v := &Viewer{hub: h, at: h.log.last}
	if at, ok := h.position(lastID); ok {
		v.at = at
	} else {
		v.reset = true
	}
	return v, nil
}

// Refused adds 1 to the number of refused viewers. The API's stream handler calls Refused if it refuses a viewer before
// AddViewer.
func (h *Hub) Refused() { h.metrics.refused.Inc() }

// position parses the ID of an event. The second result is true only if the ID belongs to the current log, and the log
// has dropped no newer event.
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

// Run sends changes to viewers until ctx is done, and then returns nil. Run is idle while isWatched returns false.
func (h *Hub) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		}
		pulls := pullQuery{hub: h}
		for h.isWatched() {
			began := h.config.Now()
			h.flush(ctx)
			pulls.queryIfDue(ctx)
			if !backoff.Sleep(ctx, max(flushEvery, restFactor*h.config.Now().Sub(began))) {
				return nil
			}
		}
	}
}

// isWatched returns true if a viewer is connected, or if the last viewer disconnected less than "lingering" ago. If
// neither is true, isWatched drops the log and returns false.
func (h *Hub) isWatched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == 0 && h.config.Now().Sub(h.leftAt) >= lingering {
		h.epoch, h.log, h.changed, h.gone = "", log{}, nil, nil
	}
	return h.epoch != ""
}

// flush adds the changes since the last flush to the log.
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
			h.config.Logger.Debug("cannot send changes to viewers", zap.Error(err)) // the agent is stopping
			return
		}
		for _, t := range timelines {
			events = h.encode(events, newEvent(KindPod, t), api.NewRecord(t))
			if waitsForImage(t) {
				h.pullsGoOn()
			}
		}
	}
	for _, e := range gone {
		events = h.encode(events, e, e.Pod)
	}
	h.publish(events)
}

// encode stores "data" as JSON in the event "e", and appends "e" to "events".
func (h *Hub) encode(events []*Event, e *Event, data any) []*Event {
	var err error
	if e.data, err = api.EncodeLine(data); err != nil {
		h.config.Logger.Error("cannot encode a change for viewers", zap.String("kind", e.Kind), zap.Error(err))
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
