package critest

import (
	"time"

	"github.com/opencontainers/go-digest"
)

// Blob is a blob for containerd's content store.
type Blob struct {
	Digest string // the digest of Data if empty
	Data   []byte // what a read returns
	Size   int64  // the length of Data if 0
	Labels map[string]string
	// CreatedAt and UpdatedAt are when the download completed and when the labels were last
	// written.
	CreatedAt, UpdatedAt time.Time
}

// Ingest is a blob that containerd is writing.
type Ingest struct {
	Ref                  string // e.g. layer-sha256:…
	Offset, Total        int64
	StartedAt, UpdatedAt time.Time
}

// Snapshot is a snapshot for one of containerd's snapshotters.
type Snapshot struct {
	Snapshotter string // overlayfs if empty
	Name        string
	Active      bool // not committed yet
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

// RemoveBlob removes a blob, as containerd's garbage collection does.
func (r *Runtime) RemoveBlob(digest string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.blobs, digest)
}

// PutIngest begins or continues the writing of a blob.
func (r *Runtime) PutIngest(i Ingest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ingests[i.Ref] = i
}

// EndIngest ends the writing of a blob. PutBlob makes the blob complete.
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

// RemoveSnapshot removes a snapshot.
func (r *Runtime) RemoveSnapshot(snapshotter, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.snapshots[snapshotter], name)
}
