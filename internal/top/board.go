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

// Limits on the content of a Board. When a Board has 2*maxOver completed start-ups, it removes the older half of them.
// If a Board has maxStarting start-ups in progress, it drops each further start-up in progress. The headline then says
// that the Board shows only some of the start-ups.
const (
	maxOver     = 500
	maxStarting = 5000
	maxPulls    = 2000
)

// Layout is the format of a Board.
type Layout struct {
	SortBy    string // value of --sort-by; empty for the default order of each table
	Wide      bool   // true to show more columns
	NoHeaders bool   // true to show only the rows of the tables
	Namespace string // namespace of the pods; empty for all namespaces
	Selected  bool   // true if the agents report only selected pods; the Board counts only the pulls of these pods
}

// Board holds the state of all connected agents.
type Board struct {
	layout Layout
	since  time.Duration         // how long the Board shows a start-up after its completion
	agents map[string]*agentData // agents, by the name of the agent
	over   int                   // number of rows of completed start-ups
	begun  int                   // number of rows of start-ups in progress
}

// agentData holds the data that the board received from one agent. While the agent is unreachable, the board does not
// know the agent's current state.
type agentData struct {
	node    string
	rows    map[string]row    // rows by the ID of the start-up
	pulls   map[puller]string // progress of each pull; key: the container that waits for the pull
	trouble string            // reason why no data arrives from the agent; empty while data arrives
	lostAt  time.Time
	crowded bool // true if the board dropped some of the agent's start-ups in progress
}

// row is one start-up. A row contains only the fields that a Board shows or sorts by.
type row struct {
	node, namespace, name string
	owner                 string
	state                 timeline.State
	reason, verdict       string
	phase                 timeline.Phase // the current phase, or the longest phase of a completed start-up
	cause                 timeline.Cause
	container             string
	attempt               int
	total, inPhase        time.Duration // durations at updatedAt
	accuracy              time.Duration // error bound of the total
	updatedAt             time.Time
	createdAt, settledAt  time.Time
	lostAt                time.Time // time at which the agent became unreachable; zero while data arrives
}

// puller identifies a container that waits for a pull.
type puller struct{ namespace, pod, container string }

func (r row) starting() bool { return r.state == timeline.StateStarting }

// age returns the duration of a start-up. For a start-up in progress, age returns the duration until now.
func (r row) age(now time.Time) time.Duration { return r.grown(r.total, now) }

// grown returns the argument "length" unchanged if the start-up is complete. If the start-up is in progress, grown adds
// the time since updatedAt. grown uses the clock of the machine that runs the command `top`, because the node's clock
// can differ. If the agent is unreachable, grown adds only the time until lostAt, because the start-up might be over.
func (r row) grown(length time.Duration, now time.Time) time.Duration {
	if !r.starting() {
		return length
	}
	if !r.lostAt.IsZero() {
		now = r.lostAt
	}
	return length + max(0, now.Sub(r.updatedAt))
}

// NewBoard returns an empty board. The board shows each completed start-up for the duration in the argument "since".
func NewBoard(since time.Duration, layout Layout) *Board {
	return &Board{since: since, layout: layout, agents: map[string]*agentData{}}
}

// Agents returns the names of the agents that have joined.
func (b *Board) Agents() []string { return slices.Collect(maps.Keys(b.agents)) }

// Join adds an agent. The arguments are the names of the agent and of its node. Join does nothing if the board
// already contains the agent.
func (b *Board) Join(name, node string) {
	if b.agents[name] == nil {
		b.agents[name] = &agentData{node: terminal.Clean(node), rows: map[string]row{}, trouble: "connecting"}
	}
}

// Leave forgets an agent and its start-ups.
func (b *Board) Leave(name string) {
	if a := b.agents[name]; a != nil {
		b.forget(a)
		delete(b.agents, name)
	}
}

// Lose marks an agent as unreachable, and stores the error that explains why no data arrives. The agent's data stays on
// the board. The board shows the age of the data.
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

// Take adds an agent's event to the board. The argument "now" is the current time on the machine that runs the command
// `top`.
func (b *Board) Take(name string, event client.Event, now time.Time) {
	a := b.agents[name]
	if a == nil {
		return // the board has removed the agent
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
		b.putRow(a, event.Record.ID, newRow(event.Record, now))
	case client.KindOut:
		b.drop(a, event.Pod.ID)
	case client.KindGone:
		if r, ok := a.rows[event.Pod.ID]; ok && r.starting() {
			r.total, r.state, r.settledAt = r.age(now), timeline.StateDeleted, now
			b.putRow(a, event.Pod.ID, r)
		}
	case client.KindPulls:
		a.pulls = map[puller]string{}
		for _, p := range event.Pulls[:min(len(event.Pulls), maxPulls)] {
			of := puller{terminal.Clean(p.Namespace), terminal.Clean(p.Pod), terminal.Clean(p.Container)}
			a.pulls[of] = render.LivePullFromText(p)
		}
	}
}

func newRow(record api.Record, now time.Time) row {
	r := row{
		node: terminal.Clean(record.Node), namespace: terminal.Clean(record.Namespace),
		name:  terminal.Clean(record.Name),
		state: record.State, reason: render.ReasonText(record), verdict: terminal.Clean(record.Verdict),
		total: record.Total.Duration(), accuracy: record.TotalError.Duration(), updatedAt: now,
		createdAt: record.CreatedAt.Time, settledAt: record.SettledAt.Time,
	}
	if record.Owner.Kind != "" {
		r.owner = terminal.Clean(record.Owner.Kind + "/" + record.Owner.Name)
	}
	if longest, ok := render.LongestPhase(record); ok && !r.starting() {
		r.phase, r.cause, r.inPhase = longest.Phase, longest.Cause, longest.Length.Duration()
	}
	if open, ok := render.OpenPhase(record); ok {
		r.phase, r.cause, r.container, r.attempt = open.Phase, open.Cause, terminal.Clean(open.Container), open.Attempt
		r.inPhase = open.Length.Duration()
	}
	return r
}

func (b *Board) putRow(a *agentData, id string, r row) {
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

func (b *Board) drop(a *agentData, id string) {
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

func (b *Board) forget(a *agentData) {
	for id := range a.rows {
		b.drop(a, id)
	}
	a.crowded, a.pulls = false, nil
}

// forgetOldest keeps the latest maxOver completed start-ups and removes all older completed start-ups.
func (b *Board) forgetOldest() {
	type place struct {
		agent *agentData
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
