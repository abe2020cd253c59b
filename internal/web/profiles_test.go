package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
)

// askLocally sends a request from the agent's own network namespace.
func askLocally(ctx context.Context, handler http.Handler, path string) *httptest.ResponseRecorder {
	request := httptest.NewRequestWithContext(context.WithValue(ctx, http.LocalAddrContextKey, address("127.0.0.1:1")),
		http.MethodGet, path, nil)
	request.RemoteAddr, request.Host = "127.0.0.1:2", "localhost"
	response := httptest.NewRecorder()
	handler.ServeHTTP(response, request)
	return response
}

func profiling() http.Handler {
	config := (&fake{}).config()
	config.Profiles = true
	return handlerOf(config)
}

func TestProfiles(t *testing.T) {
	handler := profiling()
	// The runtime samples one allocation for each 512 KiB, and the heap profile shows the state after the last
	// collection.
	held := make([]byte, 64<<20)
	defer runtime.KeepAlive(held)
	runtime.GC()
	for _, path := range []string{"heap", "allocs", "goroutine", "profile?seconds=1"} {
		response := askLocally(t.Context(), handler, "/debug/pprof/"+path)
		text, err := unpacked(response.Body.Bytes())
		if response.Code != http.StatusOK || err != nil || !strings.Contains(text, "/internal/web") &&
			!strings.HasPrefix(path, "profile") {
			t.Errorf("%s: %d, %d bytes, %v", path, response.Code, response.Body.Len(), err)
		}
	}
	for path, want := range map[string]int{"cmdline": 404, "symbol": 404, "mutex": 404, "trace": 404,
		"profile?seconds=0": 400, "profile?seconds=61": 400, "profile?seconds=x": 400} {
		if response := askLocally(t.Context(), handler, "/debug/pprof/"+path); response.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, response.Code, want, response.Body)
		}
	}
}

// unpacked decompresses a profile. The protobuf in a profile contains names as plain text.
func unpacked(profile []byte) (string, error) {
	reader, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(reader)
	return string(text), err
}

func TestProfilesRunOneAtATime(t *testing.T) {
	h := newProfiles(Config{Profiles: true, Logger: zap.NewNop()})
	mux := http.NewServeMux()
	mux.Handle("/debug/pprof/{profile}", h)
	h.one <- struct{}{}
	for _, name := range []string{"heap", "profile"} {
		response := askLocally(t.Context(), mux, "/debug/pprof/"+name)
		if response.Code != http.StatusServiceUnavailable || response.Header().Get("Retry-After") == "" {
			t.Errorf("during another profile: %d %s", response.Code, response.Body)
		}
	}
	<-h.one
	// When the client disconnects, the profile ends, so the next client does not have to wait.
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begunAt := time.Now()
	askLocally(ctx, mux, "/debug/pprof/profile?seconds=60")
	if took := time.Since(begunAt); took > 10*time.Second {
		t.Errorf("the profile ran for %s", took)
	}
	if response := askLocally(t.Context(), mux, "/debug/pprof/heap"); response.Code != http.StatusOK {
		t.Errorf("after it: %d %s", response.Code, response.Body)
	}
}

func TestProfilesAreOptInAndLoopbackOnly(t *testing.T) {
	response := askLocally(t.Context(), handlerOf((&fake{}).config()), "/debug/pprof/heap")
	if response.Code != http.StatusNotFound ||
		!strings.Contains(decode[problem](t, response).Reason, "--debug-profiles") {
		t.Errorf("switched off: %d %s", response.Code, response.Body)
	}
	for _, path := range []string{"heap", "profile", "x"} {
		response := httptest.NewRecorder()
		profiling().ServeHTTP(response,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/"+path, nil))
		if response.Code != http.StatusForbidden {
			t.Errorf("%s from elsewhere: %d %s", path, response.Code, response.Body)
		}
	}
}
