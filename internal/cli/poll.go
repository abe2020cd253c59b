package cli

import (
	"context"
	"sync"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
)

// pollEvery is the minimum time between the starts of two rounds. In each round, the command `top` queries all agents,
// at most agents.AtOnce at a time.
const pollEvery = 5 * time.Second

// poller queries agents in rounds. The goroutine that uses the board starts and ends the rounds.
type poller struct {
	agents    []agents.Agent               // empty while the command `top` uses streams
	responses chan agents.Result[snapshot] // unbuffered: a send waits until the board's goroutine receives
	done      chan struct{}                // has capacity 1, because only one round runs at a time
	running   sync.WaitGroup
	busy      bool
	began     time.Time
	refused   error // error of the first agent that did not respond in this round
}

func newPoller() poller {
	return poller{responses: make(chan agents.Result[snapshot]), done: make(chan struct{}, 1)}
}

// startPoll starts a round if the command `top` polls agents and the previous round started at least pollEvery ago.
func (f *followers) startPoll(ctx context.Context, now time.Time) {
	p := &f.polling
	if len(p.agents) == 0 || p.busy || !p.began.IsZero() && now.Sub(p.began) < pollEvery {
		return
	}
	p.busy, p.began, p.refused = true, now, nil
	there, ask := p.agents, f.config.snapshotOf(now)
	p.running.Go(func() {
		agents.EachDone(ctx, there, agentLimit, ask, func(_ int, response agents.Result[snapshot]) {
			select {
			case p.responses <- response:
			case <-ctx.Done():
			}
		})
		p.done <- struct{}{}
	})
}

// takeResponse adds the response of one agent to the board.
func (f *followers) takeResponse(response agents.Result[snapshot]) {
	if len(f.polling.agents) == 0 {
		return // the command `top` has changed back to streams
	}
	now := time.Now()
	if response.Err != nil {
		if f.polling.refused == nil {
			f.polling.refused = response.Err
		}
		f.board.Lose(response.Agent.Pod, f.withRemedy(response.Err), now)
		return
	}
	f.opened = true
	response.Value.show(f.board, response.Agent.Pod, now)
}

// endPoll ends a round. If no agent has ever responded, endPoll returns an error.
func (f *followers) endPoll() error {
	f.polling.busy = false
	if !f.opened && f.polling.refused != nil {
		return f.polling.refused
	}
	return nil
}
