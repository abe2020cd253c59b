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
	// maxStreams is the maximum number of streams that the command `top` opens. The API server forwards each stream for
	// hours, often over a separate connection. If a cluster has more agents than maxStreams, the command `top` opens no
	// streams and polls the agents.
	maxStreams = 100
	// redraw is the time between two updates of the screen. Regular updates are necessary because ages grow and the
	// size of a terminal can change.
	redraw = 250 * time.Millisecond
	// searchEvery is the time between two searches for new agents and deleted agents.
	searchEvery = 30 * time.Second
)

// keys sends the typed keys until the terminal is closed. It omits the escape sequences of function keys, because the
// bytes of these sequences look like other keys. A whole escape sequence arrives in one read.
func keys(in io.Reader) <-chan byte {
	typed := make(chan byte, 16) // if the channel is full, more keys wait in the terminal
	go func() {                  // runs until the program ends, because a read from a terminal cannot be canceled
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

// followers manages the goroutines that follow or poll agents, and holds the board that shows the agents' data. Only
// one goroutine uses the board.
type followers struct {
	agentQuery
	config  topConfig
	filter  client.Filter // filter of the streams
	board   *top.Board
	running map[string]context.CancelFunc // functions that stop the streams, by the name of the agent's pod
	heard   chan streamEvent              // has no capacity: each stream waits until the board has taken the event
	ended   chan streamEnd
	polling poller
	found   chan searchResult // has capacity 1, because only one search runs at a time
	looking sync.WaitGroup
	opened  bool // at least one agent has responded
}

// streamEvent is an event from the stream of an agent.
type streamEvent struct {
	from  string
	event client.Event
}

// streamEnd reports that the stream of an agent has ended.
type streamEnd struct {
	from string
	err  error
}

// searchResult is the result of a search for agents.
type searchResult struct {
	agents []agents.Agent
	err    error
}

func newFollowers(a agentQuery, c topConfig) *followers {
	return &followers{
		agentQuery: a, config: c, filter: c.filterAt(time.Now()), board: c.board(),
		running: map[string]context.CancelFunc{}, heard: make(chan streamEvent), ended: make(chan streamEnd),
		found: make(chan searchResult, 1), polling: newPoller(),
	}
}

// look runs the first search for agents and follows the agents that it finds.
func (f *followers) look(ctx context.Context, limit time.Duration) error {
	asked, stop := context.WithTimeout(ctx, limit)
	defer stop()
	there, err := f.agents(asked, f.target.node)
	if err == nil {
		f.follow(ctx, there)
	}
	return err
}

// follow opens streams to new agents and closes the streams of deleted agents. If the cluster has more than maxStreams
// agents, the method "follow" closes all streams, and then the method "show" polls the agents.
func (f *followers) follow(ctx context.Context, there []agents.Agent) {
	gone := map[string]bool{}
	for _, name := range f.board.Agents() { // the board also lists agents whose streams have ended
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

// stream starts a goroutine that follows an agent.
func (f *followers) stream(ctx context.Context, agent agents.Agent) {
	following, stop := context.WithCancel(ctx)
	f.running[agent.Pod] = stop
	go func() {
		err := agent.Follow(following, f.filter, func(event client.Event) error {
			event.Pulls = livePullsOf(event.Pulls, f.target.namespace)
			select {
			case f.heard <- streamEvent{agent.Pod, event}:
				return nil
			case <-following.Done():
				return following.Err()
			}
		})
		f.ended <- streamEnd{agent.Pod, err} // the method "show" or "wait" receives the message
	}()
}

// end removes a stream that has ended. If the next search finds the agent again, the command `top` opens a new stream.
func (f *followers) end(e streamEnd) {
	f.running[e.from]()
	delete(f.running, e.from)
	if !errors.Is(e.err, context.Canceled) {
		f.board.Lose(e.from, f.withRemedy(agents.Plain(e.err)), time.Now())
	}
}

// wait waits until all goroutines have ended. The caller must first cancel the context of the goroutines.
func (f *followers) wait() {
	f.looking.Wait()
	f.polling.running.Wait()
	for len(f.running) > 0 {
		f.end(<-f.ended)
	}
}

// canvas is a screen that the command `top` draws repeatedly.
type canvas interface {
	Size() (columns, lines int)
	Draw(lines []string) error
}

// show draws the board until ctx is done, the user quits, or drawing fails. If the queries to all agents fail before
// any agent has responded, show returns an error.
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
			continue // the board appears on the screen at the next tick
		case response := <-f.polling.responses:
			f.takeResponse(response)
			continue
		case <-f.polling.done:
			if err := f.endPoll(); err != nil {
				return err
			}
			continue
		case e := <-f.ended:
			if f.end(e); len(f.running) == 0 && !f.opened && f.polling.agents == nil {
				return agents.Plain(e.err) // every stream failed before an agent responded
			}
			continue
		case found := <-f.found:
			looking = false
			if found.err == nil { // after a failed search, keep the known agents
				f.follow(ctx, found.agents)
			}
		case key := <-typed:
			const interrupt, endOfText = 3, 4 // Ctrl-C and Ctrl-D, if the terminal sends these keys as characters
			if key == 'q' || key == 'Q' || key == interrupt || key == endOfText {
				return nil
			}
			continue
		case now := <-ticks.C:
			f.startPoll(ctx, now)
			if !looking && now.Sub(looked) > searchEvery {
				looked, looking = now, true
				f.looking.Go(func() { f.search(ctx) })
			}
		}
		layout := page()
		_, lines := screen.Size()
		if err := screen.Draw(f.board.View(time.Now(), layout, lines)); err != nil {
			return err
		}
	}
}

// search finds the current agents. The send to f.found never blocks, because only one search runs at a time.
func (f *followers) search(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, agentLimit)
	defer stop()
	there, err := f.agents(ctx, f.target.node)
	f.found <- searchResult{there, err}
}
