package live

import "context"

// Viewer is a reader's position in the log. It is for one goroutine.
type Viewer struct {
	hub   *Hub
	at    uint64 // the last event that it got
	reset bool   // it lacks events that it needs to resume
}

// Next waits for events that the viewer has not received yet, until ctx ends. If a pod changed several times meanwhile,
// only the last event is returned. An event of KindReset comes first, and again whenever the log dropped events that
// the viewer had not received.
func (v *Viewer) Next(ctx context.Context) ([]*Event, error) {
	for {
		batch, news := v.take()
		if len(batch) > 0 {
			return batch, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (v *Viewer) take() ([]*Event, <-chan struct{}) {
	h := v.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if v.reset || v.at < h.log.floor {
		v.reset, v.at = false, h.log.last
		h.metrics.resets.Inc()
		e := &Event{Kind: KindReset, data: []byte("{}")}
		e.settle(h.epoch, v.at)
		return []*Event{e}, nil
	}
	batch := h.log.after(v.at)
	if len(batch) > 0 {
		v.at = batch[len(batch)-1].number
	}
	return batch, h.news
}

// Disconnected counts a viewer that does not read.
func (v *Viewer) Disconnected() { v.hub.metrics.slow.Inc() }

// Close removes the viewer.
func (v *Viewer) Close() { v.hub.leave() }
