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

// saveGap is the least time from one save to the next: what an agent that is killed has observed since, the
// sources tell again, at most a little less exactly; and a hundred pods that start at once cost five
// small writes a second, as one pod does.
//
// saveDelay is how long the first save waits for what comes together with the change that it is for, such as
// the runtime's answer about a pod that was just seen.
const (
	saveGap   = 200 * time.Millisecond
	saveDelay = 20 * time.Millisecond
)

// retries keeps a full disk from being written to all the time, and one with room again from being missed.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 15 * time.Second}

// Config is what a Keeper needs; every field is required.
type Config struct {
	Node       string
	Header     record.Header // of the agent that runs; its Scope.Since survives
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
	silences timeline.SilenceLog  // of the runtime: they take the blame off others while pods start
	lost     int                  // left out since the last save
	// eventsUntil is when kubelet said what was told last of Events after start-ups.
	eventsUntil time.Time
	failing     bool // the last save failed

	full bool // of save: something that is still there was left out
}

// Dir is a directory that is ready to keep the state in, and what an agent before left there.
type Dir struct {
	Contents
	file    string
	replace func(lines [][]byte) error // the file, by these
	locked  io.Closer
}

// Open makes the directory if it is absent and reads what an agent of this node left in it. What cannot be
// read is set aside and logged, so that only a directory that cannot be made, or that another agent holds, is an
// error. Nobody else may use it until Close.
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

// Close lets another agent use the directory; the Keeper must have ended.
func (d *Dir) Close() error { return d.locked.Close() }

// Keeper goes on with the contents of the directory. It saves once at once: to see that it can, and because
// an agent that is killed before any pod starts leaves to the next from when on start-ups are to be
// reported. It panics when the registerer already has its metric.
func (d *Dir) Keeper(config Config) (*Keeper, error) {
	recording, err := record.EncodeHeader(config.Header)
	if err != nil {
		return nil, err
	}
	k := &Keeper{
		config: config, recording: recording, file: d.file, replace: d.replace,
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_state_dropped_total",
			Help: "Observations of start-ups in progress, and reported pods, that would not survive a restart of " +
				"the agent, because the state in --state-dir is limited.",
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
		k.Keep(o, e.Apply(o)) // or each restart would add the pod object that was the latest then
	}
	for _, uid := range d.Reported {
		k.Reported(uid)
	}
	ends := map[string]*timeline.Ending{}
	for _, o := range d.Ends {
		news := true
		if e := ends[o.PodUID()]; e != nil {
			news = e.Apply(o)
		} else {
			ends[o.PodUID()] = timeline.NewEnding(o)
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

// Keep takes an observation of a start-up that is to be reported, and whether it was news. It is kept if it was,
// or if it is a pod object, until the next one. A silence of the runtime is kept while any pod is.
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

// KeepEnd takes an observation of the end of a pod, and whether it was news, if the pod's start-up
// was reported or is in flight.
func (k *Keeper) KeepEnd(o timeline.Observation, news bool) {
	if !survives(o) || !news {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.inFlight[o.PodUID()]
	if p == nil {
		if _, seen := o.(timeline.PodSeen); !seen || !slices.Contains(k.reported, o.PodUID()) {
			return // of others the next agent has nothing that it could go on with
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

// Reported notes that all sinks are through with the pod's start-up: it is not in flight any more.
func (k *Keeper) Reported(uid string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.inFlight[uid]
	delete(k.inFlight, uid)
	k.nudge()
	if p != nil && p.gone {
		return // nobody will see it again
	}
	if len(uid) > maxUID {
		k.lost++
		return
	}
	k.reported = append(k.reported, uid)
	if len(k.reported) > maxReported {
		// The oldest first: of pods that were created long ago nothing is reported anyway (Scope.Since).
		k.reported = slices.Delete(k.reported, 0, 1)
		k.lost++
	}
}

// Gone notes that the pod's object is gone. While its start-up is not reported it stays in flight.
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

// Kept says that the next agent finds the pod's start-up in flight: it is in the file, and the file
// is kept up to date, so that at most what came in the last moments is missing there.
func (k *Keeper) Kept(uid string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.inFlight[uid]
	return p != nil && p.saved && !k.failing
}

// EventsUntil notes when kubelet said what was told last of Events after start-ups.
func (k *Keeper) EventsUntil(said time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.eventsUntil = said.UTC()
	k.nudge()
}

func (k *Keeper) nudge() {
	select {
	case k.changed <- struct{}{}:
	default:
	}
}

// Run saves what changes, at most once in saveGap, until ctx ends; then what is left, and returns nil. What
// cannot be saved is reported and tried again.
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
		_ = k.save() // it has reported
	default:
	}
	return nil
}
