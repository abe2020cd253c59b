package web

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func profiling() http.Handler {
	config := (&fake{}).config()
	config.Profiles = true
	return handlerOf(config)
}

func TestProfiles(t *testing.T) {
	handler := profiling()
	for _, path := range []string{"heap", "allocs", "goroutine", "profile?seconds=1"} {
		answer := askLocally(t.Context(), handler, "/debug/pprof/"+path)
		text, err := unpacked(answer.Body.Bytes())
		if answer.Code != http.StatusOK || err != nil || !strings.Contains(text, "/internal/web") &&
			!strings.HasPrefix(path, "profile") {
			t.Errorf("%s: %d, %d bytes, %v", path, answer.Code, answer.Body.Len(), err)
		}
	}
	for path, want := range map[string]int{"cmdline": 404, "symbol": 404, "mutex": 404, "trace": 404,
		"profile?seconds=0": 400, "profile?seconds=61": 400, "profile?seconds=x": 400} {
		if answer := askLocally(t.Context(), handler, "/debug/pprof/"+path); answer.Code != want {
			t.Errorf("%s: %d, want %d: %s", path, answer.Code, want, answer.Body)
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
		answer := askLocally(t.Context(), mux, "/debug/pprof/"+name)
		if answer.Code != http.StatusServiceUnavailable || answer.Header().Get("Retry-After") == "" {
			t.Errorf("during another profile: %d %s", answer.Code, answer.Body)
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
	if answer := askLocally(t.Context(), mux, "/debug/pprof/heap"); answer.Code != http.StatusOK {
		t.Errorf("after it: %d %s", answer.Code, answer.Body)
	}
}

func TestProfilesAreOptInAndLoopbackOnly(t *testing.T) {
	answer := askLocally(t.Context(), handlerOf((&fake{}).config()), "/debug/pprof/heap")
	if answer.Code != http.StatusNotFound || !strings.Contains(decode[problem](t, answer).Reason, "--debug-profiles") {
		t.Errorf("switched off: %d %s", answer.Code, answer.Body)
	}
	for _, path := range []string{"heap", "profile", "x"} {
		answer := httptest.NewRecorder()
		profiling().ServeHTTP(answer,
			httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/debug/pprof/"+path, nil))
		if answer.Code != http.StatusForbidden {
			t.Errorf("%s from elsewhere: %d %s", path, answer.Code, answer.Body)
		}
	}
}
