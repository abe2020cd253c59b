package cri

import (
	"slices"
	"sync"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	maxPending = 1024 // pods with an open question
	maxImages  = 256  // references in one question; a pod has few
	// giveUpAfter is how long a failing question is retried: a caller that still wants the answer
	// asks again.
	giveUpAfter = 30 * time.Second
)

// question is one open look-up. The lock of pending guards it.
type question struct {
	lookUp    timeline.LookUp
	askedAt   time.Time
	notBefore time.Time // after a failure
	failures  int
	running   bool
	next      *timeline.LookUp // asked while this one runs
}

// pending holds one question per pod. Further questions about the pod are merged, so it stays small
// however fast pods change. It is safe for concurrent use.
type pending struct {
	wake chan struct{} // capacity 1, dropped when full: a question may be ready

	mu    sync.Mutex
	byUID map[string]*question
	queue []*question // not running, in the order asked
}

func newPending() *pending {
	return &pending{wake: make(chan struct{}, 1), byUID: map[string]*question{}}
}

// ask adds or merges a question. It returns false if there are too many and this one is dropped.
func (p *pending) ask(lookUp timeline.LookUp, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q, ok := p.byUID[lookUp.UID]
	switch {
	case !ok && len(p.byUID) >= maxPending:
		return false
	case !ok:
		lookUp = merge(lookUp, timeline.LookUp{})
		q = &question{lookUp: lookUp, askedAt: now}
		p.byUID[lookUp.UID] = q
		p.queue = append(p.queue, q)
	case q.running && q.next == nil:
		lookUp = merge(lookUp, timeline.LookUp{})
		q.next, q.askedAt = &lookUp, now
	case q.running:
		lookUp = merge(lookUp, *q.next)
		q.next, q.askedAt = &lookUp, now
	default:
		q.lookUp, q.askedAt = merge(lookUp, q.lookUp), now
	}
	p.nudge()
	return true
}

// wait returns how long until the next question is ready, and false if the queue is empty.
func (p *pending) wait(now time.Time) (time.Duration, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 {
		return 0, false
	}
	least := p.queue[0].notBefore.Sub(now)
	for _, q := range p.queue[1:] {
		least = min(least, q.notBefore.Sub(now))
	}
	return max(0, least), true
}

// take removes the first ready question from the queue; nil if there is none.
func (p *pending) take(now time.Time) (*question, timeline.LookUp) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, q := range p.queue {
		if !q.notBefore.After(now) {
			q.running = true
			p.queue = slices.Delete(p.queue, i, i+1)
			return q, q.lookUp
		}
	}
	return nil, timeline.LookUp{}
}

// done ends a running question that was answered.
func (p *pending) done(q *question) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.running, q.failures, q.notBefore = false, 0, time.Time{}
	if q.next == nil {
		delete(p.byUID, q.lookUp.UID)
		return
	}
	q.lookUp, q.next = *q.next, nil
	p.queue = append(p.queue, q)
	p.nudge()
}

// failed ends a running question without an answer: it is retried after a while, or given up, which
// givenUp reports.
func (p *pending) failed(q *question, now time.Time) (givenUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	q.running = false
	q.failures++
	if q.next != nil {
		q.lookUp, q.next = merge(*q.next, q.lookUp), nil
	}
	if now.Sub(q.askedAt) > giveUpAfter {
		delete(p.byUID, q.lookUp.UID)
		return true
	}
	q.notBefore = now.Add(retries.Delay(q.failures))
	p.queue = append(p.queue, q)
	p.nudge()
	return false
}

// count returns how many questions are open.
func (p *pending) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byUID)
}

func (p *pending) nudge() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// merge adds what an earlier question about the pod wanted, each reference once, in the order
// asked. A reference whose layers are wanted is also queried as an image.
func merge(lookUp, earlier timeline.LookUp) timeline.LookUp {
	lookUp.Network = lookUp.Network || earlier.Network
	lookUp.Layers = union(earlier.Layers, lookUp.Layers)
	lookUp.Images = union(earlier.Images, lookUp.Images, lookUp.Layers)
	return lookUp
}

func union(lists ...[]string) []string {
	var all []string
	for _, list := range lists {
		for _, ref := range list {
			if len(all) < maxImages && !slices.Contains(all, ref) {
				all = append(all, ref)
			}
		}
	}
	return all
}
