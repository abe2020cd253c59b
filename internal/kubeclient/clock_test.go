package kubeclient

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestClockReadsTheDateOfResponses also checks responses that refuse a request.
func TestClockReadsTheDateOfResponses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", r.URL.Query().Get("date"))
		w.WriteHeader(http.StatusForbidden)
	}))
	defer server.Close()
	at := func(second int) time.Time { return time.Date(2026, 8, 17, 12, 0, second, 0, time.UTC) }
	clock := NewClock(func() time.Time { return at(30) })
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	config := &rest.Config{Host: server.URL, Transport: transport}
	config.Wrap(clock.read)
	client, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, date := range []string{"Mon, 17 Aug 2026 12:00:25 GMT", "yesterday", "", "Thu, 01 Jan 1970 00:00:00 GMT"} {
		_ = client.Get().Resource("pods").Param("date", date).Do(t.Context()).Error()
	}
	ctx, cancel := context.WithCancel(t.Context())
	var got []timeline.Observation
	cancelAfterFirst := func(_ context.Context, o timeline.Observation) { got = append(got, o); cancel() }
	if err := clock.Run(ctx, cancelAfterFirst); err != nil {
		t.Fatal(err)
	}
	want := timeline.ClockSeen{SentAt: at(30), ArrivedAt: at(30), ControlPlaneAt: at(25)}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if len(clock.readings) != 0 {
		t.Errorf("%d more readings", len(clock.readings))
	}
}

func TestClockNeverDelaysRequests(t *testing.T) {
	clock := NewClock(time.Now)
	transport := clock.read(roundTrip(func(*http.Request) (*http.Response, error) {
		return &http.Response{Header: http.Header{"Date": {"Mon, 17 Aug 2026 12:00:25 GMT"}}}, nil
	}))
	for range 2 * clockReadings {
		if _, err := transport.RoundTrip(nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(clock.readings) != clockReadings {
		t.Errorf("%d readings are queued, want %d", len(clock.readings), clockReadings)
	}
}
