package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/flags"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/top"
	"github.com/podlapse/podlapse/pkg/client"
	"github.com/podlapse/podlapse/pkg/export"
)

// topConfig is what to show, of whom.
type topConfig struct {
	askConfig
	since time.Duration
	once  bool
}

func (c *topConfig) table() flags.Table {
	return slices.Concat(flags.Table{
		flags.Switch("once", "", &c.once,
			"print one table and exit, which is also done if standard output is not a terminal"),
		{
			Name: "since", Value: "DURATION", Default: "10m",
			Help: "show start-ups that completed within this time, at " +
				"most 168h", Set: func(value string) error {
				const maxSince = 7 * 24 * time.Hour
				since, err := time.ParseDuration(value)
				if err != nil || since <= 0 || since > maxSince {
					return fmt.Errorf("invalid duration %q: must be at most 168h, for example 10m", value)
				}
				c.since = since
				return nil
			},
		},
	}, c.askConfig.table())
}

func (c *topConfig) filter() client.Filter {
	filter := client.Filter{Since: time.Now().Add(-c.since)}
	if c.namespace != "" {
		filter.Namespaces = []string{c.namespace}
	}
	return filter
}

func runTop(ctx context.Context, call Call) int {
	var c topConfig
	asking, _, code, ok := begin(call, "top [flags]\n\nShows the pods that are starting, where each is stuck, "+
		"and the recently started pods, of all nodes or one.\nUpdates until q or Ctrl-C.", c.table(), &c.target, 0)
	if !ok {
		return code
	}
	defer asking.close()
	file, _ := call.Stdout.(*os.File)
	if _, isTerminal := terminal.Width(file); isTerminal && !c.once && c.format == outputTable {
		return asking.liveTop(ctx, c, file)
	}
	ctx, stop := context.WithTimeout(ctx, c.limit)
	defer stop()
	return asking.topOnce(ctx, c)
}

// told is what one agent tells at once.
type told struct {
	records []export.Record
	pulls   []export.LivePullRecord
}

func (a asking) topOnce(ctx context.Context, c topConfig) int {
	if c.format != outputTable {
		return a.list(ctx, c.output, c.filter(), nil)
	}
	filter := c.filter()
	answers, failed, err := ofAgents(ctx, a, func(ctx context.Context, agent client.Client) (told, error) {
		records, err := all(ctx, agent, filter)
		if err != nil {
			return told{}, err
		}
		pulls, err := agent.Pulls(ctx)
		return told{records, livePullsOf(pulls.Items, c.namespace)}, err
	})
	if err != nil {
		return a.fail(err)
	}
	now := time.Now()
	board := top.NewBoard(c.since)
	for _, answer := range answers {
		board.Join(answer.Agent.Pod, answer.Agent.Node)
		board.Take(answer.Agent.Pod, client.Event{Kind: client.KindOpen}, now)
		for _, record := range answer.Value.records {
			board.Take(answer.Agent.Pod, client.Event{Kind: client.KindPod, Record: record}, now)
		}
		board.Take(answer.Agent.Pod, client.Event{Kind: client.KindPulls, Pulls: answer.Value.pulls}, now)
	}
	return a.print(strings.Join(board.View(now, c.page(a.Stdout, a.Getenv), 0), "\n")+"\n", failed)
}

const (
	// maxFollowed is how many agents top listens to: each is a connection, or a stream of one.
	maxFollowed = 200
	// redraw is how often top looks whether there is something to draw; ages grow and terminals change their size.
	redraw = 250 * time.Millisecond
	// lookAgain is how often top looks for agents that are new, or gone.
	lookAgain = 30 * time.Second
)

// errTooMany is that top cannot listen to all agents.
var errTooMany = fmt.Errorf("cannot follow more than %d agents: set --node, or use --once to print one table",
	maxFollowed)

func (a asking) liveTop(ctx context.Context, c topConfig, file *os.File) int {
	ctx, stop := context.WithCancel(ctx)
	f := newFollowers(a, c)
	defer func() {
		stop()
		f.wait()
	}()
	err := f.look(ctx, c.limit)
	if err == nil {
		err = f.onScreen(ctx, file, func() terminal.Page {
			page := c.page(file, a.Getenv)
			page.Cut = true
			return page
		})
	}
	if err != nil && !errors.Is(err, context.Canceled) { // q and SIGINT are how top ends
		return a.fail(err)
	}
	return ExitOK
}

// onScreen gives the terminal back as it was, whatever happens.
func (f *followers) onScreen(ctx context.Context, file *os.File, page func() terminal.Page) (err error) {
	screen, err := terminal.Open(os.Stdin, file)
	if err != nil {
		return err
	}
	defer func() {
		if closed := screen.Close(); err == nil {
			err = closed
		}
	}()
	return f.show(ctx, screen, page)
}

// keys sends what is typed, until the terminal has no more. What a function key sends at once, an escape sequence, is
// none of the keys that its bytes look like.
func keys(in io.Reader) <-chan byte {
	typed := make(chan byte, 16) // who types faster waits
	go func() {                  // ends with the program: a read from a terminal cannot be called off
		const escape = 0x1b
		part := make([]byte, 64)
		for {
			n, err := in.Read(part)
			if err != nil {
				return
			}
			if n > 1 && part[0] == escape {
				continue
			}
			for _, key := range part[:n] {
				typed <- key
			}
		}
	}()
	return typed
}

// followers are the goroutines that listen to agents, and the board that is made from what they hear. One goroutine
// owns it.
type followers struct {
	asking
	filter  client.Filter
	board   *top.Board
	running map[string]context.CancelFunc // by the agent's own name
	heard   chan heard                    // no capacity: an agent waits until the board has taken in what it told
	ended   chan ended
	found   chan found // room for one, and one is looked for at a time
	looking sync.WaitGroup
	opened  bool // some agent has told something
}

type heard struct {
	from  string
	event client.Event
}

// ended is that an agent refuses to tell more.
type ended struct {
	from string
	err  error
}

// found is which agents there are.
type found struct {
	agents []agents.Agent
	err    error
}

func newFollowers(a asking, c topConfig) *followers {
	return &followers{asking: a, filter: c.filter(), board: top.NewBoard(c.since),
		running: map[string]context.CancelFunc{},
		heard:   make(chan heard), ended: make(chan ended), found: make(chan found, 1)}
}

// look finds the agents for the first time.
func (f *followers) look(ctx context.Context, limit time.Duration) error {
	asked, stop := context.WithTimeout(ctx, limit)
	defer stop()
	there, err := f.agents(asked, f.target.node)
	if err == nil && len(there) > maxFollowed {
		err = errTooMany
	}
	if err == nil {
		f.follow(ctx, there)
	}
	return err
}

// follow listens to the agents that there are, and to no others.
func (f *followers) follow(ctx context.Context, there []agents.Agent) {
	gone := map[string]bool{}
	for _, name := range f.board.Agents() { // also of one that refused before it was known to be gone
		gone[name] = true
	}
	for _, agent := range there {
		name := agent.Pod
		delete(gone, name)
		if _, ok := f.running[name]; ok || len(f.running) >= maxFollowed {
			continue
		}
		f.board.Join(name, agent.Node)
		following, stop := context.WithCancel(ctx)
		f.running[name] = stop
		go func() {
			err := agent.Follow(following, f.filter, func(event client.Event) error {
				event.Pulls = livePullsOf(event.Pulls, f.target.namespace)
				select {
				case f.heard <- heard{name, event}:
					return nil
				case <-following.Done():
					return following.Err()
				}
			})
			f.ended <- ended{name, err} // somebody listens until all have ended
		}()
	}
	for name := range gone {
		if stop, ok := f.running[name]; ok {
			stop()
		}
		f.board.Leave(name)
	}
}

// end takes note that a goroutine has ended. An agent that refused is asked again when agents are looked for the next
// time.
func (f *followers) end(e ended) {
	f.running[e.from]()
	delete(f.running, e.from)
	if !errors.Is(e.err, context.Canceled) {
		f.board.Lose(e.from, f.worded(e.err), time.Now())
	}
}

// wait returns when nobody listens or looks any more; the context of all must be over.
func (f *followers) wait() {
	f.looking.Wait()
	for len(f.running) > 0 {
		f.end(<-f.ended)
	}
}

// show draws the board until ctx ends, somebody wants it to, or it cannot be drawn.
func (f *followers) show(ctx context.Context, screen *terminal.Screen, page func() terminal.Page) error {
	typed := keys(os.Stdin)
	ticks := time.NewTicker(redraw)
	defer ticks.Stop()
	looked, looking := time.Now(), false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case h := <-f.heard:
			f.opened = f.opened || h.event.Kind == client.KindOpen
			f.board.Take(h.from, h.event, time.Now())
			continue // and be drawn with the next tick
		case e := <-f.ended:
			if f.end(e); len(f.running) == 0 && !f.opened {
				return e.err // there is nobody who lets us listen
			}
			continue
		case found := <-f.found:
			looking = false
			if found.err == nil { // else those that there were go on
				f.follow(ctx, found.agents)
			}
		case key := <-typed:
			const interrupt, endOfText = 3, 4 // Ctrl-C and Ctrl-D, in a terminal that hands them on
			if key == 'q' || key == 'Q' || key == interrupt || key == endOfText {
				return nil
			}
			continue
		case now := <-ticks.C:
			if !looking && now.Sub(looked) > lookAgain {
				looked, looking = now, true
				f.looking.Go(func() { f.lookAgain(ctx) })
			}
		}
		layout := page()
		_, lines := screen.Size()
		if err := screen.Draw(f.board.View(time.Now(), layout, lines)); err != nil {
			return err
		}
	}
}

// lookAgain never waits to tell.
func (f *followers) lookAgain(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, agentLimit)
	defer stop()
	there, err := f.agents(ctx, f.target.node)
	f.found <- found{there, err}
}
