package registry

import (
	"path"
	"sync"
	"time"
)

// Access describes one request that the registry served. An image pull consists of several requests. Scenarios use the
// times of these requests as the true times of the pull.
type Access struct {
	Sequence    uint64    `json:"sequence"`
	Method      string    `json:"method"`
	Repository  string    `json:"repository"`
	Kind        string    `json:"kind"`
	Reference   string    `json:"reference"`        // tag or digest in the request
	Client      string    `json:"client,omitempty"` // value of the header User-Agent
	Host        string    `json:"host,omitempty"`   // address to which the client sent the request
	Range       string    `json:"range,omitempty"`
	Status      int       `json:"status"`
	Bytes       int64     `json:"bytes"`
	StartAt     time.Time `json:"start_at"`               // time when the registry started to handle the request
	FirstByteAt time.Time `json:"first_byte_at,omitzero"` // time when the registry wrote the first byte of the body
	// LastByteAt is the time when the registry wrote the last byte of the body. If the body is empty, LastByteAt is the
	// time when the handler returned.
	LastByteAt time.Time `json:"last_byte_at"`
	Failure    string    `json:"failure,omitempty"`
	// Anonymous is true if the registry refused the request because of missing or wrong credentials. If a scenario's
	// rule caused the error response, Anonymous is false.
	Anonymous bool `json:"anonymous,omitempty"`
}

// accessLog contains the latest requests. accessLog is safe for concurrent use.
type accessLog struct {
	mu      sync.Mutex
	entries []Access
	next    uint64
}

// accessLogSize is the maximum number of requests in the log. If the log is full, the registry removes the oldest
// quarter of the log.
const accessLogSize = 8192

func (l *accessLog) add(a Access) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	a.Sequence = l.next
	if len(l.entries) >= accessLogSize {
		l.entries = append(l.entries[:0], l.entries[accessLogSize/4:]...)
	}
	l.entries = append(l.entries, a)
}

// requestsFor returns the requests for repositories that match the pattern. The request that ended first comes first.
func (l *accessLog) requestsFor(pattern string) []Access {
	l.mu.Lock()
	defer l.mu.Unlock()
	found := []Access{}
	for _, a := range l.entries {
		if ok, err := path.Match(pattern, a.Repository); ok && err == nil {
			found = append(found, a)
		}
	}
	return found
}
