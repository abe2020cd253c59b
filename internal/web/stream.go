package web

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/filter"
	"github.com/podlapse/podlapse/internal/live"
)

const (
	// heartbeat is the maximum time between two writes to a stream. If a stream has no events during this time, the
	// agent writes an empty comment, so that proxies keep the connection open.
	heartbeat = 15 * time.Second
	// patience is the write timeout of a stream. If a write takes longer because the client does not read, the agent
	// closes the stream.
	patience = 10 * time.Second
	// viewersPerClient is the maximum number of viewers (open streams) of one client. The value is half of the maximum
	// for all clients together, so that other clients can also connect. The value is also half of maxPerClient, the
	// maximum number of connections of one client. So a client with many streams can still request lists.
	viewersPerClient = 16
)

// errNotRead means that the agent closed a stream because the client did not read within the write timeout.
var errNotRead = errors.New("the agent closed the stream, because the client did not read within the write timeout")

// stream sends changes to the client until the client disconnects or stops reading.
func (a readAPI) stream(w http.ResponseWriter, r *http.Request, f filter.Filter) error {
	header := w.Header()
	if r.Method == http.MethodHead {
		header.Set("Content-Type", "text/event-stream")
		return nil
	}
	leave, ok := a.viewers.takeSlot(r.RemoteAddr)
	if !ok {
		a.API.Live.Refused()
		return refuseViewer(w, errTooManyOfOne)
	}
	defer leave()
	viewer, err := a.API.Live.AddViewer(cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("last_event_id")))
	if err != nil {
		return refuseViewer(w, err)
	}
	defer viewer.Close()
	header.Set("Content-Type", "text/event-stream")
	header.Set("X-Accel-Buffering", "no") // prevents buffering in nginx
	markStreaming(r)
	out := outlet{w: w, control: http.NewResponseController(w)}
	err = out.follow(r.Context(), viewer, f)
	if errors.Is(err, errNotRead) {
		viewer.Disconnected()
	}
	a.Logger.Debug("viewer disconnected", zap.Error(err))
	return nil
}

// errTooManyOfOne means that this client already has the maximum number of viewers for one client. In contrast,
// live.ErrTooManyViewers means that all clients together have the maximum number of viewers.
var errTooManyOfOne = errors.New("too many viewers from this address")

func refuseViewer(w http.ResponseWriter, why error) error {
	w.Header().Set("Retry-After", "30")
	return refuse(http.StatusServiceUnavailable, "unavailable", why.Error()+": try again, or poll /api/v1/pods")
}

// streamFilters returns the names of all filters for pods, except the filter "gone". The filter "gone" concerns deleted
// pods.
func streamFilters() []string {
	return slices.DeleteFunc(filter.Names(), func(name string) bool { return name == "gone" })
}

// outlet writes events to one viewer.
type outlet struct {
	w       http.ResponseWriter
	control *http.ResponseController

	writtenAt time.Time // time of the last write
}

// follow sends events to the viewer until an error occurs, and returns the error.
func (o *outlet) follow(ctx context.Context, viewer *live.Viewer, f filter.Filter) error {
	// The server sets a read deadline for each request, and this deadline would end the stream. The code ignores the
	// error: an error means that the connection is closed, so the next write fails too.
	_ = o.control.SetReadDeadline(time.Time{})
	if err := o.write([]byte("retry: 2000\n\n")); err != nil {
		return err
	}
	for {
		events, err := o.nextEvents(ctx, viewer)
		if err != nil {
			return err
		}
		frames := make([][]byte, 0, len(events))
		for _, e := range events {
			frame, err := choose(e, f)
			if err != nil {
				return err
			}
			if frame != nil {
				frames = append(frames, frame)
			}
		}
		if len(frames) == 0 {
			if time.Since(o.writtenAt) < heartbeat {
				continue
			}
			frames = append(frames, []byte(":\n\n"))
		}
		if err := o.write(frames...); err != nil {
			return err
		}
	}
}

// nextEvents returns the next events. If a heartbeat is due before an event arrives, the result is empty.
func (o *outlet) nextEvents(ctx context.Context, viewer *live.Viewer) ([]*live.Event, error) {
	beat, cancel := context.WithDeadline(ctx, o.writtenAt.Add(heartbeat))
	defer cancel()
	events, err := viewer.Next(beat)
	if err != nil && ctx.Err() == nil {
		return nil, nil
	}
	return events, err
}

// choose returns the frame (the encoded message) for an event and a viewer with the filter f. If the namespace or the
// name of the pod does not match, the result is nil. A pod's namespace and name never change, so this viewer has never
// received the pod. If another property does not match, for example a label, the frame tells
// the viewer to remove the pod, because the pod might have matched earlier.
func choose(e *live.Event, f filter.Filter) ([]byte, error) {
	if e.Kind != live.KindPod && e.Kind != live.KindGone {
		return e.Frame(), nil
	}
	switch {
	case !f.MatchesName(e.Key):
		return nil, nil
	case e.Kind == live.KindPod && f.MayMatch(e.Key) && f.Match(e.Detail),
		e.Kind == live.KindGone && f.Belongs(e.Key, e.Detail):
		return e.Frame(), nil
	}
	return e.Out()
}

// write sends all frames. If the client does not read the frames within the write timeout, write returns errNotRead.
func (o *outlet) write(frames ...[]byte) error {
	deadline := time.Now().Add(patience)
	_ = o.control.SetWriteDeadline(deadline)
	err := o.send(frames)
	if err != nil && !time.Now().Before(deadline) { // HTTP/2 does not return os.ErrDeadlineExceeded
		return errNotRead
	}
	if err == nil {
		o.writtenAt = time.Now()
		_ = o.control.SetWriteDeadline(time.Time{}) // HTTP/2 would end an idle stream at the deadline
	}
	return err
}

func (o *outlet) send(frames [][]byte) error {
	for _, frame := range frames {
		if _, err := o.w.Write(frame); err != nil {
			return err
		}
	}
	return o.control.Flush()
}
