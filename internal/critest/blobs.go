package critest

import (
	"time"

	"github.com/opencontainers/go-digest"
)

// Blob is a blob for containerd's content store.
type Blob struct {
	Digest string // digest of the blob; if empty, the digest of Data
	Data   []byte // content that Read returns
	Size   int64  // size in bytes; if 0, the length of Data
	Labels map[string]string
	// CreatedAt is the time at which the download completed. UpdatedAt is the time of the last write to the labels.
	CreatedAt, UpdatedAt time.Time
}

// Ingest is a blob that containerd is writing.
type Ingest struct {
	Ref                  string // reference of the ingest, for example layer-sha256:…
	Offset, Total        int64
	StartedAt, UpdatedAt time.Time
}

// Snapshot is a snapshot for one of containerd's snapshotters.
type Snapshot struct {
	Snapshotter string // name of the snapshotter; empty means overlayfs
	Name        string
	Active      bool // the snapshot is not committed yet
	CreatedAt   time.Time
	Labels      map[string]string
}

// PutBlob adds or replaces a blob and returns its digest.
func (r *Runtime) PutBlob(b Blob) string {
	if b.Digest == "" {
		b.Digest = digest.FromBytes(b.Data).String()
	}
	if b.Size == 0 {
		b.Size = int64(len(b.Data))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.blobs[b.Digest] = b
	return b.Digest
}

// RemoveBlob removes a blob, like containerd's garbage collection.
func (r *Runtime) RemoveBlob(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.blobs, digest)
}

// PutIngest starts the write of a blob, or updates its progress.
func (r *Runtime) PutIngest(i Ingest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ingests[i.Ref] = i
}

// EndIngest removes an ingest. The test must call PutBlob to add the complete blob.
func (r *Runtime) EndIngest(ref string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.ingests, ref)
}

// PutSnapshot adds or replaces a snapshot.
func (r *Runtime) PutSnapshot(s Snapshot) {
	if s.Snapshotter == "" {
		s.Snapshotter = "overlayfs"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.snapshots[s.Snapshotter] == nil {
		r.snapshots[s.Snapshotter] = map[string]Snapshot{}
	}
	r.snapshots[s.Snapshotter][s.Name] = s
}

// RemoveSnapshot removes a snapshot from the store of the given snapshotter.
func (r *Runtime) RemoveSnapshot(snapshotter, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.snapshots[snapshotter], name)
}
