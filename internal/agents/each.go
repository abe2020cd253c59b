package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/podlapse/podlapse/pkg/client"
)

// AtOnce limits how many agents a command queries at the same time. If a queried agent has not responded within
// silentAfter, the agent is called silent. Up to maxSilent silent agents do not count toward the limit. The limit
// protects the API server, which forwards the requests. With AtOnce parallel queries, a command needs only seconds for
// a large cluster.
const AtOnce = 16

// unreadyLimit is the maximum time that Each waits for an agent whose pod is not ready. If Each queries only one
// agent, unreadyLimit does not apply.
const unreadyLimit = 2 * time.Second

// ErrNotQueried means that the context ended before Each queried the agent.
var ErrNotQueried = errors.New("the agent was not queried in time")

// Result is the result of a query to one agent.
type Result[A any] struct {
	Agent Agent
	Value A
	Err   error
}

// Each queries all agents and returns the responses in the order of the agents. Each queries the ready agents first, so
// that dead agents do not delay the responses of the ready agents. Each queries at most AtOnce agents at the same time.
// In addition, Each can wait for up to maxSilent silent agents. An agent is silent if it has not responded within
// silentAfter. The argument "limit" is the maximum wait for each agent. While at most maxSilent agents are silent, a
// silent agent delays the queries to other agents by at most silentAfter. If ctx ends before Each queries an agent, the
// error in this agent's result wraps ErrNotQueried and the error of ctx.
func Each[A any](
	ctx context.Context, agents []Agent, limit time.Duration, query func(context.Context, client.Client) (A, error),
) []Result[A] {
	responses := make([]Result[A], len(agents))
	EachDone(ctx, agents, limit, query, func(i int, response Result[A]) { responses[i] = response })
	return responses
}

// EachDone queries all agents like Each, but returns no results. As soon as the result of an agent is available,
// EachDone calls the function "done" with the agent's index and the result. Several goroutines can call "done" at the
// same time.
func EachDone[A any](
	ctx context.Context, agents []Agent, limit time.Duration, query func(context.Context, client.Client) (A, error),
	done func(i int, response Result[A]),
) {
	slots := newQuerySlots()
	var group sync.WaitGroup
	for _, i := range readyFirst(agents) {
		slot := slots.acquire()
		group.Go(func() {
			defer slot.release()
			agent := agents[i]
			response := Result[A]{Agent: agent}
			if err := ctx.Err(); err != nil {
				response.Err = fmt.Errorf("%w: %w", ErrNotQueried, err)
			} else {
				queryCtx, cancel := context.WithTimeout(ctx, agent.responseLimit(limit, len(agents)))
				response.Value, response.Err = query(queryCtx, withListener(agent.Client, slot.responded))
				cancel()
				response.Err = agent.explain(Plain(response.Err))
			}
			if len(agents) > AtOnce {
				agent.release() // hundreds of idle connections would load the API server
			}
			done(i, response)
		})
	}
	group.Wait()
}

// readyFirst returns the indexes of the agents. The agents that are not ready are last.
func readyFirst(agents []Agent) []int {
	var first, last []int
	for i, agent := range agents {
		if agent.isUnready() {
			last = append(last, i)
		} else {
			first = append(first, i)
		}
	}
	return append(first, last...)
}

// isUnready reports whether the agent's pod is not ready. If the agent's pod is unknown, isUnready returns false.
func (a Agent) isUnready() bool { return a.route != nil && !a.Ready }

// responseLimit returns the maximum time for the response of the agent. The argument "agents" is the number of queried
// agents.
func (a Agent) responseLimit(limit time.Duration, agents int) time.Duration {
	if a.isUnready() && agents > 1 {
		return min(limit, unreadyLimit)
	}
	return limit
}

// If the agent's pod is not ready, explain adds this fact to the agent's error.
func (a Agent) explain(err error) error {
	if err == nil || !a.isUnready() {
		return err
	}
	return fmt.Errorf("the agent's pod is not ready: %w", err)
}

// withListener returns a client that calls the function "responded" after each response.
func withListener(c client.Client, responded func()) client.Client {
	client := *cmp.Or(c.HTTP, http.DefaultClient)
	client.Transport = listener{cmp.Or(client.Transport, http.DefaultTransport), responded}
	c.HTTP = &client
	return c
}

// listener is a transport that reports responses.
type listener struct {
	http.RoundTripper
	responded func()
}

// RoundTrip implements http.RoundTripper.
func (l listener) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(request)
	if err == nil {
		l.responded()
	}
	return response, err
}
