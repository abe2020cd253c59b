package kubeclienttest

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Patience is how long a test waits for an expected event.
const Patience = time.Minute

// Begun returns the time at which the clock of each Source starts.
func Begun() time.Time { return time.Date(2026, 8, 17, 12, 0, 0, 250e6, time.UTC) }

// Clock is the agent's clock, which the test advances.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now returns the time on the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock forward.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// Source runs a source under test. Source collects the observations and the health reports of the source under test.
type Source struct {
	Clock   *Clock
	Seen    chan timeline.Observation // capacity 256, more than a test observes
	Reports chan Report               // capacity 1024, more than a test receives
	// Stop stops the source. The channel Finished is closed when the source has stopped. Run sets Stop.
	Stop     context.CancelFunc
	Finished chan struct{}

	t *testing.T
}

// Report is a health report of a source.
type Report struct {
	Up     bool
	Detail string
}

// NewSource returns a Source that has not started.
func NewSource(t *testing.T) *Source {
	return &Source{
		t: t, Clock: &Clock{now: Begun()}, Seen: make(chan timeline.Observation, 256),
		Reports: make(chan Report, 1024), Finished: make(chan struct{}),
	}
}

// Observe receives the observations of the source.
func (s *Source) Observe(ctx context.Context, o timeline.Observation) {
	select {
	case s.Seen <- o:
	case <-ctx.Done():
	}
}

// Report receives the health reports of the source.
func (s *Source) Report(up bool, detail string) { s.Reports <- Report{up, detail} }

// Run runs the source until the test ends or calls Stop.
func (s *Source) Run(run func(context.Context) error) {
	ctx, stop := context.WithCancel(s.t.Context())
	s.Stop = stop
	go func() {
		defer close(s.Finished)
		if err := run(ctx); err != nil {
			s.t.Errorf("Run: %v", err)
		}
	}()
	s.t.Cleanup(func() {
		stop()
		select {
		case <-s.Finished:
		case <-time.After(Patience):
			s.t.Error("the method Run of the tested source did not return in time")
		}
	})
}

// Next returns the next observation. If no observation arrives within Patience, the test fails.
func (s *Source) Next() timeline.Observation {
	s.t.Helper()
	select {
	case o := <-s.Seen:
		return o
	case <-time.After(Patience):
		s.t.Fatal("the tested source sent no observation in time")
		return nil
	}
}

// Nothing (this method) fails the test if an observation has arrived.
func (s *Source) Nothing() {
	s.t.Helper()
	select {
	case o := <-s.Seen:
		s.t.Errorf("unexpected observation %+v", o)
	default:
	}
}

// Until waits for a report with the given status. The detail of the report must contain the given text.
func (s *Source) Until(up bool, text string) {
	s.t.Helper()
	deadline := time.After(Patience)
	for {
		select {
		case r := <-s.Reports:
			if r.Up == up && strings.Contains(r.Detail, text) {
				return
			}
		case <-deadline:
			s.t.Fatalf("received no report with up=%t and %q in time", up, text)
		}
	}
}

// Eventually polls a condition until the condition is true. If the condition stays false for the duration Patience, the
// test fails. The argument "what" describes the condition in the error. Use Eventually only if no channel reports the
// condition.
func Eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(Patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("condition was not met in time: %s", what)
		}
	}
}

// InBackground runs a source until the test calls the returned function.
func InBackground(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// Client calls the function "build" to create a client for the server at a URL.
func Client(t *testing.T, url string, build func(*rest.Config) (rest.Interface, error)) rest.Interface {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client, err := build(&rest.Config{Host: url, Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// RoundTripper responds to requests without a network, so that the fake clock of testing/synctest can advance.
type RoundTripper func(*http.Request) *http.Response

// RoundTrip implements http.RoundTripper.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }
