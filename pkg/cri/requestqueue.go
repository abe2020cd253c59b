package cri

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	maxPending = 1024 // maximum number of pods with an open request
	maxImages  = 256  // maximum number of image references in each list of a request; a pod has only a few
	// giveUpAfter is the time after which the source gives up on a failing request. A caller that still needs the
	// response must repeat the request.
	giveUpAfter = 30 * time.Second
)

// openRequest is a request about one pod that the runtime has not responded to yet. The mutex of requestQueue protects
// every openRequest.
type openRequest struct {
	// When a worker takes the request, takeReady empties the field "request". While the worker runs the request, add
	// merges newer requests about the pod into this field.
	request     timeline.RuntimeRequest
	requestedAt time.Time // time of the latest request
	notBefore   time.Time // earliest time of the next attempt, after a failure
	failures    int
}

// requestQueue holds at most one open request for each pod. The queue merges further requests about the pod into the
// open request, so the queue stays small even if pods change fast. The queue is safe for concurrent use. client-go's
// workqueue cannot replace this type, because a workqueue has no limit and does not merge its items.
type requestQueue struct {
	// wake signals that a request might be ready. The channel has capacity 1. If the channel is full, senders drop the
	// signal.
	wake chan struct{}

	mu    sync.Mutex
	byUID map[string]*openRequest
	queue []*openRequest // requests that wait for a worker, in the order in which they were queued
}

func newRequestQueue() *requestQueue {
	return &requestQueue{wake: make(chan struct{}, 1), byUID: map[string]*openRequest{}}
}

// add adds a request, or merges the request into the open request about the pod. If the pod has no open request, and
// maxPending requests are already open, add drops the request and returns false.
func (p *requestQueue) add(request timeline.RuntimeRequest, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	open := p.byUID[request.UID]
	if open == nil {
		if len(p.byUID) >= maxPending {
			return false
		}
		open = &openRequest{}
		p.byUID[request.UID] = open
		p.queue = append(p.queue, open)
	}
	open.request, open.requestedAt = merge(request, open.request), now
	p.wakeWorker()
	return true
}

// waitForReady waits until a request is ready. waitForReady then removes this request from the queue and returns it. A
// request is ready if it is not waiting for a retry. The caller must call the method "finish" or "retryOrGiveUp" for
// the request. If ctx ends, the result is nil.
func (p *requestQueue) waitForReady(ctx context.Context, now func() time.Time) (*openRequest, timeline.RuntimeRequest) {
	for ctx.Err() == nil {
		open, request, wait := p.takeReady(now())
		if open != nil {
			return open, request
		}
		select {
		case <-p.wake:
		case <-time.After(wait):
		case <-ctx.Done():
		}
	}
	return nil, timeline.RuntimeRequest{}
}

// takeReady removes the first ready request from the queue and returns it. If no request is ready, takeReady returns
// the time until the next request is ready. This time is at most one hour.
func (p *requestQueue) takeReady(
	now time.Time,
) (open *openRequest, request timeline.RuntimeRequest, wait time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	wait = time.Hour
	for i, open := range p.queue {
		if left := open.notBefore.Sub(now); left > 0 {
			wait = min(wait, left)
			continue
		}
		p.queue = slices.Delete(p.queue, i, i+1)
		p.wakeWorker()
		request, open.request = open.request, timeline.RuntimeRequest{}
		return open, request, 0
	}
	return nil, timeline.RuntimeRequest{}, wait
}

// finish ends a request that the runtime responded to. If a caller repeated the request while a worker ran it, finish
// adds the repeated request to the queue.
func (p *requestQueue) finish(open *openRequest, request timeline.RuntimeRequest) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if open.request.UID == "" {
		delete(p.byUID, request.UID)
		return
	}
	open.failures, open.notBefore = 0, time.Time{}
	p.queue = append(p.queue, open)
	p.wakeWorker()
}

// retryOrGiveUp handles a request that got no response. retryOrGiveUp either schedules a retry, or gives up on the
// request and returns true.
func (p *requestQueue) retryOrGiveUp(open *openRequest, request timeline.RuntimeRequest, now time.Time) (givenUp bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Sub(open.requestedAt) > giveUpAfter {
		delete(p.byUID, request.UID)
		return true
	}
	if open.request.UID != "" {
		request = merge(open.request, request)
	}
	open.request = request
	open.failures++
	open.notBefore = now.Add(connectRetries.Delay(open.failures))
	p.queue = append(p.queue, open)
	p.wakeWorker()
	return false
}

func (p *requestQueue) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.byUID)
}

func (p *requestQueue) wakeWorker() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// merge combines a request with an earlier request about the same pod. In the result, no list contains a reference
// twice, and the references of the earlier request come first. Each list contains at most maxImages references. Images
// also contains every reference in Layers, unless Images already contains maxImages references.
func merge(request, earlier timeline.RuntimeRequest) timeline.RuntimeRequest {
	request.Network = request.Network || earlier.Network
	request.Runs = request.Runs || earlier.Runs
	request.Layers = union(earlier.Layers, request.Layers)
	request.Images = union(earlier.Images, request.Images, request.Layers)
	return request
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
