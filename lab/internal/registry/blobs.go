package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	upstream "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// blobStore stores blobs as files. go-containerregistry has its own disk store, but that store hashes a blob at every
// request. Hashing a large blob would delay the first byte of the response and distort the measurements. blobStore is
// safe for concurrent use.
type blobStore struct {
	dir   string
	limit int64 // maximum size of all blobs together, in bytes

	mu    sync.Mutex
	owner map[v1.Hash]string // key: hash of a blob; value: repository to which a client last pushed the blob
	size  map[v1.Hash]int64
	total int64
}

func newBlobs(dir string, limit int64) (*blobStore, error) {
	// The registry keeps manifests only in memory, so a restart loses all manifests. Without the manifests, no client
	// requests the blobs of earlier runs.
	if err := os.RemoveAll(dir); err != nil {
		return nil, fmt.Errorf("delete old blob directory: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create blob directory: %w", err)
	}
	return &blobStore{dir: dir, limit: limit, owner: make(map[v1.Hash]string), size: make(map[v1.Hash]int64)}, nil
}

func (b *blobStore) path(h v1.Hash) string { return filepath.Join(b.dir, h.Algorithm+"-"+h.Hex) }

// Stat implements upstream.BlobStatHandler.
func (b *blobStore) Stat(_ context.Context, _ string, h v1.Hash) (int64, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size, ok := b.size[h]
	if !ok {
		return 0, upstream.ErrNotFound
	}
	return size, nil
}

// Get implements upstream.BlobHandler.
func (b *blobStore) Get(_ context.Context, _ string, h v1.Hash) (io.ReadCloser, error) {
	file, err := os.Open(b.path(h))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, upstream.ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	return file, nil
}

// serveRanges responds to a request for one or more ranges of a blob. If the store does not contain the blob,
// serveRanges returns false. The blob handler of go-containerregistry accepts only one range per request, and this
// range must have an end. But containerd resumes downloads with an open-ended range, and lazy snapshotters request
// several ranges at once.
func (b *blobStore) serveRanges(response http.ResponseWriter, request *http.Request, digest string) bool {
	h, err := v1.NewHash(digest)
	if err != nil {
		return false
	}
	file, err := os.Open(b.path(h))
	if err != nil {
		return false
	}
	defer file.Close()
	response.Header().Set("Content-Type", "application/octet-stream")
	response.Header().Set("Docker-Content-Digest", digest)
	http.ServeContent(response, request, "", time.Time{}, file)
	return true
}

// Put implements upstream.BlobPutHandler.
func (b *blobStore) Put(_ context.Context, repository string, h v1.Hash, content io.ReadCloser) error {
	defer content.Close()
	file, err := os.CreateTemp(b.dir, "upload-*")
	if err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	defer os.Remove(file.Name()) // after the rename, this call fails and has no effect
	b.mu.Lock()
	room := b.limit - b.total
	b.mu.Unlock()
	size, err := io.Copy(file, io.LimitReader(content, room+1))
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	if size > room {
		return fmt.Errorf("store blob: the registry would exceed its limit of %d bytes: remove images", b.limit)
	}
	if err := os.Rename(file.Name(), b.path(h)); err != nil {
		return fmt.Errorf("store blob: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total += size - b.size[h]
	b.owner[h], b.size[h] = repository, size
	return nil
}

// forget removes the blobs of all repositories that match the pattern.
func (b *blobStore) forget(pattern string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for h, repository := range b.owner {
		if ok, err := path.Match(pattern, repository); !ok || err != nil {
			continue
		}
		_ = os.Remove(b.path(h))
		b.total -= b.size[h]
		delete(b.owner, h)
		delete(b.size, h)
	}
}
