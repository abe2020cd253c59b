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
	agents  []agents.Agent               // empty while the command `top` uses streams
	answers chan agents.Answer[snapshot] // has no capacity: each answer waits until the board has taken the answer
	done    chan struct{}                // has capacity 1, because only one round runs at a time
	running sync.WaitGroup
	busy    bool
	began   time.Time
	refused error // error of the first agent in this round that did not answer
}

func newPoller() poller {
	return poller{answers: make(chan agents.Answer[snapshot]), done: make(chan struct{}, 1)}
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
		agents.EachDone(ctx, there, agentLimit, ask, func(_ int, answer agents.Answer[snapshot]) {
			select {
			case p.answers <- answer:
			case <-ctx.Done():
			}
		})
		p.done <- struct{}{}
	})
}

// takeAnswer adds the answer of one agent to the board.
func (f *followers) takeAnswer(answer agents.Answer[snapshot]) {
	if len(f.polling.agents) == 0 {
		return // the command `top` has changed back to streams
	}
	now := time.Now()
	if answer.Err != nil {
		if f.polling.refused == nil {
			f.polling.refused = answer.Err
		}
		f.board.Lose(answer.Agent.Pod, f.withRemedy(answer.Err), now)
		return
	}
	f.opened = true
	answer.Value.show(f.board, answer.Agent.Pod, now)
}

// endPoll ends a round. If no agent has ever answered, endPoll returns an error.
func (f *followers) endPoll() error {
	f.polling.busy = false
	if !f.opened && f.polling.refused != nil {
		return f.polling.refused
	}
	return nil
}
