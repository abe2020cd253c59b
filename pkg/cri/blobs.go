package cri

import (
	"context"
	_ "crypto/sha256" // go-digest supports only the hash algorithms that are imported
	_ "crypto/sha512"
	"errors"
	"fmt"
	"io"

	contentapi "github.com/containerd/containerd/api/services/content/v1"
	snapshotsapi "github.com/containerd/containerd/api/services/snapshots/v1"
	"github.com/opencontainers/go-digest"
)

// maxBlob is the maximum size, in bytes, of the manifests and configs that the agent reads. Registries accept manifests
// of at most 4 MiB.
const maxBlob = 4 << 20

var (
	errTooLarge = fmt.Errorf("the content is larger than %d bytes", maxBlob)
	errCorrupt  = errors.New("the content does not match the digest")
)

// blobInfo queries containerd's content store. blobInfo returns an error with codes.NotFound if the blob is absent or
// incomplete.
func (c *client) blobInfo(ctx context.Context, blob digest.Digest) (*contentapi.Info, error) {
	response, err := callRuntime(inNamespace(ctx), c, "get blob from containerd", c.content.Info,
		&contentapi.InfoRequest{Digest: blob.String()})
	return response.GetInfo(), err
}

// readBlob reads a complete blob and verifies its digest. The digest must be valid. readBlob returns errTooLarge
// if the blob is larger than maxBlob, and errCorrupt if the data does not match the digest.
func (c *client) readBlob(ctx context.Context, blob digest.Digest) ([]byte, error) {
	ctx, cancel := context.WithTimeout(inNamespace(ctx), c.timeout) // the end of this context also ends the stream
	defer cancel()
	stream, err := c.content.Read(ctx, &contentapi.ReadContentRequest{Digest: blob.String(), Size: maxBlob + 1})
	if err != nil {
		return nil, fmt.Errorf("read blob from containerd: %w", err)
	}
	var data []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read blob from containerd: %w", err)
		}
		if len(data)+len(part.GetData()) > maxBlob {
			return nil, fmt.Errorf("read blob %s from containerd: %w", blob, errTooLarge)
		}
		data = append(data, part.GetData()...)
	}
	if blob.Algorithm().FromBytes(data) != blob {
		return nil, fmt.Errorf("read blob %s from containerd: %w", blob, errCorrupt)
	}
	return data, nil
}

// listBlobs calls the function "visit" for each complete blob that matches one of the filters, in no particular order.
func (c *client) listBlobs(ctx context.Context, filters []string, visit func(*contentapi.Info)) error {
	ctx, cancel := context.WithTimeout(inNamespace(ctx), c.timeout)
	defer cancel()
	stream, err := c.content.List(ctx, &contentapi.ListContentRequest{Filters: filters})
	if err != nil {
		return fmt.Errorf("list containerd's blobs: %w", err)
	}
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("list containerd's blobs: %w", err)
		}
		for _, info := range part.GetInfo() {
			visit(info)
		}
	}
}

// listIngests returns the blobs that containerd is writing.
func (c *client) listIngests(ctx context.Context) ([]*contentapi.Status, error) {
	response, err := callRuntime(inNamespace(ctx), c, "list running downloads of containerd", c.content.ListStatuses,
		&contentapi.ListStatusesRequest{})
	return response.GetStatuses(), err
}

// snapshotInfo returns the properties of one of containerd's snapshots. The error has codes.NotFound if the snapshotter
// has no snapshot with this name.
func (c *client) snapshotInfo(ctx context.Context, snapshotter, name string) (*snapshotsapi.Info, error) {
	response, err := callRuntime(inNamespace(ctx), c, "get snapshot from containerd", c.snapshots.Stat,
		&snapshotsapi.StatSnapshotRequest{Snapshotter: snapshotter, Key: name})
	return response.GetInfo(), err
}
