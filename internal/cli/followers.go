package cli

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/top"
	"github.com/podlapse/podlapse/pkg/client"
)

const (
	// maxStreams is the maximum number of streams that top opens. Each stream is a request that the API server forwards
	// for hours, and often a connection of its own. For more agents, top polls.
	maxStreams = 100
	// redraw is how often top draws the screen: ages grow, and the size of a terminal changes.
	redraw = 250 * time.Millisecond
	// lookAgain is how often top looks for new agents and for deleted agents.
	lookAgain = 30 * time.Second
)

// keys sends the typed keys until the terminal is closed. It drops the escape sequence of a function key, which arrives
// in one read and whose bytes look like keys.
func keys(in io.Reader) <-chan byte {
	typed := make(chan byte, 16) // further keys wait
	go func() {                  // ends with the program: a read from a terminal cannot be canceled
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

// followers are the goroutines that follow or poll agents, and the board that shows the results. One goroutine owns the
// board.
type followers struct {
	asking
	config  topConfig
	filter  client.Filter // of the streams
	board   *top.Board
	running map[string]context.CancelFunc // streams, by the name of the agent's pod
	heard   chan heard                    // no capacity: an agent waits until the board has taken its event
	ended   chan ended
	polling poller
	found   chan found // capacity 1: one search runs at a time
	looking sync.WaitGroup
	opened  bool // an agent has answered
}

// heard is an event of a stream.
type heard struct {
	from  string
	event client.Event
}

// ended is the message that the stream of an agent ended.
type ended struct {
	from string
	err  error
}

// found is the result of a search for agents.
type found struct {
	agents []agents.Agent
	err    error
}

func newFollowers(a asking, c topConfig) *followers {
	return &followers{
		asking: a, config: c, filter: c.filterAt(time.Now()), board: c.board(),
		running: map[string]context.CancelFunc{}, heard: make(chan heard), ended: make(chan ended),
		found: make(chan found, 1), polling: newPoller(),
	}
}

// look finds the agents for the first time.
func (f *followers) look(ctx context.Context, limit time.Duration) error {
	asked, stop := context.WithTimeout(ctx, limit)
	defer stop()
	there, err := f.agents(asked, f.target.node)
	if err == nil {
		f.follow(ctx, there)
	}
	return err
}

// follow opens streams to new agents and closes those to deleted agents. If there are too many agents for streams, it
// closes all streams, and show polls the agents.
func (f *followers) follow(ctx context.Context, there []agents.Agent) {
	gone := map[string]bool{}
	for _, name := range f.board.Agents() { // also an agent whose stream ended earlier
		gone[name] = true
	}
	f.polling.agents = nil
	if len(there) > maxStreams {
		f.polling.agents = there
		for _, stop := range f.running {
			stop()
		}
	}
	for _, agent := range there {
		delete(gone, agent.Pod)
		f.board.Join(agent.Pod, agent.Node)
		if _, ok := f.running[agent.Pod]; !ok && f.polling.agents == nil {
			f.stream(ctx, agent)
		}
	}
	for name := range gone {
		if stop, ok := f.running[name]; ok {
			stop()
		}
		f.board.Leave(name)
	}
}

// stream starts to follow an agent.
func (f *followers) stream(ctx context.Context, agent agents.Agent) {
	following, stop := context.WithCancel(ctx)
	f.running[agent.Pod] = stop
	go func() {
		err := agent.Follow(following, f.filter, func(event client.Event) error {
			event.Pulls = livePullsOf(event.Pulls, f.target.namespace)
			select {
			case f.heard <- heard{agent.Pod, event}:
				return nil
			case <-following.Done():
				return following.Err()
			}
		})
		f.ended <- ended{agent.Pod, err} // show or wait receives it
	}()
}

// end notes that a stream has ended. After the next search, top follows the agent again if the agent still exists.
func (f *followers) end(e ended) {
	f.running[e.from]()
	delete(f.running, e.from)
	if !errors.Is(e.err, context.Canceled) {
		f.board.Lose(e.from, f.worded(agents.Plain(e.err)), time.Now())
	}
}

// wait returns when all goroutines have ended. Their context must be done.
func (f *followers) wait() {
	f.looking.Wait()
	f.polling.running.Wait()
	for len(f.running) > 0 {
		f.end(<-f.ended)
	}
}

// canvas is a screen that can be drawn again and again.
type canvas interface {
	Size() (columns, lines int)
	Draw(lines []string) error
}

// show draws the board until ctx is done, the user quits, or drawing fails.
func (f *followers) show(ctx context.Context, screen canvas, typed <-chan byte, page func() terminal.Page) error {
	ticks := time.NewTicker(redraw)
	defer ticks.Stop()
	looked, looking := time.Now(), false
	f.startPoll(ctx, looked)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case h := <-f.heard:
			f.opened = f.opened || h.event.Kind == client.KindOpen
			f.board.Take(h.from, h.event, time.Now())
			continue // the next tick draws it
		case answer := <-f.polling.answers:
			f.takeAnswer(answer)
			continue
		case <-f.polling.done:
			if err := f.endPoll(); err != nil {
				return err
			}
			continue
		case e := <-f.ended:
			if f.end(e); len(f.running) == 0 && !f.opened && f.polling.agents == nil {
				return agents.Plain(e.err) // no agent allows top to follow it
			}
			continue
		case found := <-f.found:
			looking = false
			if found.err == nil { // otherwise keep the agents so far
				f.follow(ctx, found.agents)
			}
		case key := <-typed:
			const interrupt, endOfText = 3, 4 // Ctrl-C and Ctrl-D, if the terminal passes them on
			if key == 'q' || key == 'Q' || key == interrupt || key == endOfText {
				return nil
			}
			continue
		case now := <-ticks.C:
			f.startPoll(ctx, now)
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

// lookAgain never blocks on its channel.
func (f *followers) lookAgain(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, agentLimit)
	defer stop()
	there, err := f.agents(ctx, f.target.node)
	f.found <- found{there, err}
}
