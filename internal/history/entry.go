package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Entry describes one deleted pod. An Entry contains the compressed record of the pod. An Entry also contains
// uncompressed fields for lists and filters. An Entry never changes.
type Entry struct {
	Namespace, Name, UID string
	State                timeline.State
	Total                time.Duration
	Quality              api.Quality
	Pulled               bool // true if the pod pulled an image: see imagepull.IsPull

	createdAt, settledAt, goneAt int64  // Unix nanoseconds
	packed                       []byte // compressed text: a line with the labels, then the record
}

// overhead is the memory of an entry without its texts. The memory consists of three parts: the struct, its pointer in
// the history's slice, and the rounding of the allocator.
const overhead = int(unsafe.Sizeof(Entry{})) + 8 + 48

func (e *Entry) size() int {
	return overhead + len(e.Namespace) + len(e.Name) + len(e.UID) + cap(e.packed)
}

// CreatedAt returns the creation time of the pod.
func (e *Entry) CreatedAt() time.Time { return time.Unix(0, e.createdAt).UTC() }

// SettledAt returns the time when the start-up ended (timeline.Timeline.SettledAt).
func (e *Entry) SettledAt() time.Time { return time.Unix(0, e.settledAt).UTC() }

// GoneAt returns the time when the agent saw the deletion of the pod's object.
func (e *Entry) GoneAt() time.Time { return time.Unix(0, e.goneAt).UTC() }

func newEntry(t timeline.Timeline, goneAt time.Time) (*Entry, error) {
	record := api.NewRecord(t)
	record.GoneAt = api.InstantOf(goneAt)
	text, err := api.EncodeLine(record)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	packed, err := pack(append([]byte(t.Labels+"\n"), text...)) // labels contain no line break
	if err != nil {
		return nil, fmt.Errorf("compress record: %w", err)
	}
	return &Entry{
		Namespace: t.Namespace, Name: t.Name, UID: t.UID, State: t.State, Total: t.Total,
		Quality: api.QualityOf(t), Pulled: pulled(t),
		createdAt: t.CreatedAt.UnixNano(), settledAt: t.SettledAt.UnixNano(), goneAt: goneAt.UnixNano(), packed: packed,
	}, nil
}

func pulled(t timeline.Timeline) bool {
	return slices.ContainsFunc(slices.Concat(t.Pulls, t.EphemeralPulls), func(p timeline.Pull) bool {
		return imagepull.IsPull(p.Outcome, p.RequestedAt, p.StartedAt, p.FinishedAt)
	})
}

// JSON returns the uncompressed record and the pod's labels. The labels have the same format as timeline.Pod.Labels.
func (e *Entry) JSON() (record []byte, labels string, err error) {
	text, err := unpack(e.packed)
	if err != nil {
		return nil, "", fmt.Errorf("decompress record of %s/%s: %w", e.Namespace, e.Name, err)
	}
	first, record, ok := bytes.Cut(text, []byte("\n"))
	if !ok {
		return nil, "", fmt.Errorf("decompress record of %s/%s: the decompressed text contains no record", e.Namespace,
			e.Name)
	}
	return record, string(first), nil
}

// Record returns the decoded record and the pod's labels.
func (e *Entry) Record() (record api.Record, labels string, err error) {
	text, labels, err := e.JSON()
	if err != nil {
		return record, "", err
	}
	if err := json.Unmarshal(text, &record); err != nil {
		return record, "", fmt.Errorf("read record of %s/%s: %w", e.Namespace, e.Name, err)
	}
	return record, labels, nil
}
