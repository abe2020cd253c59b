package state

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// saveGap is the shortest time from one save to the next. If the agent is killed, the sources repeat the observations
// since the last save, at most a little less precisely. A hundred pods that start at once cause five small writes a
// second, the same as one pod.
//
// saveDelay is how long the first save waits for further changes, such as the runtime's answer about a pod that was
// just seen.
const (
	saveGap   = 200 * time.Millisecond
	saveDelay = 20 * time.Millisecond
)

// retries limits the writes to a full disk, but retries soon enough to notice that it has room again.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 15 * time.Second}

// Config configures a Keeper. Every field is required.
type Config struct {
	Node       string
	Header     record.Header // of the running agent; its Scope.Since survives
	Now        func() time.Time
	Report     func(up bool, detail string)
	Registerer prometheus.Registerer // gets podlapse_state_dropped_total
	Logger     *zap.Logger
}

// Keeper holds what must survive the agent. Keep, KeepEnd, Kept, Reported, Gone and EventsUntil
// never wait for the disk and may be called from any goroutine.
type Keeper struct {
	config    Config
	recording []byte // header of the observations
	file      string
	replace   func(lines [][]byte) error
	dropped   prometheus.Counter
	changed   chan struct{} // capacity 1, dropped when full: there is something to save

	mu       sync.Mutex
	inFlight map[string]*inFlight // by pod UID
	reported []string             // pod UIDs, the oldest report first
	silences timeline.SilenceLog  // silences of the runtime while pods start, which explain delays
	lost     int                  // omitted since the last save
	// eventsUntil is the time of the latest kubelet Event after a start-up that was reported.
	eventsUntil time.Time
	failing     bool // the last save failed

	full bool // used by save: something that is still current was omitted
}

// Dir is a directory that is ready to hold the state, with the state that a previous agent left there.
type Dir struct {
	Contents
	file    string
	replace func(lines [][]byte) error // replaces the content of the file
	locked  io.Closer
}

// Open creates the directory if it is absent and reads the state that a previous agent of this node
// left. It renames and logs an unreadable file. So it fails only if the directory cannot be
// created, or if another agent holds it. No other agent can use the directory until Close.
func Open(path, node string, logger *zap.Logger) (*Dir, error) {
	d, err := openDir(path)
	if err != nil {
		return nil, err
	}
	locked, err := d.lock()
	if err != nil {
		return nil, err
	}
	d.removeInterrupted()
	return &Dir{d.load(node, logger), d.file(), d.replace, locked}, nil
}

// Close releases the directory for another agent. The Keeper must have ended.
func (d *Dir) Close() error { return d.locked.Close() }

// Keeper creates a Keeper with the contents of the directory. The Keeper saves at once: to check
// that it can, and because even if the agent is killed before any pod starts, the next agent must know the time from
// which start-ups are to be reported. It panics if its metric is already registered.
func (d *Dir) Keeper(config Config) (*Keeper, error) {
	recording, err := record.EncodeHeader(config.Header)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		config: config, recording: recording, file: d.file, replace: d.replace,
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_state_dropped_total",
			Help: "Observations of start-ups in progress, and entries of reported pods, that were left out of the " +
				"state in --state-dir because it is full. They do not survive a restart of the agent.",
		}),
		changed:  make(chan struct{}, 1),
		inFlight: map[string]*inFlight{}, eventsUntil: d.EventsUntil,
	}
	config.Registerer.MustRegister(k.dropped)
	evidence := map[string]*timeline.Evidence{}
	for _, o := range d.InFlight {
		if _, silent := o.(timeline.RuntimeSilent); silent {
			k.Keep(o, true)
			continue
		}
		e := evidence[o.PodUID()]
		if e == nil {
			e = timeline.NewEvidence(timeline.Scope{})
			evidence[o.PodUID()] = e
		}
		k.Keep(o, e.Apply(o)) // otherwise each restart would add the pod object that was the latest at that time
	}
	for _, uid := range d.Reported {
		k.Reported(uid)
	}
	ends := map[string]*timeline.TerminationEvidence{}
	for _, o := range d.Ends {
		news := true
		if e := ends[o.PodUID()]; e != nil {
			news = e.Apply(o)
		} else {
			ends[o.PodUID()] = timeline.NewTerminationEvidence(o)
		}
		k.KeepEnd(o, news)
	}
	if err := k.save(); err != nil {
		return nil, err
	}
	select {
	case <-k.changed:
	default:
	}
	return k, nil
}

// Keep takes an observation of a start-up that is to be reported, and whether it was new. New observations are kept,
// and so is a pod object until the next one. A silence of the runtime is kept as long as any pod is kept.
func (k *Keeper) Keep(o timeline.Observation, news bool) {
	_, seen := o.(timeline.PodSeen)
	if !survives(o) || !news && !seen {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, silent := o.(timeline.RuntimeSilent); silent {
		k.silences.Observe(o)
		k.nudge()
		return
	}
	p := k.inFlight[o.PodUID()]
	if p == nil {
		if !seen || len(k.inFlight) == maxInFlight {
			k.lost++
			return
		}
		p = &inFlight{}
		k.inFlight[o.PodUID()] = p
	}
	if !p.take(o, news) {
		p.full = true
		k.lost++
	}
	k.nudge()
}

// KeepEnd takes an observation of the end of a pod, and whether it was news. It keeps it if the
// pod's start-up was reported or is in flight.
func (k *Keeper) KeepEnd(o timeline.Observation, news bool) {
	if !survives(o) || !news {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.inFlight[o.PodUID()]
	if p == nil {
		if _, seen := o.(timeline.PodSeen); !seen || !slices.Contains(k.reported, o.PodUID()) {
			return // the next agent could not continue with it
		}
		if len(k.inFlight) == maxInFlight {
			k.lost++
			return
		}
		p = &inFlight{ends: true}
		k.inFlight[o.PodUID()] = p
	}
	if !p.take(o, news) {
		p.full = true
		k.lost++
	}
	k.nudge()
}

// Reported notes that all sinks have processed the pod's start-up: it is no longer in flight.
func (k *Keeper) Reported(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.inFlight[uid]
	delete(k.inFlight, uid)
	k.nudge()
	if p != nil && p.gone {
		return // it cannot appear again
	}
	if len(uid) > maxUID {
		k.lost++
		return
	}
	k.reported = append(k.reported, uid)
	if len(k.reported) > maxReported {
		// The oldest first: start-ups of pods that were created long ago are not reported anyway
		// (Scope.Since).
		k.reported = slices.Delete(k.reported, 0, 1)
		k.lost++
	}
}

// Gone notes that the pod's object was removed. It stays in flight until its start-up is reported.
func (k *Keeper) Gone(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.inFlight[uid]; p != nil && !p.ends {
		p.gone = true
		return
	}
	delete(k.inFlight, uid)
	if i := slices.Index(k.reported, uid); i >= 0 {
		k.reported = slices.Delete(k.reported, i, i+1)
		k.nudge()
	}
}

// Kept reports whether the next agent finds the pod's start-up in flight: it is in the file, and
// the file is up to date except for the last moments.
func (k *Keeper) Kept(uid string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.inFlight[uid]
	return p != nil && p.saved && !k.failing
}

// EventsUntil notes the time of the latest kubelet Event after a start-up that was reported.
func (k *Keeper) EventsUntil(until time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.eventsUntil = until.UTC()
	k.nudge()
}

func (k *Keeper) nudge() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// Run saves changes, at most once in saveGap, until ctx ends; then it saves the rest and returns
// nil. It reports failed saves and retries them.
func (k *Keeper) Run(ctx context.Context) error {
	for failures := 0; ; {
		select {
		case <-k.changed:
			backoff.Sleep(ctx, saveDelay)
		case <-ctx.Done():
			return k.end()
		}
		pause := saveGap - saveDelay
		if err := k.save(); err != nil {
			pause = retries.Delay(failures)
			failures++
			k.nudge()
		} else {
			failures = 0
		}
		backoff.Sleep(ctx, pause)
	}
}

func (k *Keeper) end() error {
	select {
	case <-k.changed:
		_ = k.save() // it has reported the error
	default:
	}
	return nil
}
