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

// errNoRoom is the error of Write after a response exceeded the memory limit.
var errNoRoom = errors.New("the response exceeds the memory limit")

// bufferedResponse buffers a response until the response is complete. A request releases its slots before the server
// sends the response, so a client that does not read occupies no slot. The handler of the stream calls Flush, which
// sends the buffer. After Flush, writes go directly to the connection. Only one goroutine uses a bufferedResponse.
type bufferedResponse struct {
	http.ResponseWriter // writer of the connection
	responses           *responses
	client              netip.Prefix
	held                int          // reserved memory in bytes; responses.mu guards this field
	readAt              atomic.Int64 // time at which the kernel last took a part of the response, in Unix nanoseconds

	status  int // status of the response; 0 until the handler writes a response
	chunks  [][]byte
	size    int
	direct  bool   // true if writes go directly to the connection
	failure func() // writes an error instead of the discarded response; nil if no response was discarded
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

// extend adds a chunk that doubles the buffer, within limits. If there is not enough memory or the response is too
// large, extend discards the response.
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

// Flush implements http.Flusher.
func (r *bufferedResponse) Flush() { _ = r.FlushError() } // after an error, the next Write fails too

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

// deliver writes the response within deliveryTimeout. deliver stops early if the client stops reading and another
// response needs the memory. deliver ignores errors of the connection, because the client notices these errors.
func (r *bufferedResponse) deliver() {
	if r.direct || r.status == 0 && r.failure == nil {
		return
	}
	control := http.NewResponseController(r.ResponseWriter)
	_ = control.SetWriteDeadline(time.Now().Add(deliveryTimeout)) // an error means that the connection is closed
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

// cut stops the delivery of the response. The caller holds responses.mu, so the request cannot end until the method
// "cut" returns.
func (r *bufferedResponse) cut() {
	// A deadline in the past makes the server close the connection. An error means that the writer does not support
	// deadlines. A writer that does not support deadlines, for example in tests, has no connection.
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Unix(1, 0))
}
