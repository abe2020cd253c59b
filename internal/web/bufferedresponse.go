package web

import (
	"errors"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// deliveryTimeout is the maximum time for a client to read a response. deliveryTimeout equals Prometheus's default
// scrape timeout.
const deliveryTimeout = 10 * time.Second

const (
	firstChunk = 4 << 10
	largeChunk = 64 << 10
)

// errNoRoom is the error that Write and FlushError return after a response exceeded a memory limit.
var errNoRoom = errors.New("the response exceeds the memory limit")

// bufferedResponse buffers a response until the response is complete. Slots limit the number of concurrent requests. A
// request releases its slots before the server sends the response. So a client that does not read its response occupies
// no slot. The handler of the stream calls Flush to send the buffer early. After Flush, writes go directly to the
// connection. Only one goroutine uses a bufferedResponse.
type bufferedResponse struct {
	http.ResponseWriter // writer of the connection
	responses           *responses
	client              netip.Prefix
	held                int          // reserved memory in bytes; responses.mu guards this field
	readAt              atomic.Int64 // time of the last successful write of a part, in Unix nanoseconds

	status  int // status of the response; 0 until the handler writes a response
	chunks  [][]byte
	size    int
	direct  bool   // true if writes go directly to the connection
	failure func() // writes an error response, if the response was discarded; otherwise nil
}

// Unwrap lets http.ResponseController reach the connection's deadlines.
func (r *bufferedResponse) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (r *bufferedResponse) WriteHeader(status int) {
	if r.direct {
		r.ResponseWriter.WriteHeader(status)
		return
	}
	if r.status == 0 {
		r.status = status
	}
}

// Write implements http.ResponseWriter.
func (r *bufferedResponse) Write(p []byte) (int, error) {
	if r.direct {
		return r.ResponseWriter.Write(p)
	}
	if r.status == 0 {
		r.status = http.StatusOK
	}
	written := 0
	for len(p) > 0 {
		if r.failure != nil {
			return written, errNoRoom
		}
		last := len(r.chunks) - 1
		if last < 0 || len(r.chunks[last]) == cap(r.chunks[last]) {
			r.extend()
			continue
		}
		chunk := r.chunks[last]
		n := copy(chunk[len(chunk):cap(chunk)], p)
		r.chunks[last] = chunk[:len(chunk)+n]
		r.size += n
		written += n
		p = p[n:]
	}
	return written, nil
}

// extend adds a chunk to the buffer. The chunk is as large as the buffer, but at least firstChunk and at most
// largeChunk. The chunk is smaller if the response would otherwise exceed maxResponse. If there is not enough memory or
// the response is too large, extend discards the response.
func (r *bufferedResponse) extend() {
	length := min(max(r.size, firstChunk), largeChunk, maxResponse-r.size)
	switch {
	case length <= 0:
		r.fail(droppedLarge, http.StatusInternalServerError, "too_large",
			"the response exceeds 8 MiB: accept gzip, or request less data, for example one namespace")
	case !r.responses.grow(r, length):
		r.fail(droppedResponse, http.StatusServiceUnavailable, "busy", "too many responses in progress: try again")
	default:
		r.chunks = append(r.chunks, make([]byte, 0, length))
	}
}

func (r *bufferedResponse) fail(why dropped, status int, word, reason string) {
	r.responses.dropped.count(why)
	r.chunks, r.size = nil, 0
	r.responses.leave(r)
	r.failure = func() {
		for _, name := range []string{"Content-Encoding", "Content-Length", "Content-Disposition", "ETag"} {
			r.Header().Del(name)
		}
		r.Header().Set("Cache-Control", "no-store")
		if status == http.StatusServiceUnavailable {
			r.Header().Set("Retry-After", "1")
		}
		writeError(r.ResponseWriter, status, word, reason)
	}
}

// Flush implements http.Flusher. Flush ignores an error, because the next Write also returns an error.
func (r *bufferedResponse) Flush() { _ = r.FlushError() }

// FlushError sends the buffer. After FlushError, writes go directly to the connection.
func (r *bufferedResponse) FlushError() error {
	if !r.direct {
		if r.failure != nil {
			return errNoRoom
		}
		r.direct = true
		if r.status != 0 {
			r.ResponseWriter.WriteHeader(r.status)
		}
		err := r.writeChunks()
		r.chunks = nil
		r.responses.leave(r)
		if err != nil {
			return err
		}
	}
	return http.NewResponseController(r.ResponseWriter).Flush()
}

func (r *bufferedResponse) writeChunks() error {
	for _, chunk := range r.chunks {
		for part := range slices.Chunk(chunk, writtenAtOnce) {
			if _, err := r.ResponseWriter.Write(part); err != nil {
				return err
			}
			r.readAt.Store(time.Now().UnixNano())
		}
	}
	return nil
}

// deliver sends the response, and stops after deliveryTimeout. If the client stops reading and another response needs
// the memory, deliver stops early. deliver ignores errors of the connection, because the client notices these errors.
func (r *bufferedResponse) deliver() {
	if r.direct || r.status == 0 && r.failure == nil {
		return
	}
	control := http.NewResponseController(r.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(deliveryTimeout)) // fails only without an open connection
	r.responses.addResponse(r)
	defer r.responses.leave(r)
	if r.failure != nil {
		r.failure()
		_ = control.Flush()
		return
	}
	header := r.Header()
	if r.size > 0 && header.Get("Content-Length") == "" {
		header.Set("Content-Length", strconv.Itoa(r.size))
	}
	r.ResponseWriter.WriteHeader(r.status)
	if err := r.writeChunks(); err != nil {
		return
	}
	if err := control.Flush(); err == nil && r.status < http.StatusBadRequest && r.size > 0 {
		r.responses.readers.Of(r.client).readAt.Store(time.Now().UnixNano())
	}
}

// cut stops the delivery of the response. The caller holds the lock responses.mu. A request needs this lock to end, so
// the request cannot end until the method "cut" returns.
func (r *bufferedResponse) cut() {
	// A deadline in the past makes the server close the connection. SetWriteDeadline fails only without an open
	// connection, for example in tests.
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
}
