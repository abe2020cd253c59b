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

// keys sends the typed keys until the terminal is closed. A function key sends an escape sequence, whose bytes look
// like other keys. Therefore, the function "keys" drops escape sequences. Each escape sequence arrives completely in
// one read.
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

// liveAgents manages the goroutines that read the streams of agents or poll agents. The board contains the agents'
// data and formats it for the screen. Only one goroutine uses the board.
type liveAgents struct {
	agentQuery
	config  topConfig
	filter  client.Filter // filter of the streams
	board   *top.Board
	running map[string]context.CancelFunc // functions that stop the streams, by the name of the agent's pod
	heard   chan streamEvent              // unbuffered: a stream waits until the board's goroutine receives the event
	ended   chan streamEnd
	polling poller
	found   chan searchResult // capacity 1 is sufficient, because only one search runs at a time
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

func newLiveAgents(a agentQuery, c topConfig) *liveAgents {
	return &liveAgents{
		agentQuery: a, config: c, filter: c.filterAt(time.Now()), board: c.board(),
		running: map[string]context.CancelFunc{}, heard: make(chan streamEvent), ended: make(chan streamEnd),
		found: make(chan searchResult, 1), polling: newPoller(),
	}
}

// look runs the first search for agents and opens streams to the agents that it finds. If the search finds too many
// agents, the command polls the agents instead.
func (l *liveAgents) look(ctx context.Context, limit time.Duration) error {
	asked, stop := context.WithTimeout(ctx, limit)
	defer stop()
	there, err := l.agents(asked, l.target.node)
	if err == nil {
		l.updateStreams(ctx, there)
	}
	return err
}

// updateStreams opens streams to new agents and closes the streams of deleted agents. If the cluster has more than
// maxStreams agents, updateStreams closes all streams, and then the method "show" polls the agents.
func (l *liveAgents) updateStreams(ctx context.Context, there []agents.Agent) {
	gone := map[string]bool{}
	for _, name := range l.board.Agents() { // the board also lists agents whose streams have ended
		gone[name] = true
	}
	l.polling.agents = nil
	if len(there) > maxStreams {
		l.polling.agents = there
		for _, stop := range l.running {
			stop()
		}
	}
	for _, agent := range there {
		delete(gone, agent.Pod)
		l.board.Join(agent.Pod, agent.Node)
		if _, ok := l.running[agent.Pod]; !ok && l.polling.agents == nil {
			l.stream(ctx, agent)
		}
	}
	for name := range gone {
		if stop, ok := l.running[name]; ok {
			stop()
		}
		l.board.Leave(name)
	}
}

// stream starts a goroutine that reads the stream of an agent.
func (l *liveAgents) stream(ctx context.Context, agent agents.Agent) {
	streaming, stop := context.WithCancel(ctx)
	l.running[agent.Pod] = stop
	go func() {
		err := agent.Follow(streaming, l.filter, func(event client.Event) error {
			event.Pulls = livePullsOf(event.Pulls, l.target.namespace)
			select {
			case l.heard <- streamEvent{agent.Pod, event}:
				return nil
			case <-streaming.Done():
				return streaming.Err()
			}
		})
		l.ended <- streamEnd{agent.Pod, err} // the method "show" or "wait" receives the message
	}()
}

// end removes a stream that has ended. If the next search finds the agent again, the command `top` opens a new stream.
func (l *liveAgents) end(e streamEnd) {
	l.running[e.from]()
	delete(l.running, e.from)
	if !errors.Is(e.err, context.Canceled) {
		l.board.Lose(e.from, l.withRemedy(agents.Plain(e.err)), time.Now())
	}
}

// wait waits until all goroutines have ended. The caller must first cancel the context of the goroutines.
func (l *liveAgents) wait() {
	l.looking.Wait()
	l.polling.running.Wait()
	for len(l.running) > 0 {
		l.end(<-l.ended)
	}
}

// canvas is a screen that the command `top` draws repeatedly.
type canvas interface {
	Size() (columns, lines int)
	Draw(lines []string) error
}

// show draws the board until ctx is done, the user quits, or drawing fails. show returns an error if all streams or
// queries have failed and no agent has ever responded.
func (l *liveAgents) show(ctx context.Context, screen canvas, typed <-chan byte, page func() terminal.Page) error {
	ticks := time.NewTicker(redraw)
	defer ticks.Stop()
	looked, looking := time.Now(), false
	l.startPoll(ctx, looked)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case h := <-l.heard:
			l.opened = l.opened || h.event.Kind == client.KindOpen
			l.board.Take(h.from, h.event, time.Now())
			continue // the board appears on the screen at the next tick
		case response := <-l.polling.responses:
			l.takeResponse(response)
			continue
		case <-l.polling.done:
			if err := l.endPoll(); err != nil {
				return err
			}
			continue
		case e := <-l.ended:
			if l.end(e); len(l.running) == 0 && !l.opened && l.polling.agents == nil {
				return agents.Plain(e.err) // every stream failed before an agent responded
			}
			continue
		case found := <-l.found:
			looking = false
			if found.err == nil { // otherwise, keep the known agents
				l.updateStreams(ctx, found.agents)
			}
		case key := <-typed:
			const interrupt, endOfText = 3, 4 // Ctrl-C and Ctrl-D, if the terminal sends these keys as characters
			if key == 'q' || key == 'Q' || key == interrupt || key == endOfText {
				return nil
			}
			continue
		case now := <-ticks.C:
			l.startPoll(ctx, now)
			if !looking && now.Sub(looked) > searchEvery {
				looked, looking = now, true
				l.looking.Go(func() { l.search(ctx) })
			}
		}
		layout := page()
		_, lines := screen.Size()
		if err := screen.Draw(l.board.View(time.Now(), layout, lines)); err != nil {
			return err
		}
	}
}

// search finds the current agents. The send to l.found never blocks, because only one search runs at a time.
func (l *liveAgents) search(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, agentLimit)
	defer stop()
	there, err := l.agents(ctx, l.target.node)
	l.found <- searchResult{there, err}
}
