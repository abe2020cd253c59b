package bench

import (
	"context"
	"fmt"
	"sync"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	eventservice "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// ProcessStarts contains the times when containers' main processes started. The times are from the events of the
// containers' shims, which containerd publishes. ProcessStarts is safe for concurrent use.
type ProcessStarts struct {
	mu sync.Mutex
	at map[string]time.Time // the key is the ID of the container
}

// WatchProcessStarts records the starts of all processes on the node until the caller calls the function "stop". While
// containerd is stopped, ProcessStarts can miss starts.
func (b *Bench) WatchProcessStarts(ctx context.Context) (starts *ProcessStarts, stop func(), err error) {
	return watchProcessStarts(ctx, b.Node.ContainerdSocket())
}

func watchProcessStarts(ctx context.Context, socket string) (starts *ProcessStarts, stop func(), err error) {
	often := backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: 500 * time.Millisecond}
	connection, err := grpc.NewClient("unix://"+socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: often, MinConnectTimeout: time.Second}))
	if err != nil {
		return nil, nil, fmt.Errorf("connect to containerd: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	starts = &ProcessStarts{at: make(map[string]time.Time)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer connection.Close()
		for ctx.Err() == nil { // each round waits until containerd is reachable
			starts.record(ctx, eventservice.NewEventsClient(connection))
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return starts, func() { cancel(); <-ended }, nil
}

// record records starts until the connection ends.
func (s *ProcessStarts) record(ctx context.Context, client eventservice.EventsClient) {
	request := &eventservice.SubscribeRequest{Filters: []string{`topic=="/tasks/start"`}}
	stream, err := client.Subscribe(ctx, request, grpc.WaitForReady(true))
	for err == nil {
		var event *types.Envelope
		if event, err = stream.Recv(); err == nil {
			s.add(event)
		}
	}
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
