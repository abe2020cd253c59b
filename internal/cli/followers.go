package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/top"
	"github.com/podlapse/podlapse/pkg/client"
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

// followers are the goroutines that follow agents, and the board that shows their events. One goroutine owns the board.
type followers struct {
	asking
	filter  client.Filter
	board   *top.Board
	running map[string]context.CancelFunc // by the name of the agent's pod
	heard   chan heard                    // no capacity: an agent waits until the board has taken its event
	ended   chan ended
	found   chan found // capacity 1: one search runs at a time
	looking sync.WaitGroup
	opened  bool // an agent has answered
}

type heard struct {
	from  string
	event client.Event
}

// ended is the message that the stream of an agent ended.
type ended struct {
	from string
	err  error
}

// found is the result of looking for agents.
type found struct {
	agents []agents.Agent
	err    error
}

func newFollowers(a asking, c topConfig) *followers {
	return &followers{
		asking: a, filter: c.filter(), board: top.NewBoard(c.since), running: map[string]context.CancelFunc{},
		heard: make(chan heard), ended: make(chan ended), found: make(chan found, 1),
	}
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

// follow starts to follow new agents and stops following those that are gone.
func (f *followers) follow(ctx context.Context, there []agents.Agent) {
	gone := map[string]bool{}
	for _, name := range f.board.Agents() { // also an agent whose stream ended earlier
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
			f.ended <- ended{name, err} // show or wait receives it
		}()
	}
	for name := range gone {
		if stop, ok := f.running[name]; ok {
			stop()
		}
		f.board.Leave(name)
	}
}

// end notes that a goroutine has ended. top follows the agent again after the next search, if it is still there.
func (f *followers) end(e ended) {
	f.running[e.from]()
	delete(f.running, e.from)
	if !errors.Is(e.err, context.Canceled) {
		f.board.Lose(e.from, f.worded(e.err), time.Now())
	}
}

// wait returns when all goroutines have ended. Their context must be done.
func (f *followers) wait() {
	f.looking.Wait()
	for len(f.running) > 0 {
		f.end(<-f.ended)
	}
}

// show draws the board until ctx is done, the user quits, or drawing fails.
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
			continue // the next tick draws it
		case e := <-f.ended:
			if f.end(e); len(f.running) == 0 && !f.opened {
				return e.err // no agent allows top to follow it
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
