package state

import (
	"context"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// The Saver saves each change immediately, while the agent is awake. A later save would wake the agent again. The
// constants savesPerSecond and saveBurst limit the saves while many pods start at the same time. If the agent is
// killed, the sources repeat most of the observations since the last save. The repeated observations are sometimes less
// precise.
const (
	savesPerSecond = 5
	saveBurst      = 5 // maximum number of saves in quick succession
)

// retries is the back-off after a failed save. The back-off limits the writes to a full disk but is short enough to
// detect free space soon.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 15 * time.Second}

// Config configures a Saver. Every field is required.
type Config struct {
	Node       string
	Header     recording.Header // header of the running agent; the next agent reads Header.Scope.Since from the file
	Now        func() time.Time
	Report     func(up bool, detail string)
	Registerer prometheus.Registerer // registers podlapse_state_dropped_total
	Logger     *zap.Logger
}

// Saver saves the data that the next agent on the node needs. Observe, ObserveTermination, Reported, Saved, Gone and
// SetEventsUntil never wait for the disk and are safe to call from any goroutine.
type Saver struct {
	config  Config
	header  []byte // header line of the recording
	file    file
	dropped prometheus.Counter
	changed chan struct{} // signals unsaved changes; capacity 1, so a second signal is dropped

	mu       sync.Mutex
	changes  []changeLine         // pods that were reported or removed since the last save
	inFlight map[string]*inFlight // data of pods that are starting or being deleted, by UID
	reported []string             // UIDs of reported pods, oldest report first
	silences timeline.SilenceLog  // periods without responses from the runtime; they explain delays of starting pods
	clockLog timeline.ClockLog    // changes of the node's clock; they make start-ups unclear
	lost     int                  // number of observations and UIDs that were omitted since the last save
	// eventsUntil is the time of the latest post-startup kubelet Event that the agent has reported.
	eventsUntil time.Time
	failing     bool // true if the last save failed

	// The fields below belong to the goroutine that calls the method save.
	full     bool  // true while a limit of the file is reached
	size     int64 // size of the file in bytes; zero if the next save must replace the file
	appended int64 // size of the sections after the first section, in bytes
	sum      uint32
}

// Dir is the locked directory of the state file, with the state that the previous agent saved.
type Dir struct {
	Contents
	dir    dir
	file   file
	locked io.Closer
}

// file is the state file on a disk.
type file struct {
	path    string
	replace func(lines [][]byte) error             // replaces the content of the file
	append  func(lines [][]byte, size int64) error // appends to a file that has the given size
}

// Open reads the state of the previous agent on this node. If the directory is absent, Open creates it. If the state
// file is unusable, Open renames the file and logs a warning. Open fails only if it cannot create or lock the
// directory, for example because another agent uses the directory. No other agent can use the directory until Close.
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
	return &Dir{d.load(node, logger), d, file{d.file(), d.replace, d.append}, locked}, nil
}

// Close releases the directory for another agent. The caller must stop the Saver first.
func (d *Dir) Close() error { return d.locked.Close() }

// NewSaver creates a Saver with the state of the previous agent, and immediately saves this state again. The first save
// tests whether the agent can write the file. The first save also stores the time from which the next agent must report
// start-ups. NewSaver panics if its metric is already registered.
func (d *Dir) NewSaver(config Config) (*Saver, error) {
	header, err := recording.EncodeHeader(config.Header)
	if err != nil {
		return nil, err
	}
	s := &Saver{
		config: config, header: header, file: d.file,
		dropped: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "podlapse_state_dropped_total",
			Help: "Items that are missing from the state file in --state-dir because the file is full: observations " +
				"of start-ups in progress, and entries about pods that the agent has already reported. A restart of " +
				"the agent loses these items.",
		}),
		changed:  make(chan struct{}, 1),
		inFlight: map[string]*inFlight{}, eventsUntil: d.EventsUntil,
	}
	config.Registerer.MustRegister(s.dropped)
	evidence := map[string]*timeline.Evidence{}
	for _, o := range d.InFlight {
		if concernsNode(o) {
			s.Observe(o, true)
			continue
		}
		e := evidence[o.PodUID()]
		if e == nil {
			e = timeline.NewEvidence(timeline.Scope{})
			evidence[o.PodUID()] = e
		}
		// A stored pod object counts as news only if it changes the evidence. Otherwise, each restart would add a pod
		// object to the file.
		s.Observe(o, e.Apply(o))
	}
	for _, uid := range d.Reported {
		s.Reported(uid)
	}
	terminations := map[string]*timeline.TerminationEvidence{}
	for _, o := range d.Terminations {
		news := true
		if e := terminations[o.PodUID()]; e != nil {
			news = e.Apply(o)
		} else {
			terminations[o.PodUID()] = timeline.NewTerminationEvidence(o)
		}
		s.ObserveTermination(o, news)
	}
	if err := s.save(); err != nil {
		return nil, err
	}
	select {
	case <-s.changed:
	default:
	}
	return s, nil
}

// Observe receives an observation of a pod whose start-up the agent must report. The argument "news" is true if the
// observation changed the evidence. Observe stores observations that changed the evidence. If a pod object did not
// change the evidence, Observe stores the object only until the next pod object arrives. Observe also stores the
// observations about the node (concernsNode). If the Saver has no data of any pod, the next save drops the observations
// about the node.
func (s *Saver) Observe(o timeline.Observation, news bool) {
	_, seen := o.(timeline.PodSeen)
	if !outlivesAgent(o) || !news && !seen {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if concernsNode(o) {
		s.silences.Observe(o)
		s.clockLog.Observe(o)
		s.wake()
		return
	}
	p := s.inFlight[o.PodUID()]
	if p == nil {
		if !seen || len(s.inFlight) == maxInFlight {
			s.lost++
			return
		}
		p = &inFlight{}
		s.inFlight[o.PodUID()] = p
	}
	if !p.add(o, news) {
		p.full = true
		s.lost++
	}
	s.wake()
}

// ObserveTermination receives an observation of a pod's termination. The argument "news" is true if the observation
// changed the evidence. If the pod's start-up is in progress or was reported, ObserveTermination stores observations
// that changed the evidence. After the start-up was reported, ObserveTermination ignores all observations of the pod
// until a pod object arrives.
func (s *Saver) ObserveTermination(o timeline.Observation, news bool) {
	if !outlivesAgent(o) || !news {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.inFlight[o.PodUID()]
	if p == nil {
		if _, seen := o.(timeline.PodSeen); !seen || !slices.Contains(s.reported, o.PodUID()) {
			return // the next agent needs both: a pod object and a reported start-up
		}
		if len(s.inFlight) == maxInFlight {
			s.lost++
			return
		}
		p = &inFlight{terminating: true}
		s.inFlight[o.PodUID()] = p
	}
	if !p.add(o, news) {
		p.full = true
		s.lost++
	}
	s.wake()
}

// Reported records that all sinks are done with the pod's start-up. Reported removes the start-up's observations from
// the Saver.
func (s *Saver) Reported(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.inFlight[uid]
	delete(s.inFlight, uid)
	s.wake()
	if p != nil && p.gone { // a removed pod cannot appear again
		s.addChange(kindRemoved, uid)
		return
	}
	if len(uid) > maxUID {
		s.addChange(kindRemoved, uid)
		s.lost++
		return
	}
	s.addChange(kindReported, uid)
	s.reported = append(s.reported, uid)
	if len(s.reported) > maxReported {
		// Drop the pod that was reported first. If this pod reached the node after Scope.Since, the next agent can
		// report its start-up again.
		s.addChange(kindRemoved, s.reported[0])
		s.reported = slices.Delete(s.reported, 0, 1)
		s.lost++
	}
}

// Gone records that the pod's object was removed. The Saver holds the pod's data until all sinks are done with the
// pod's start-up.
func (s *Saver) Gone(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.inFlight[uid]; p != nil && !p.terminating {
		p.gone = true
		return
	}
	delete(s.inFlight, uid)
	if i := slices.Index(s.reported, uid); i >= 0 {
		s.reported = slices.Delete(s.reported, i, i+1)
		s.addChange(kindRemoved, uid)
		s.wake()
	}
}

// addChange stores a change for the next save. The caller must hold the lock.
func (s *Saver) addChange(kind, uid string) { s.changes = append(s.changes, changeLine{kind, uid}) }

// Saved returns true if the next agent finds the pod's start-up in the file. The file can lack observations that
// arrived after the last save or that exceeded a limit.
func (s *Saver) Saved(uid string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.inFlight[uid]
	return p != nil && p.saved && !s.failing
}

// SetEventsUntil records the time of the latest post-startup kubelet Event that the agent has reported.
func (s *Saver) SetEventsUntil(until time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.eventsUntil = until.UTC()
	s.wake()
}

func (s *Saver) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Run saves changes until ctx is done. After ctx is done, Run saves the remaining changes and returns nil. Run reports
// failed saves and retries them.
func (s *Saver) Run(ctx context.Context) error {
	saves := rate.NewLimiter(savesPerSecond, saveBurst)
	for failures := 0; ; {
		select {
		case <-s.changed:
			_ = saves.Wait(ctx) // if ctx is done, the save does not wait
		case <-ctx.Done():
			return s.saveRemaining()
		}
		if err := s.save(); err != nil {
			s.wake()
			backoff.Sleep(ctx, retries.Delay(failures))
			failures++
		} else {
			failures = 0
		}
	}
}

func (s *Saver) saveRemaining() error {
	select {
	case <-s.changed:
		_ = s.save() // save has already reported the error
	default:
	}
	return nil
}
