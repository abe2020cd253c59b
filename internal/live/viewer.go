package live

import "context"

// Viewer is one client of the stream. The Viewer holds the client's position in the log of events. Only one goroutine
// can use a Viewer.
type Viewer struct {
	hub   *Hub
	at    uint64 // number of the last event that the viewer received
	reset bool   // the viewer missed events, so the viewer must request all pods again
}

// Next waits until the viewer has new events or ctx is done. If a pod has changed several times, Next returns only the
// last event of the pod. If the viewer cannot resume the stream, its first event has KindReset. If the log has dropped
// events that the viewer has not read yet, Next also returns an event of KindReset.
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
		e.createFrame(h.epoch, v.at)
		return []*Event{e}, nil
	}
	batch := h.log.eventsAfter(v.at)
	if len(batch) > 0 {
		v.at = batch[len(batch)-1].number
	}
	return batch, h.news
}

// Disconnected counts a viewer that the server disconnected. The server disconnects viewers that do not read.
func (v *Viewer) Disconnected() { v.hub.metrics.slow.Inc() }

// Close removes the viewer.
func (v *Viewer) Close() { v.hub.leave() }
