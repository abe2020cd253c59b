// Package live tells changes of start-ups and pulls as they happen to as many viewers as there are.
// Each change is encoded once, and of each pod only the last one is kept: a viewer is a place in
// that log, and one that reads slowly is overtaken, not queued for. With no viewer nothing is
// computed.
//
// Reconcile's goroutine says what has changed; the goroutine in Run asks for it and encodes;
// viewers read from goroutines of their own.
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
	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// flushEvery is the least time between two looks at what has changed, so that a pod is told of
	// twice a second at most.
	flushEvery = 500 * time.Millisecond
	// pullsEvery is the least time between two looks at the pulls that go on, while any does that a pod asked for.
	pullsEvery = 2 * time.Second
	// othersEvery is the same while none does: others may pull as well.
	othersEvery = 10 * time.Second
	// restFactor is how much longer than a look takes it is until the next, so that looks take 2 % of a core at most.
	restFactor = 50
	// lingering is how long after the last viewer left its changes are still told, for when it comes back.
	lingering = time.Minute
	// maxViewers bounds the connections.
	maxViewers = 32
	// maxBytes bounds the log.
	maxBytes = 2 << 20
	// maxBatch bounds how much a viewer that blocks holds of what the log has let go of.
	maxBatch = 64
)

// Config is what a Hub needs.
type Config struct {
	// Some tells of those of the pods that are there; it is asked from the goroutine in Run.
	Some func(ctx context.Context, uids []string) ([]timeline.Timeline, error)
	// Pulls tells what is pulled now; like Some.
	Pulls      func(ctx context.Context) (export.LivePulls, error)
	Now        func() time.Time
	Registerer prometheus.Registerer
	Logger     *zap.Logger
}

// ErrTooManyViewers is the answer to one viewer too many.
var ErrTooManyViewers = errors.New("too many viewers")

// Hub is safe for concurrent use.
type Hub struct {
	config  Config
	metrics metrics
	wake    chan struct{} // capacity 1: somebody watches

	mu      sync.Mutex
	epoch   string // of the log; empty while nobody watches
	log     log
	news    chan struct{} // closed when the log has more
	viewers int
	leftAt  time.Time              // when the last viewer left
	changed map[string]struct{}    // UIDs
	gone    map[string]goneStartUp // by UID
	pulling bool                   // pulls may go on
}

// New makes a hub. It panics when the registerer already has its metrics.
func New(config Config) *Hub {
	h := &Hub{config: config, wake: make(chan struct{}, 1), news: make(chan struct{})}
	h.metrics = newMetrics(config.Registerer, func() float64 {
		h.mu.Lock()
		defer h.mu.Unlock()
		return float64(h.viewers)
	})
	return h
}

// Changed says that Some would tell something new of a pod. It never blocks.
func (h *Hub) Changed(uid string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	h.changed[uid] = struct{}{}
}

// Gone says that a pod's object is gone. It never blocks.
func (h *Hub) Gone(t timeline.Timeline) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == "" {
		return
	}
	delete(h.changed, t.UID)
	h.gone[t.UID] = newGone(t)
}

// Follow adds a viewer that has seen everything up to lastID, which may be empty or anything else.
// The caller must Close it.
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
		h.changed, h.gone = map[string]struct{}{}, map[string]goneStartUp{}
		h.pulling = true // for all that is known
	}
	h.viewers++
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
	v := &Viewer{hub: h, at: h.log.last}
	if at, ok := h.place(lastID); ok {
		v.at = at
	} else {
		v.reset = true
	}
	return v, nil
}

// Refused counts a viewer that whoever serves the stream did not let in.
func (h *Hub) Refused() { h.metrics.refused.Inc() }

// place reads the id of an event from which on the log is complete.
func (h *Hub) place(id string) (uint64, bool) {
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

// Run looks at what has changed while anybody watches, until ctx ends, and then returns nil.
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

// watched says whether there is, or was until lately, a viewer. When there is none the log is let go of.
func (h *Hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.viewers == 0 && h.config.Now().Sub(h.leftAt) >= lingering {
		h.epoch, h.log, h.changed, h.gone = "", log{}, nil, nil
	}
	return h.epoch != ""
}

// flush tells what has changed since the last time.
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
			if e := h.encode(KindPod, t.UID, export.NewRecord(t)); e != nil {
				e.Key, e.Detail, e.Pod = filter.KeyOf(t), filter.DetailOf(t), podKey(t)
				events = append(events, e)
			}
			if pulls(t) {
				h.pullsGoOn()
			}
		}
	}
	for _, g := range gone {
		if e := h.encode(KindGone, g.pod.UID, g.pod); e != nil {
			e.Key, e.Detail, e.Pod = g.key, g.detail, g.pod
			events = append(events, e)
		}
	}
	h.tell(events)
}

func (h *Hub) encode(kind, subject string, value any) *Event {
	data, err := export.EncodeLine(value)
	if err != nil {
		h.config.Logger.Error("cannot encode change for viewers", zap.String("kind", kind), zap.Error(err))
		return nil
	}
	return &Event{Kind: kind, subject: subject, data: data}
}

// tell puts events into the log and wakes the viewers.
func (h *Hub) tell(events []*Event) {
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
