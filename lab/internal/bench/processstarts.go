package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	eventservice "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// startTopic is the topic of containerd's events about started processes. In containerd's package core/runtime, this
// constant has the name TaskStartEventTopic.
const startTopic = "/tasks/start"

// ProcessStarts contains the times when containers' main processes started. Each time is from an event that the
// container's shim sends and containerd publishes. ProcessStarts is safe for concurrent use.
type ProcessStarts struct {
	mu sync.Mutex
	at map[string]time.Time // the key is the ID of the container
}

// WatchProcessStarts records the starts of all containers' main processes on the node until the caller calls the
// function "stop". WatchProcessStarts subscribes to containerd's events in the background. ProcessStarts misses the
// starts before the first subscription and the starts while containerd is stopped. If containerd refuses the
// subscription, the function "stop" returns the error.
func (b *Bench) WatchProcessStarts(ctx context.Context) (starts *ProcessStarts, stop func() error, err error) {
	often := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond}
	connection, err := grpc.NewClient("unix://"+b.Node.ContainerdSocket(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: often, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to containerd: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	starts = &ProcessStarts{at: make(map[string]time.Time)}
	ended := make(chan error, 1)
	go func() {
		ended <- errors.Join(starts.recordAll(ctx, eventservice.NewEventsClient(connection)), connection.Close())
	}()
	return starts, func() error { cancel(); return <-ended }, nil
}

// recordAll records starts until the context ends or containerd refuses the subscription. When containerd restarts,
// recordAll subscribes again.
func (s *ProcessStarts) recordAll(ctx context.Context, client eventservice.EventsClient) error {
	for ctx.Err() == nil {
		err := s.record(ctx, client)
		if code := status.Code(err); code != codes.Unavailable && code != codes.Canceled && !errors.Is(err, io.EOF) {
			return fmt.Errorf("subscribe to containerd's events: %w", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// record records starts until the subscription ends, and returns the error that ended the subscription. If containerd
// is not reachable, the function first waits until containerd is reachable.
func (s *ProcessStarts) record(ctx context.Context, client eventservice.EventsClient) error {
	request := &eventservice.SubscribeRequest{Filters: []string{`topic=="` + startTopic + `"`}}
	stream, err := client.Subscribe(ctx, request, grpc.WaitForReady(true))
	for err == nil {
		var event *types.Envelope
		if event, err = stream.Recv(); err == nil {
			s.add(event)
		}
	}
	return err
}

// add records one event. Events about other subjects have no effect.
func (s *ProcessStarts) add(event *types.Envelope) {
	var start eventsapi.TaskStart
	if event.GetEvent().UnmarshalTo(&start) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at[start.ContainerID] = event.GetTimestamp().AsTime()
}

// Of returns the time when the process of a container started. If the call started no process, or if ProcessStarts
// missed the start, Of returns the zero time.
func (s *ProcessStarts) Of(call RuntimeCall) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.at[call.container]
}
