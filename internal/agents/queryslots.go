package agents

import (
	"sync"
	"time"
)

const (
	// If an agent has not responded after silentAfter, a query to another agent can begin. Dead nodes often accept no
	// connection and send no error. Without silentAfter, many dead agents would delay the queries to all other agents.
	// An agent whose response has begun is not silent, even if the response takes a long time.
	silentAfter = time.Second
	// maxSilent is the maximum number of silent agents whose queries do not count toward the limit AtOnce. Waiting for
	// a silent agent costs the API server hardly more than an open connection. If no agent responds, AtOnce more
	// agents become silent every second. Therefore, the number of silent agents reaches maxSilent only after 8 s.
	maxSilent = 128
)

// LongestTime returns the maximum time that Each needs if no agent responds. The argument "agents" is the number of
// agents. The argument "limit" is the maximum time for each agent.
func LongestTime(agents int, limit time.Duration) time.Duration {
	groups := (agents + AtOnce - 1) / AtOnce
	return time.Duration(groups)*max(silentAfter, limit*AtOnce/(AtOnce+maxSilent)) + limit
}

// querySlots limits the number of concurrent queries.
type querySlots struct {
	busy   chan struct{} // capacity AtOnce; one element for each running query that has no element in "silent"
	silent chan struct{} // capacity maxSilent; one element for each query that the method hold moved here
}

func newQuerySlots() querySlots {
	return querySlots{make(chan struct{}, AtOnce), make(chan struct{}, maxSilent)}
}

// A slot is the right to run one query.
type slot struct {
	slots         querySlots
	firstResponse chan struct{} // closed after the agent's first response
	ended         chan struct{} // closed when the query has ended
	released      chan struct{} // closed after the slot is free
	respondedOnce *sync.Once
}

// acquire waits until a query can begin. The caller must call the method "release" of the result.
func (s querySlots) acquire() slot {
	s.busy <- struct{}{}
	p := slot{s, make(chan struct{}), make(chan struct{}), make(chan struct{}), &sync.Once{}}
	go p.hold()
	return p
}

// responded reports a response of the agent.
func (p slot) responded() { p.respondedOnce.Do(func() { close(p.firstResponse) }) }

// release ends the query. When release returns, another query can use the slot.
func (p slot) release() {
	close(p.ended)
	<-p.released
}

// hold keeps the slot until the query ends. If the agent does not respond within silentAfter, hold moves the query
// from the channel "busy" to the channel "silent". If "silent" is full, hold first waits for free space in "silent".
func (p slot) hold() {
	defer close(p.released)
	held := p.slots.busy
	defer func() { <-held }()
	patience := time.NewTimer(silentAfter)
	defer patience.Stop()
	select {
	case <-p.ended:
		return
	case <-p.firstResponse:
		<-p.ended
		return
	case <-patience.C:
	}
	select {
	case <-p.ended:
	case p.slots.silent <- struct{}{}:
		<-p.slots.busy
		held = p.slots.silent
		<-p.ended
	}
}
