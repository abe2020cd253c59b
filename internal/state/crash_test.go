package state_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/jsonlines"
	"github.com/podlapse/podlapse/internal/reconcile"
	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// disk holds the data that survives an agent: the state file and the written records. The agent can die at any write of
// the file or of a record.
type disk struct {
	mu      sync.Mutex
	file    []byte
	settled map[string]timeline.Timeline // latest offered start-up, by pod name
	records []timeline.Timeline          // written records

	dieAt  int  // number of the write, from 1; 0 means never
	late   bool // true if the agent dies after the write, not before it
	writes int
	dead   chan struct{} // closed when the agent died
	diedAt time.Time

	slow time.Duration // time that the reader takes to read one record
}

// write performs one write. If the agent is dead, write does nothing.
func (d *disk) write(through func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if closed(d.dead) {
		return
	}
	d.writes++
	dies := d.writes == d.dieAt
	if !dies || d.late {
		through()
	}
	if dies {
		d.die()
	}
}

// The caller of die must hold the lock.
func (d *disk) die() {
	if !closed(d.dead) {
		d.diedAt = time.Now()
		close(d.dead)
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Write receives a record, as standard output does.
func (d *disk) Write(line []byte) (int, error) {
	var r api.Record
	if err := json.Unmarshal(line, &r); err != nil {
		return 0, err
	}
	time.Sleep(d.slow)
	d.write(func() { d.records = append(d.records, d.settled[r.Name]) })
	return len(line), nil
}

// runAgent runs an agent with the same parts as in cmd/agent. The agent runs until it dies at a write or at a given
// time.
func (d *disk) runAgent(t *testing.T, world []life, ends time.Time) {
	t.Helper()
	d.writes, d.dead, d.settled = 0, make(chan struct{}), map[string]timeline.Timeline{}
	left, err := state.InMemory(d.file, "node-1", func(text []byte) { d.write(func() { d.file = text }) })
	if err != nil {
		t.Fatalf("cannot open the state of the previous agent: %v", err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	defer parts.Wait()
	defer stop()

	scope := timeline.Scope{Runtime: true, Events: true, Since: left.Since}
	if scope.Since.IsZero() {
		scope.Since = time.Now()
	}
	registry := prometheus.NewRegistry()
	saver, err := left.NewSaver(state.Config{Node: "node-1", Header: recording.Header{Agent: "v1", Scope: scope},
		Now:    time.Now,
		Report: func(bool, string) {}, Registerer: registry, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	lines := jsonlines.New(jsonlines.Config{Out: d, Kinds: []jsonlines.Lines{jsonlines.TimelineLines},
		Now:        time.Now,
		Registerer: registry, Logger: zap.NewNop(), Done: func(tl timeline.Timeline) { saver.Reported(tl.UID) }})
	var r *reconcile.Reconciler
	n := &node{ctx: ctx, world: world, observe: func(o timeline.Observation) { r.Observe(ctx, o) },
		requests: make(chan timeline.RuntimeRequest, 1000), watches: map[string]context.CancelFunc{},
		known: map[string]bool{}}
	for _, o := range left.InFlight {
		n.known[o.PodUID()] = true
	}
	for _, uid := range left.Reported {
		n.known[uid] = true
	}
	r = reconcile.New(reconcile.Config{
		Now: time.Now, Scope: scope, Logger: zap.NewNop(),
		Sources: n,
		Report: func(report reconcile.Report) {
			if report.Kind == reconcile.Settled {
				d.mu.Lock()
				d.settled[report.Timeline.Name] = report.Timeline
				d.mu.Unlock()
				lines.Offer(report.Timeline)
			}
		},
		Restored: reconcile.Restored{InFlight: left.InFlight, Reported: left.Reported},
		Saver:    saver,
	})
	// A dead agent writes nothing more, so the disk discards the remaining writes of the agent's parts.
	for _, run := range []func(context.Context) error{saver.Run, lines.Run, r.Run} {
		parts.Go(func() { _ = run(ctx) })
	}
	parts.Go(n.response)
	parts.Go(n.watchPods)
	select {
	case <-d.dead:
	case <-time.After(time.Until(ends)):
		d.mu.Lock()
		d.die()
		d.mu.Unlock()
	}
	stop()
	parts.Wait()
	n.following.Wait()
}

// uptime is the duration of a world. After this time, every start-up of the world has ended and was reported.
const uptime = 60 * time.Second

// saveGap is the interval between saves. If the reader takes longer to read each record, the saver can save between two
// records.
const saveGap = 200 * time.Millisecond

// undisturbed runs an agent that is never killed. undisturbed returns the agent's reports by start-up, and the number
// of the agent's writes.
func undisturbed(t *testing.T) (reports map[string]timeline.Timeline, writes int) {
	t.Helper()
	reports = map[string]timeline.Timeline{}
	synctest.Test(t, func(t *testing.T) {
		d := &disk{slow: saveGap + saveGap/4}
		d.runAgent(t, newWorld(time.Now()), time.Now().Add(uptime))
		for _, tl := range d.records {
			if _, twice := reports[tl.ID()]; twice {
				t.Errorf("%s is reported twice", tl.ID())
			}
			reports[tl.ID()] = tl
		}
		writes = d.writes
	})
	return reports, writes
}

// compare checks the reports of killed agents. The agents must report every pod, and the first record of each pod
// must be as good as the record of an undisturbed agent.
func compare(t *testing.T, name string, got []timeline.Timeline, want map[string]timeline.Timeline) {
	t.Helper()
	first := map[string]timeline.Timeline{}
	for _, tl := range got {
		if _, again := first[tl.ID()]; !again {
			first[tl.ID()] = tl
		}
	}
	for id, w := range want {
		g, ok := first[id]
		if !ok {
			t.Errorf("%s: %s is not reported", name, id)
			continue
		}
		if problem := differ(g, w); problem != "" {
			t.Errorf("%s: %s %s", name, id, problem)
		}
	}
}

// differ describes how the first timeline contradicts the second timeline of the same start-up.
func differ(got, want timeline.Timeline) string {
	if got.State != want.State || len(got.Conflicts) > 0 || got.Reconstructed {
		return fmt.Sprintf("is %s with conflicts %v, reconstructed %t, want %s", got.State, got.Conflicts,
			got.Reconstructed, want.State)
	}
	if off := (got.Total - want.Total).Abs(); off > got.TotalError+want.TotalError {
		return fmt.Sprintf("took %s ± %s, want %s ± %s", got.Total, got.TotalError, want.Total, want.TotalError)
	}
	lengths, wanted := stretches(got), stretches(want)
	for phase, w := range wanted {
		g, found := lengths[phase]
		switch off := (g.length - w.length).Abs(); {
		case phase.Phase == timeline.PhaseUnattributed: // a restart can add evidence
		case found && off > g.err+w.err:
			return fmt.Sprintf("was %s ± %s in %v, want %s ± %s", g.length, g.err, phase, w.length, w.err)
		case !found && w.length > w.err:
			return fmt.Sprintf("was never in %v (%s ± %s), only in %v", phase, w.length, w.err, lengths)
		}
	}
	return ""
}

// stretch is the total time of a container in a phase.
type stretch struct {
	length, err time.Duration
}

type stretchOf struct {
	timeline.Phase
	container string
}

func stretches(tl timeline.Timeline) map[stretchOf]stretch {
	all := map[stretchOf]stretch{}
	for _, span := range tl.Phases {
		key := stretchOf{span.Phase, span.Container}
		s := all[key]
		s.length += span.Duration()
		s.err += span.Error
		all[key] = s
	}
	return all
}

// TestKilledAtEveryWrite kills an agent before and after each write of the file or of a record. The next agent starts
// at once or much later, and reports the remaining start-ups.
func TestKilledAtEveryWrite(t *testing.T) {
	want, writes := undisturbed(t)
	if len(want) != 12 || writes < 40 {
		t.Fatalf("%d pods, %d writes", len(want), writes)
	}
	for dieAt := 1; dieAt <= writes; dieAt++ {
		for i, away := range []time.Duration{300 * time.Millisecond, 300 * time.Millisecond, 20 * time.Second} {
			late := i == 1
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				world := newWorld(began)
				d := &disk{dieAt: dieAt, late: late, slow: saveGap + saveGap/4}
				d.runAgent(t, world, began.Add(uptime))
				if d.file == nil && away > time.Second {
					return // the pod was never created
				}
				diedAt := d.diedAt
				time.Sleep(away)
				mustReport, backAt := maps.Clone(want), time.Now()
				d.dieAt = 0
				d.runAgent(t, world, began.Add(uptime))
				for _, l := range world {
					if l.deletedAt == 0 || l.at(l.deletedAt+1).After(backAt) || l.at(l.deletedAt+1).Before(diedAt) {
						continue
					}
					// The pod was deleted while no agent ran. The next agent reports the end of the pod from the saved
					// data. If the pod was created after the last save, the next agent reports nothing.
					delete(mustReport, l.uid+"/0")
					if l.at(0.1).Before(diedAt.Add(-300*time.Millisecond)) && !slices.ContainsFunc(d.records, l.is) {
						t.Errorf("killed at write %d: %s is not reported", dieAt, l.uid)
					}
				}
				compare(t, fmt.Sprintf("killed at write %d (after it: %t), away for %s", dieAt, late, away), d.records,
					mustReport)
				if len(d.records) > len(want)+2 {
					t.Errorf("killed at write %d: got %d records", dieAt, len(d.records))
				}
			})
		}
	}
}

// TestKilledFiftyTimes kills agents at random moments while pods start.
func TestKilledFiftyTimes(t *testing.T) {
	want, _ := undisturbed(t)
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 1))
			began := time.Now()
			world := newWorld(began)
			d := &disk{slow: delay}
			for range 50 {
				d.runAgent(t, world, time.Now().Add(time.Duration(random.Int64N(int64(500*time.Millisecond)))))
				time.Sleep(time.Duration(random.Int64N(int64(20 * time.Millisecond))))
			}
			d.runAgent(t, world, time.Now().Add(uptime))
			compare(t, fmt.Sprintf("seed %d", seed), d.records, want)
		})
	}
}
