package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
)

const (
	// retryDelay is the time between a broken connection and the next attempt of Follow.
	retryDelay = 2 * time.Second
	// maxSilence is the longest allowed time without data. The agent sends data at least every 15 s.
	maxSilence = 45 * time.Second
	// maxEvent limits the size of an event in bytes. The limit is larger than the record of a pod with hundreds of
	// containers.
	maxEvent = 16 << 20
)

// Values of Event.Kind. If an event also sets another field of Event, the comment of the value names this field.
const (
	KindReset = "reset" // forget all pods; KindPod events for the current pods follow
	KindPod   = "pod"   // Event.Record is a new or changed start-up
	KindOut   = "out"   // the pod in Event.Pod changed and does not match the filter
	KindGone  = "gone"  // the object of the pod in Event.Pod was removed
	KindPulls = "pulls" // Event.Pulls contains all pulls in progress

	// KindOpen and KindBroken come from Follow, and not from the agent. Between KindBroken and the next KindOpen,
	// Follow reports no changes.
	KindOpen   = "open"   // the stream is open
	KindBroken = "broken" // the stream broke because of Event.Err, and Follow will retry
)

// Event is one message from Follow. Kind is always set. At most one other field is set, depending on Kind.
type Event struct {
	Kind   string
	Record api.Record
	Pod    api.PodKey
	Pulls  []api.LivePullRecord
	Err    error
}

// Follow passes the current start-ups and then all changes to the function "handle", one event at a time. Follow
// returns if ctx ends, if the function "handle" returns an error, or if the agent refuses the stream permanently. After
// a broken connection, Follow passes KindBroken and opens a new connection. On the new connection, Follow resumes the
// stream, or starts again with KindReset. Follow skips events of unknown kinds.
func (c Client) Follow(ctx context.Context, filter Filter, handle func(Event) error) error {
	filter.Gone = nil
	s := subscription{client: c, filter: filter, handle: handle}
	for {
		err := s.connect(ctx)
		var refused *Refusal
		var stopped *handleError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.As(err, &stopped):
			return stopped.err
		case errors.As(err, &refused) && refused.isPermanent():
			return err
		}
		if err := handle(Event{Kind: KindBroken, Err: err}); err != nil {
			return err
		}
		timer := time.NewTimer(retryDelay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}

// isPermanent reports whether the refusal is permanent. A retry after a permanent refusal cannot succeed.
func (r *Refusal) isPermanent() bool {
	return r.Status < http.StatusInternalServerError && r.Status != http.StatusTooManyRequests
}

// errSilent means that Follow closed a connection because no data arrived.
var errSilent = fmt.Errorf("the agent sent nothing for %s", maxSilence)

// handleError wraps an error of the caller's function "handle".
type handleError struct{ err error }

func (e *handleError) Error() string { return e.err.Error() }

// subscription is the state of one call of Follow.
type subscription struct {
	client Client
	filter Filter
	handle func(Event) error
	lastID string
}

// connect opens one connection and reads the stream until the connection ends.
func (s *subscription) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	header := http.Header{"Accept": {"text/event-stream"}}
	if s.lastID != "" {
		header.Set("Last-Event-ID", s.lastID)
	}
	quiet := time.AfterFunc(maxSilence, func() { cancel(errSilent) })
	defer quiet.Stop()
	response, err := s.client.send(ctx, header, s.filter.query(), "stream")
	if err != nil {
		return causeOf(ctx, err)
	}
	defer response.Body.Close()
	quiet.Stop()
	if err := s.deliver(Event{Kind: KindOpen}); err != nil {
		return err
	}
	quiet.Reset(maxSilence)
	reader := frameReader{lines: bufio.NewScanner(response.Body)}
	reader.lines.Buffer(nil, maxEvent)
	for {
		got, err := reader.readEvent(func() { quiet.Reset(maxSilence) })
		if err != nil {
			return causeOf(ctx, err)
		}
		quiet.Stop() // the caller can take as long as it needs to handle the event
		if err := s.take(ctx, got); err != nil {
			return err
		}
		quiet.Reset(maxSilence)
	}
}

// causeOf returns errSilent if the silence limit closed the connection, and returns err in all other cases.
func causeOf(ctx context.Context, err error) error {
	if errors.Is(context.Cause(ctx), errSilent) {
		return errSilent
	}
	return err
}

func (s *subscription) take(ctx context.Context, got frame) error {
	event := Event{Kind: got.kind}
	var err error
	switch got.kind {
	case KindReset:
		if err := s.listAll(ctx); err != nil {
			return err // the next connection begins with KindReset
		}
		s.lastID = got.id
		return nil
	case KindPod:
		err = json.Unmarshal(got.data, &event.Record)
	case KindOut, KindGone:
		err = json.Unmarshal(got.data, &event.Pod)
	case KindPulls:
		var pulls api.LivePullList
		err = json.Unmarshal(got.data, &pulls)
		event.Pulls = pulls.Items
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("read event: %w", err)
	}
	if err := s.deliver(event); err != nil {
		return err
	}
	s.lastID = got.id
	return nil
}

// listAll passes all current start-ups to the function "handle".
func (s *subscription) listAll(ctx context.Context) error {
	s.lastID = ""
	var records []api.Record
	there := s.filter
	there.Gone = new(false)
	for record, err := range s.client.Pods(ctx, there) {
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	if err := s.deliver(Event{Kind: KindReset}); err != nil {
		return err
	}
	for _, record := range records {
		if err := s.deliver(Event{Kind: KindPod, Record: record}); err != nil {
			return err
		}
	}
	return nil
}

func (s *subscription) deliver(event Event) error {
	if err := s.handle(event); err != nil {
		return &handleError{err}
	}
	return nil
}

// frame is one event in the text/event-stream format.
type frame struct {
	id, kind string
	data     []byte
}

// frameReader parses an event stream
// (https://html.spec.whatwg.org/multipage/server-sent-events.html#parsing-an-event-stream). frameReader reads only the
// fields id, event and data, and ignores all other fields and comments.
type frameReader struct{ lines *bufio.Scanner }

// readEvent reads the stream up to the end of the next event with data, and calls the function "alive" for each line.
func (r frameReader) readEvent(alive func()) (frame, error) {
	var f frame
	for r.lines.Scan() {
		alive()
		line := r.lines.Text()
		if line == "" {
			if f.data != nil {
				return f, nil
			}
			f = frame{}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch name {
		case "id":
			f.id = value
		case "event":
			f.kind = value
		case "data":
			if f.data != nil {
				f.data = append(f.data, '\n')
			}
			f.data = append(f.data, value...)
		}
	}
	if err := r.lines.Err(); err != nil {
		return frame{}, fmt.Errorf("read stream: %w", err)
	}
	return frame{}, io.ErrUnexpectedEOF
}
