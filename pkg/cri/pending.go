package cri

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	maxPending = 1024 // maximum number of pods with an open question
	maxImages  = 256  // maximum number of references in one question; a pod has few
	// giveUpAfter is the time after which a failing question is given up. A caller that still needs the answer must
	// ask again.
	giveUpAfter = 30 * time.Second
)

// question is the open question about one pod. The lock of pending guards it.
type question struct {
	lookUp    timeline.LookUp // has no UID while a look-up runs, unless a caller has asked again
	askedAt   time.Time       // time of the latest request
	notBefore time.Time       // earliest time of the next attempt, after a failure
	failures  int
}

// The type pending holds at most one open question for each pod. The type pending merges further questions about the
// pod into the open question, so the queue stays small even if pods change fast. The type pending is safe for
// concurrent use.
type pending struct {
	// The field wake signals that a question can be ready. The field wake has capacity 1, and senders drop the signal
	// if it is full.
	wake chan struct{}

	mu    sync.Mutex
	byUID map[string]*question
	queue []*question // questions that are not running, in the order of the requests
}

func newPending() *pending {
	return &pending{wake: make(chan struct{}, 1), byUID: map[string]*question{}}
}

// ask adds a question, or merges it into the open question about the pod. If too many questions are open, ask drops the
// question and returns false.
func (p *pending) ask(lookUp timeline.LookUp, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	q := p.byUID[lookUp.UID]
	if q == nil {
		if len(p.byUID) >= maxPending {
			return false
		}
		q = &question{}
		p.byUID[lookUp.UID] = q
		p.queue = append(p.queue, q)
	}
	q.lookUp, q.askedAt = merge(lookUp, q.lookUp), now
	p.nudge()
	return true
}

// next waits for a question that is ready, and removes this question from the queue. The look-up ends with a call to
// finish or fail. next returns nil when ctx ends.
func (p *pending) next(ctx context.Context, now func() time.Time) (*question, timeline.LookUp) {
	for ctx.Err() == nil {
		q, lookUp, wait := p.take(now())
		if q != nil {
			return q, lookUp
		}
		select {
		case <-p.wake:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil, timeline.LookUp{}
}

// take removes the first question that is ready. If no question is ready, take returns the time until the first
// question in the queue is ready.
func (p *pending) take(now time.Time) (q *question, lookUp timeline.LookUp, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = time.Hour
	for i, q := range p.queue {
		if left := q.notBefore.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		p.queue = slices.Delete(p.queue, i, i+1)
		p.nudge() // wake another worker
		lookUp, q.lookUp = q.lookUp, timeline.LookUp{}
		return q, lookUp, 0
	}
	return nil, timeline.LookUp{}, wait
}

// finish ends a look-up that was answered.
func (p *pending) finish(q *question, lookUp timeline.LookUp) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if q.lookUp.UID == "" {
		delete(p.byUID, lookUp.UID)
		return
	}
	q.failures, q.notBefore = 0, time.Time{}
	p.queue = append(p.queue, q)
	p.nudge()
}

// fail ends a look-up without an answer. The question is either retried later or given up. The result givenUp is true
// if the question is given up.
func (p *pending) fail(q *question, lookUp timeline.LookUp, now time.Time) (givenUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(q.askedAt) > giveUpAfter {
		delete(p.byUID, lookUp.UID)
		return true
	}
	if q.lookUp.UID != "" {
		lookUp = merge(q.lookUp, lookUp)
	}
	q.lookUp = lookUp
	q.failures++
	q.notBefore = now.Add(connectRetries.Delay(q.failures))
	p.queue = append(p.queue, q)
	p.nudge()
	return false
}

// count returns the number of open questions.
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

// merge adds the references of an earlier question about the pod, each once, in the order of the requests. A reference
// in Layers is always also in Images.
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
