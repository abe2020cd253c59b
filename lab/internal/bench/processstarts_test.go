package bench

import (
	"net"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	eventsapi "github.com/containerd/containerd/api/events"
	eventservice "github.com/containerd/containerd/api/services/events/v1"
	"github.com/containerd/containerd/api/types"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// startedAt returns the time of the start that the n-th subscription reports.
func startedAt(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }

// eventServer publishes one start in each subscription, and then ends the subscription. The third subscription fails.
type eventServer struct {
	eventservice.UnimplementedEventsServer
	subscriptions atomic.Int64
}

func (s *eventServer) Subscribe(of *eventservice.SubscribeRequest, to eventservice.Events_SubscribeServer) error {
	n := int(s.subscriptions.Add(1))
	if filters := of.GetFilters(); n > 2 || len(filters) != 1 || filters[0] != `topic=="/tasks/start"` {
		return status.Errorf(codes.InvalidArgument, "subscription %d with the filters %q", n, filters)
	}
	for _, subject := range []proto.Message{&eventsapi.TaskStart{ContainerID: []string{"first", "second"}[n-1]},
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
	return status.Error(codes.Unavailable, "containerd restarts")
}

// A subscription ends when containerd restarts. ProcessStarts then subscribes again. If containerd refuses a
// subscription, the recording ends with an error.
func TestProcessStarts(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	eventservice.RegisterEventsServer(server, &eventServer{})
	go func() { _ = server.Serve(listener) }() // Serve returns an error when the test stops the server
	defer server.Stop()
	connection, err := grpc.NewClient("unix://"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	starts := &ProcessStarts{at: make(map[string]time.Time)}
	err = starts.recordAll(t.Context(), eventservice.NewEventsClient(connection))
	if err == nil || !strings.Contains(err.Error(), "subscription 3") {
		t.Errorf("got the error %v, want the error of the third subscription", err)
	}
	for id, want := range map[string]time.Time{"first": startedAt(1), "second": startedAt(2), "exited": {}} {
		if got := starts.Of(RuntimeCall{container: id}); !got.Equal(want) {
			t.Errorf("the process of the container %s started at %v, want %v", id, got, want)
		}
	}
}
