package top

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podlapse/podlapse/internal/render"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Limits on what a Board holds. Beyond them, the oldest completed start-ups are forgotten, and
// start-ups in progress are counted and not shown.
const (
	maxOver     = 500
	maxStarting = 5000
	maxPulls    = 2000
)

// Board holds the state of all connected agents.
type Board struct {
	since  time.Duration     // how long completed start-ups are shown
	agents map[string]*agent // by the agent's own name
	over   int               // rows of completed start-ups
	begun  int               // rows of start-ups in progress
}

// agent is what one agent reported. The current state is unknown while the agent is unreachable.
type agent struct {
	node    string
	rows    map[string]row // by the start-up's ID
	pulls   map[puller]pull
	trouble string // why no data arrives from it; empty while data arrives
	lostAt  time.Time
	crowded bool // there was no room for all starting pods
}

// row is one start-up, with only the fields that are shown.
type row struct {
	node, namespace, name string
	state                 timeline.State
	reason, verdict       string
	phase                 timeline.Phase
	cause                 timeline.Cause
	container             string
	attempt               int
	total, inPhase        time.Duration // when it was received
	heardAt               time.Time
	settledAt             time.Time
	lostAt                time.Time // time since which no data about it has arrived; zero while data arrives
}

// puller is the container that waits for a pull.
type puller struct{ namespace, pod, container string }

// pull is the progress of a pull.
type pull struct {
	progress, registry string
	pulling            bool
}

func (r row) starting() bool { return r.state == timeline.StateStarting }

// age returns how long a start-up has been in progress, or took.
func (r row) age(now time.Time) time.Duration { return r.grown(r.total, now) }

// grown adds the time since the row was received, by the reader's own clock, because the node's may
// differ. If no data arrives any more, the start-up may be over, so the length stays the same.
func (r row) grown(length time.Duration, now time.Time) time.Duration {
	if !r.starting() {
		return length
	}
	if !r.lostAt.IsZero() {
		now = r.lostAt
	}
	return length + max(0, now.Sub(r.heardAt))
}

// NewBoard returns an empty board. It shows completed start-ups for the duration since.
func NewBoard(since time.Duration) *Board { return &Board{since: since, agents: map[string]*agent{}} }

// Agents returns the names of the agents that have joined.
func (b *Board) Agents() []string { return slices.Collect(maps.Keys(b.agents)) }

// Join adds an agent by its own name and its node's. It does nothing if the agent is known.
func (b *Board) Join(name, node string) {
	if b.agents[name] == nil {
		b.agents[name] = &agent{node: terminal.Clean(node), rows: map[string]row{}, trouble: "connecting"}
	}
}

// Leave forgets an agent and all that it reported.
func (b *Board) Leave(name string) {
	if a := b.agents[name]; a != nil {
		b.forget(a)
		delete(b.agents, name)
	}
}

// Lose notes that no data arrives from an agent, and why. Its data stays on the board and is shown as old.
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

// Take processes an agent's event at an instant of the reader's clock.
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
				progress: render.ProgressText(p), registry: terminal.Clean(p.Registry), pulling: p.Pulling()}
		}
	}
}

func newRow(record api.Record, now time.Time) row {
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

// forgetOldest keeps the latest completed start-ups.
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
