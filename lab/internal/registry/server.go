package registry

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"strings"
	"time"

	upstream "github.com/google/go-containerregistry/pkg/registry"

	"github.com/podlapse/podlapse/lab/internal/credentials"
)

// Server is the registry with its faults and its log. The method Images serves pulls and pushes. The method Control
// returns the handler with which scenarios set faults and read the log.
type Server struct {
	rules    activeRules
	accesses accessLog
	blobs    *blobStore
	inner    http.Handler
	login    credentials.Login // empty if clients need no credentials
}

// New returns a registry that stores its blobs in dir, up to limit bytes. New first removes all files in dir.
func New(dir string, limit int64) (*Server, error) {
	store, err := newBlobs(dir, limit)
	if err != nil {
		return nil, err
	}
	quiet := log.New(io.Discard, "", 0)
	return &Server{blobs: store, inner: upstream.New(upstream.WithBlobHandler(store), upstream.Logger(quiet))}, nil
}

// Images is the HTTP handler for the registry protocol.
func (s *Server) Images(response http.ResponseWriter, request *http.Request) {
	repository, kind, reference := parsePath(request.URL.Path)
	access := Access{Method: request.Method, Repository: repository, Kind: kind, Reference: reference,
		Client: request.UserAgent(), Host: request.Host, Range: request.Header.Get("Range"), StartAt: time.Now()}
	writer := &faulty{ResponseWriter: response, request: request}
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	if s.admits(request) || reads && isPublic(repository) {
		if reads && kind != KindOther {
			writer.rule, writer.link = s.rules.useRule(repository, kind)
		}
		s.respond(writer, request, kind, reference)
	} else {
		access.Anonymous = true
		writeStatus(writer, http.StatusUnauthorized, "the registry requires a login")
	}
	access.Status, access.Bytes, access.Failure = writer.status, writer.sent, writer.failure
	access.FirstByteAt, access.LastByteAt = writer.firstAt, writer.lastAt
	if access.LastByteAt.IsZero() {
		access.LastByteAt = time.Now()
	}
	s.accesses.add(access)
}

// admits reports whether a request contains the right credentials. If the registry requires no credentials, admits
// returns true.
func (s *Server) admits(request *http.Request) bool {
	username, password, _ := request.BasicAuth()
	return s.login == credentials.Login{} || s.login == credentials.Login{Username: username, Password: password}
}

// isPublic reports whether clients can read a repository without credentials. Pause images must be public, because
// containerd itself pulls these images, without the kubelet's credentials.
func isPublic(repository string) bool { return strings.HasSuffix(repository, "pause") }

func (s *Server) respond(writer *faulty, request *http.Request, kind, reference string) {
	if writer.rule.Stall.Duration > 0 && writer.rule.StallAfterBytes == 0 {
		// go-containerregistry holds a lock while it writes a manifest. A stall during this time would also delay other
		// requests, so the stall must happen before go-containerregistry handles the request.
		writer.stalled = true
		if writer.waitOrDisconnect(writer.rule.Stall.Duration) != nil {
			return
		}
	}
	if status := writer.rule.Status; status != 0 {
		writeStatus(writer, status, "injected by rule")
		return
	}
	if kind == KindBlob && request.Method == http.MethodGet && request.Header.Get("Range") != "" &&
		s.blobs.serveRanges(writer, request, reference) {
		return
	}
	s.inner.ServeHTTP(writer, request)
}

// writeStatus sends an error response. The body has the format of a real registry's error, so that clients report the
// reason.
func writeStatus(response http.ResponseWriter, status int, reason string) {
	codes := map[int]string{http.StatusUnauthorized: "UNAUTHORIZED", http.StatusForbidden: "DENIED",
		http.StatusNotFound: "MANIFEST_UNKNOWN", http.StatusTooManyRequests: "TOOMANYREQUESTS"}
	code, ok := codes[status]
	if !ok {
		code = "UNKNOWN"
	}
	if status == http.StatusUnauthorized {
		response.Header().Set("WWW-Authenticate", `Basic realm="podlapse-lab"`)
	}
	response.Header().Set("Content-Type", "application/json")
	response.WriteHeader(status)
	_ = json.NewEncoder(response).Encode(map[string]any{
		"errors": []map[string]string{{"code": code, "message": reason}}})
}

// parsePath splits a path of the form /v2/REPOSITORY/(manifests|blobs)/REFERENCE.
func parsePath(path string) (repository, kind, reference string) {
	rest, ok := strings.CutPrefix(path, "/v2/")
	if !ok {
		return "", KindOther, ""
	}
	elements := strings.Split(rest, "/")
	if n := len(elements); n >= 3 {
		repository, reference = strings.Join(elements[:n-2], "/"), elements[n-1]
		switch elements[n-2] {
		case "manifests":
			return repository, KindManifest, reference
		case "blobs":
			return repository, KindBlob, reference
		}
	}
	return "", KindOther, ""
}
