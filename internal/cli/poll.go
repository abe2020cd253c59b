package cli

import (
	"context"
	"sync"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
)

// pollEvery is the minimum time between the starts of two rounds. In each round, the command `top` queries all agents
// with agents.EachDone, which limits the number of concurrent queries.
const pollEvery = 5 * time.Second

// poller queries agents in rounds. In each round, poller queries every agent once. The goroutine that uses the board
// starts and ends the rounds.
type poller struct {
	agents    []agents.Agent               // empty while the command `top` uses streams
	responses chan agents.Result[snapshot] // unbuffered: a send waits until the board's goroutine receives
	done      chan struct{}                // capacity 1 is sufficient, because only one round runs at a time
	running   sync.WaitGroup
	busy      bool
	began     time.Time
	refused   error // error of the first agent that did not respond in this round
}

func newPoller() poller {
	return poller{responses: make(chan agents.Result[snapshot]), done: make(chan struct{}, 1)}
}

// startPoll starts a round if the command `top` polls agents and the previous round has ended. If the previous round
// started less than pollEvery ago, startPoll does nothing.
func (l *liveAgents) startPoll(ctx context.Context, now time.Time) {
	p := &l.polling
	if len(p.agents) == 0 || p.busy || !p.began.IsZero() && now.Sub(p.began) < pollEvery {
		return
	}
	p.busy, p.began, p.refused = true, now, nil
	there, ask := p.agents, l.config.snapshotOf(now)
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

// takeResponse adds the response of one agent to the board of the command `top`.
func (l *liveAgents) takeResponse(response agents.Result[snapshot]) {
	if len(l.polling.agents) == 0 {
		return // the command `top` has changed back to streams
	}
	now := time.Now()
	if response.Err != nil {
		if l.polling.refused == nil {
			l.polling.refused = response.Err
		}
		l.board.Lose(response.Agent.Pod, l.withRemedy(response.Err), now)
		return
	}
	l.opened = true
	response.Value.show(l.board, response.Agent.Pod, now)
}

// endPoll ends a round of queries to all agents. If no agent has ever responded, endPoll returns the first error of
// the round.
func (l *liveAgents) endPoll() error {
	l.polling.busy = false
	if !l.opened && l.polling.refused != nil {
		return l.polling.refused
	}
	return nil
}
