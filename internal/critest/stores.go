package critest

import (
	"context"
	"regexp"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/opencontainers/go-digest"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Limits of containerd's response messages (plugins/services/content/contentserver/contentserver.go). chunk is the
// maximum number of bytes of a blob in one message. page is the maximum number of blobs in one message.
const (
	chunk = 32 << 10
	page  = 100
)

type contentStore struct {
	contentapi.UnimplementedContentServer
	r *Runtime
}

func (s contentStore) find(ctx context.Context, name string) (Blob, error) {
	if err := inNamespace(ctx); err != nil {
		return Blob{}, err
	}
	if _, err := digest.Parse(name); err != nil {
		return Blob{}, status.Errorf(codes.InvalidArgument, "%q failed validation", name)
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	blob, ok := s.r.blobs[name]
	if !ok {
		return Blob{}, status.Error(codes.NotFound, "no such blob")
	}
	return blob, nil
}

func (s contentStore) Info(ctx context.Context, request *contentapi.InfoRequest) (*contentapi.InfoResponse, error) {
	blob, err := s.find(ctx, request.GetDigest())
	if err != nil {
		return nil, err
	}
	return &contentapi.InfoResponse{Info: blob.info()}, nil
}

func (s contentStore) Read(request *contentapi.ReadContentRequest, stream contentapi.Content_ReadServer) error {
	blob, err := s.find(stream.Context(), request.GetDigest())
	if err != nil {
		return err
	}
	offset := max(0, request.GetOffset())
	if offset > int64(len(blob.Data)) {
		return status.Error(codes.OutOfRange, "read past object length")
	}
	data := blob.Data[offset:]
	if size := request.GetSize(); size > 0 && size < int64(len(data)) {
		data = data[:size]
	}
	for at := 0; at < len(data); at += chunk {
		part := data[at:min(at+chunk, len(data))]
		if err := stream.Send(&contentapi.ReadContentResponse{Offset: int64(at), Data: part}); err != nil {
			return err
		}
	}
	return nil
}

// hasLabel matches a filter for blobs that have a label. The fake content store supports no other filter.
var hasLabel = regexp.MustCompile(`^labels\."([^"]+)"$`)

func (s contentStore) List(request *contentapi.ListContentRequest, stream contentapi.Content_ListServer) error {
	if err := inNamespace(stream.Context()); err != nil {
		return err
	}
	var wanted []string
	for _, filter := range request.GetFilters() {
		m := hasLabel.FindStringSubmatch(filter)
		if m == nil {
			return status.Errorf(codes.InvalidArgument, "unsupported filter %q", filter)
		}
		wanted = append(wanted, m[1])
	}
	s.r.mu.Lock()
	blobs := sortedByKey(s.r.blobs)
	s.r.mu.Unlock()
	response := &contentapi.ListContentResponse{}
	for _, blob := range blobs {
		matched := len(wanted) == 0
		for _, key := range wanted {
			_, ok := blob.Labels[key]
			matched = matched || ok
		}
		if matched {
			response.Info = append(response.Info, blob.info())
		}
		if len(response.Info) == page {
			if err := stream.Send(response); err != nil {
				return err
			}
			response = &contentapi.ListContentResponse{}
		}
	}
	if len(response.Info) == 0 {
		return nil
	}
	return stream.Send(response)
}

func (s contentStore) ListStatuses(
	ctx context.Context, request *contentapi.ListStatusesRequest,
) (*contentapi.ListStatusesResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	if len(request.GetFilters()) > 0 {
		return nil, status.Error(codes.InvalidArgument, "filters are not supported")
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	response := &contentapi.ListStatusesResponse{}
	for _, i := range sortedByKey(s.r.ingests) {
		response.Statuses = append(response.Statuses, &contentapi.Status{
			Ref: i.Ref, Offset: i.Offset, Total: i.Total,
			StartedAt: timestamppb.New(i.StartedAt), UpdatedAt: timestamppb.New(i.UpdatedAt),
		})
	}
	return response, nil
}

func (b Blob) info() *contentapi.Info {
	return &contentapi.Info{
		Digest: b.Digest, Size: b.Size, Labels: b.Labels,
		CreatedAt: timestamppb.New(b.CreatedAt), UpdatedAt: timestamppb.New(b.UpdatedAt),
	}
}

type snapshotStore struct {
	snapshotsapi.UnimplementedSnapshotsServer
	r *Runtime
}

func (s snapshotStore) Stat(
	ctx context.Context, request *snapshotsapi.StatSnapshotRequest,
) (*snapshotsapi.StatSnapshotResponse, error) {
	if err := inNamespace(ctx); err != nil {
		return nil, err
	}
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	names, ok := s.r.snapshots[request.GetSnapshotter()]
	if !ok && request.GetSnapshotter() != "overlayfs" {
		return nil, status.Errorf(codes.InvalidArgument, "snapshotter not loaded: %s", request.GetSnapshotter())
	}
	snapshot, ok := names[request.GetKey()]
	if !ok {
		return nil, status.Error(codes.NotFound, "no such snapshot")
	}
	kind := snapshotsapi.Kind_COMMITTED
	if snapshot.Active {
		kind = snapshotsapi.Kind_ACTIVE
	}
	return &snapshotsapi.StatSnapshotResponse{Info: &snapshotsapi.Info{
		Name: snapshot.Name, Kind: kind, CreatedAt: timestamppb.New(snapshot.CreatedAt), Labels: snapshot.Labels,
	}}, nil
}
