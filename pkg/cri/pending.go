package cri

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	maxPending = 1024 // pods with an open question
	maxImages  = 256  // references in one question; a pod has few
	// giveUpAfter is how long a failing question is retried. A caller that still wants the answer must ask again.
	giveUpAfter = 30 * time.Second
)

// question is what is asked about one pod. The lock of pending guards it.
type question struct {
	lookUp    timeline.LookUp // without a UID while a look-up runs and nothing was asked since
	askedAt   time.Time
	notBefore time.Time // after a failure
	failures  int
}

// pending holds one question per pod. Further questions about the pod are merged into it, so the queue stays small
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

// next waits for a question that is ready, and removes it from the queue. Its look-up runs until
// done or failed. It returns nil when ctx ends.
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

// take removes the first question that is ready. If there is none, it returns how long to wait for
// one that is in the queue.
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
		p.nudge() // for another worker
		lookUp, q.lookUp = q.lookUp, timeline.LookUp{}
		return q, lookUp, 0
	}
	return nil, timeline.LookUp{}, wait
}

// done ends a look-up that was answered.
func (p *pending) done(q *question, lookUp timeline.LookUp) {
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

// failed ends a look-up without an answer: it is retried after a while, or given up, which givenUp
// reports.
func (p *pending) failed(q *question, lookUp timeline.LookUp, now time.Time) (givenUp bool) {
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

// merge adds the references of an earlier question about the pod, each once, in the order asked. A reference whose
// layers are wanted is also queried as an image.
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
