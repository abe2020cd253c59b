package top

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// How much a Board holds. Where there is more, of what is over the oldest is forgotten, and what
// starts is counted and not shown.
const (
	maxOver     = 500
	maxStarting = 5000
	maxPulls    = 2000
)

// Board is what is known of all agents that are listened to.
type Board struct {
	since  time.Duration     // how long what is over is shown
	agents map[string]*agent // by the agent's own name
	over   int               // how many rows are of start-ups that are over
	begun  int               // and of those that go on
}

// agent is what one of them told. What it tells of is not known while it is away.
type agent struct {
	node    string
	rows    map[string]row // by the start-up's ID
	pulls   map[puller]pull
	trouble string // why nothing comes from it; empty while it does
	lostAt  time.Time
	crowded bool // there was no room for all that start
}

// row is one start-up, of which no more is kept than is shown.
type row struct {
	node, namespace, name string
	state                 timeline.State
	reason, verdict       string
	phase                 timeline.Phase
	cause                 timeline.Cause
	container             string
	attempt               int
	total, inPhase        time.Duration // when it was heard
	heardAt               time.Time
	settledAt             time.Time
	lostAt                time.Time // since when nothing comes of it; zero while something does
}

// puller is who waits for a pull.
type puller struct{ namespace, pod, container string }

// pull is how far one is that goes on.
type pull struct {
	progress, registry string
	pulling            bool
}

func (r row) starting() bool { return r.state == timeline.StateStarting }

// age is how long a start-up goes on, or took.
func (r row) age(now time.Time) time.Duration { return r.grown(r.total, now) }

// grown adds the time since it was heard, by the reader's own clock: the node's may be another.
// What nothing comes of any more may be over, and grows no more.
func (r row) grown(length time.Duration, now time.Time) time.Duration {
	if !r.starting() {
		return length
	}
	if !r.lostAt.IsZero() {
		now = r.lostAt
	}
	return length + max(0, now.Sub(r.heardAt))
}

// NewBoard knows nobody. What is over is shown for so long after its end.
func NewBoard(since time.Duration) *Board { return &Board{since: since, agents: map[string]*agent{}} }

// Agents are the names of those that have joined.
func (b *Board) Agents() []string { return slices.Collect(maps.Keys(b.agents)) }

// Join adds an agent by its own name and its node's; nothing changes if it is there.
func (b *Board) Join(name, node string) {
	if b.agents[name] == nil {
		b.agents[name] = &agent{node: terminal.Clean(node), rows: map[string]row{}, trouble: "connecting"}
	}
}

// Leave forgets an agent and all that it told.
func (b *Board) Leave(name string) {
	if a := b.agents[name]; a != nil {
		b.forget(a)
		delete(b.agents, name)
	}
}

// Lose says that nothing comes from an agent, and why. What it told before stays and is shown as old.
func (b *Board) Lose(name string, err error, now time.Time) {
	a := b.agents[name]
	if a == nil {
		return
	}
	if a.trouble == "" {
		a.lostAt = now
	}
	a.trouble = terminal.Clean(err.Error())
}

// Take takes in what an agent tells at an instant of the reader's clock.
func (b *Board) Take(name string, event client.Event, now time.Time) {
	a := b.agents[name]
	if a == nil {
		return // it has left meanwhile
	}
	switch event.Kind {
	case client.KindOpen:
		a.trouble = ""
	case client.KindBroken:
		b.Lose(name, event.Err, now)
	case client.KindReset:
		b.forget(a)
	case client.KindPod:
		a.node = cmp.Or(a.node, terminal.Clean(event.Record.Node))
		b.put(a, event.Record.ID, newRow(event.Record, now))
	case client.KindOut:
		b.drop(a, event.Pod.ID)
	case client.KindGone:
		if r, ok := a.rows[event.Pod.ID]; ok && r.starting() {
			r.total, r.state, r.settledAt = r.age(now), timeline.StateDeleted, now
			b.put(a, event.Pod.ID, r)
		}
	case client.KindPulls:
		a.pulls = map[puller]pull{}
		for _, p := range event.Pulls[:min(len(event.Pulls), maxPulls)] {
			a.pulls[puller{terminal.Clean(p.Namespace), terminal.Clean(p.Pod), terminal.Clean(p.Container)}] = pull{
				progress: export.ProgressText(p), registry: terminal.Clean(p.Registry), pulling: p.Pulling()}
		}
	}
}

func newRow(record export.Record, now time.Time) row {
	r := row{
		node: terminal.Clean(record.Node), namespace: terminal.Clean(record.Namespace),
		name:  terminal.Clean(record.Name),
		state: record.State, reason: terminal.Clean(record.Reason), verdict: terminal.Clean(record.Verdict),
		total: record.Total.Duration(), heardAt: now, settledAt: record.SettledAt.Time,
	}
	for _, phase := range record.Phases {
		if phase.Open {
			r.phase, r.cause, r.container, r.attempt = phase.Phase, phase.Cause, terminal.Clean(phase.Container),
				phase.Attempt
			r.inPhase = phase.Length.Duration()
		}
	}
	return r
}

func (b *Board) put(a *agent, id string, r row) {
	b.drop(a, id)
	if r.starting() {
		if b.begun >= maxStarting {
			a.crowded = true
			return
		}
		b.begun++
	} else {
		b.over++
	}
	a.rows[id] = r
	if b.over >= 2*maxOver {
		b.forgetOldest()
	}
}

func (b *Board) drop(a *agent, id string) {
	r, ok := a.rows[id]
	switch {
	case !ok:
		return
	case r.starting():
		b.begun--
	default:
		b.over--
	}
	delete(a.rows, id)
}

func (b *Board) forget(a *agent) {
	for id := range a.rows {
		b.drop(a, id)
	}
	a.crowded, a.pulls = false, nil
}

// forgetOldest keeps the latest that are over.
func (b *Board) forgetOldest() {
	type place struct {
		agent *agent
		id    string
	}
	var over []place
	for _, a := range b.agents {
		for id, r := range a.rows {
			if !r.starting() {
				over = append(over, place{a, id})
			}
		}
	}
	slices.SortFunc(over, func(x, y place) int {
		return y.agent.rows[y.id].settledAt.Compare(x.agent.rows[x.id].settledAt)
	})
	for _, p := range over[maxOver:] {
		b.drop(p.agent, p.id)
	}
}

func (b *Board) rows() []row {
	var rows []row
	for _, a := range b.agents {
		for _, r := range a.rows {
			if a.trouble != "" {
				r.lostAt = a.lostAt
			}
			rows = append(rows, r)
		}
	}
	return rows
}
