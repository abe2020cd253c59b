package web

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// askedFrom sends a request from a client address.
func askedFrom(t *testing.T, handler http.Handler, client, path string) int {
	t.Helper()
	response := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	request.RemoteAddr = client
	handler.ServeHTTP(response, request)
	return response.Code
}

// TestDocumentedLimits checks limits in docs/security.md that a test cannot reach in a short time.
func TestDocumentedLimits(t *testing.T) {
	server := newServer(t.Context(), nil, log.New(io.Discard, "", 0))
	for name, limit := range map[string]struct{ got, want time.Duration }{
		"a header": {server.ReadHeaderTimeout, 5 * time.Second}, "a request": {server.ReadTimeout, 10 * time.Second},
		"a response":         {server.WriteTimeout, 30 * time.Second},
		"an idle connection": {server.IdleTimeout, 2 * time.Minute},
	} {
		if limit.got != limit.want {
			t.Errorf("%s may take %s, want %s", name, limit.got, limit.want)
		}
	}
	if server.MaxHeaderBytes != 16<<10 || server.HTTP2.MaxConcurrentStreams != 32 {
		t.Errorf("limits are %d header bytes and %d concurrent requests", server.MaxHeaderBytes,
			server.HTTP2.MaxConcurrentStreams)
	}
}

// No client exceeds its own rate, but all clients together exceed the total rate. The server responds to a client that
// retries once.
func TestRequestFloodOfManyClients(t *testing.T) {
	handler := newLimits(newCounters(nil)).hold(http.NotFoundHandler())
	began, counts := time.Now(), map[int]int{}
	const clients, each = 300, 10
	for range each {
		for i := range clients {
			counts[askedFrom(t, handler, fmt.Sprintf("10.%d.%d.1:999", i/256, i%256), "/")]++
		}
	}
	const least = clients*calmBurst + serverBurst
	most := least + int(time.Since(began).Seconds()*(serverRate+clients*calmRate)) + 1
	if counts[http.StatusNotFound] < least || counts[http.StatusNotFound] > most ||
		counts[http.StatusNotFound]+counts[http.StatusTooManyRequests] != clients*each {
		t.Errorf("responses %v, want %d to %d successes, otherwise 429", counts, least, most)
	}
	if code := askedFrom(t, handler, "10.9.9.9:999", "/"); code != http.StatusNotFound {
		t.Errorf("a scraper got %d after the flood", code)
	}
}

// held fills all slots of a path and then sends one more request.
func held(t *testing.T, handler http.Handler, path string, entered <-chan struct{}, release chan struct{}, slots int) {
	t.Helper()
	var asking sync.WaitGroup
	for i := range slots {
		asking.Go(func() {
			if code := askedFrom(t, handler, fmt.Sprintf("10.0.0.%d:999", i), path); code != http.StatusOK {
				t.Errorf("a request with a slot got %d", code)
			}
		})
	}
	for range slots {
		<-entered
	}
	free := sync.OnceFunc(func() { close(release) })
	asking.Go(func() {
		if code := askedFrom(t, handler, "10.0.1.1:999", path); code != http.StatusServiceUnavailable {
			t.Errorf("the request after %d got %d", slots, code)
		}
		free()
	})
	select {
	case <-release:
	case <-entered:
		t.Errorf("more than %d requests have a slot", slots)
		free()
	}
	asking.Wait()
}

func TestConcurrentRequestLimit(t *testing.T) {
	entered, release := make(chan struct{}, requestsAtOnce+1), make(chan struct{})
	held(t, newLimits(newCounters(nil)).hold(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	})), "/", entered, release, 128)
}

// gatherer is a prometheus.Gatherer whose results the test controls.
type gatherer func() ([]*dto.MetricFamily, error)

func (g gatherer) Gather() ([]*dto.MetricFamily, error) { return g() }

func TestConcurrentScrapeLimit(t *testing.T) {
	entered, release := make(chan struct{}, scrapesAtOnce+1), make(chan struct{})
	config := (&fake{}).config()
	config.Gatherer = gatherer(func() ([]*dto.MetricFamily, error) {
		entered <- struct{}{}
		<-release
		return nil, nil
	})
	held(t, handlerOf(config), "/metrics", entered, release, 4)
}
