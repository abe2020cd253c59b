package bench

import (
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	eventservice "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	grpcstatus "google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// startedAt returns the time of the start that the n-th subscription reports.
func startedAt(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }

// eventServer publishes one start in each subscription, and then ends the subscription.
type eventServer struct {
	eventservice.UnimplementedEventsServer
	subscriptions atomic.Int64
}

func (s *eventServer) Subscribe(_ *eventservice.SubscribeRequest, to eventservice.Events_SubscribeServer) error {
	n := int(s.subscriptions.Add(1))
	for _, subject := range []proto.Message{&eventsapi.TaskStart{ContainerID: []string{"first", "second"}[min(n, 2)-1]},
		&eventsapi.TaskExit{ContainerID: "exited"}} {
		value, err := proto.Marshal(subject)
		if err != nil {
			return err
		}
		// containerd's type URL contains no slash
		event := &anypb.Any{TypeUrl: string(subject.ProtoReflect().Descriptor().FullName()), Value: value}
		if err := to.Send(&types.Envelope{Timestamp: timestamppb.New(startedAt(n)), Event: event}); err != nil {
			return err
		}
	}
	return grpcstatus.Error(codes.Unavailable, "containerd restarts")
}

// A subscription ends when containerd restarts. ProcessStarts then subscribes again.
func TestProcessStarts(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	eventservice.RegisterEventsServer(server, &eventServer{})
	go server.Serve(listener)
	defer server.Stop()
	starts, stop, err := watchProcessStarts(t.Context(), socket)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for deadline := time.Now().Add(30 * time.Second); starts.Of(RuntimeCall{container: "second"}).IsZero(); {
		if time.Now().After(deadline) {
			t.Fatal("the second subscription reported no start within 30 s")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := starts.Of(RuntimeCall{container: "first"}); !got.Equal(startedAt(1)) {
		t.Errorf("the first process started at %v, want %v", got, startedAt(1))
	}
	if got := starts.Of(RuntimeCall{container: "exited"}); !got.IsZero() {
		t.Errorf("an exit counts as a start at %v", got)
	}
}
