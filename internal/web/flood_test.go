package web

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/internal/live/livetest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestRequestFlood expects status 429 above the rate limit of one client. The server still responds other clients
// and probes.
func TestRequestFlood(t *testing.T) {
	address := startServer(t, (&fake{}).config())
	before := heap()
	const asked = 3 * clientBurst
	began := time.Now()
	counts := flood(t, "127.0.0.2", address, asked, "GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	most := clientBurst + int(time.Since(began).Seconds()*clientRate) + 1
	if counts[200] < clientBurst || counts[200] > most || counts[200]+counts[429] != asked {
		t.Errorf("responses %v, want %d to %d successes, otherwise 429", counts, clientBurst, most)
	}
	alive(t, "127.0.0.2", address)
	others := flood(t, "127.0.0.3", address, 10, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if others[200] != 10 {
		t.Errorf("another client got %v", others)
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
}

// flood sends many requests over one connection and counts the responses by status.
func flood(t *testing.T, client, server string, times int, request string) map[int]int {
	t.Helper()
	conn := connectFrom(t, client, server)
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	reader, counts := bufio.NewReader(conn), map[int]int{}
	for range times {
		if _, err := io.WriteString(conn, request); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if (response.StatusCode == 429) != (response.Header.Get("Retry-After") != "") {
			t.Errorf("%d with Retry-After %q", response.StatusCode, response.Header.Get("Retry-After"))
		}
		counts[response.StatusCode]++
	}
	return counts
}

// TestTokenFlood sends invented tokens of the maximum length.
func TestTokenFlood(t *testing.T) {
	config := (&fake{}).config()
	var asked atomic.Int64
	config.Access = func(_ context.Context, _, _, _ string) (Verdict, error) {
		asked.Add(1)
		return Unknown, nil
	}
	address := startServer(t, config)
	before := heap()
	token := strings.Repeat("x", maxHeaderBytes-1024)
	counts := flood(t, "127.0.0.2", address, 2*clientBurst,
		"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	if counts[401] < clientBurst || counts[429] == 0 || counts[401]+counts[429] != 2*clientBurst ||
		asked.Load() != int64(counts[401]) {
		t.Errorf("responses %v, but %d tokens were reviewed", counts, asked.Load())
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
}

// TestConcurrentExpensiveRequests sends more snapshot requests than the server has slots.
func TestConcurrentExpensiveRequests(t *testing.T) {
	config := (&fake{}).config()
	entered, release := make(chan struct{}, snapshotsAtOnce+1), make(chan struct{})
	config.Timelines = func(context.Context) ([]timeline.Timeline, error) {
		entered <- struct{}{}
		<-release
		return nil, nil
	}
	address := startServer(t, config)
	const request = "GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
	responses := make(chan string, snapshotsAtOnce+1)
	for range snapshotsAtOnce {
		conn := connectFrom(t, "127.0.0.1", address)
		go func() {
			status, _, err := say(t, conn, request)
			responses <- fmt.Sprint(status, err)
		}()
	}
	for range snapshotsAtOnce {
		<-entered
	}
	if status, body, err := say(t, connectFrom(t, "127.0.0.1", address), request); status != 503 ||
		!strings.Contains(body, "busy") || err != nil {
		t.Errorf("one more: %d %s, %v", status, body, err)
	}
	alive(t, "127.0.0.1", address)
	// The server accepts this request because another request ends in time.
	waits := connectFrom(t, "127.0.0.1", address)
	go func() {
		status, _, err := say(t, waits, request)
		responses <- fmt.Sprint(status, err)
	}()
	time.Sleep(snapshotPatience / 2)
	close(release)
	for range snapshotsAtOnce + 1 {
		if got := <-responses; got != "200 <nil>" {
			t.Errorf("a request that waited got %s", got)
		}
	}
}

// In TestStreamsLeaveRoomForRequests, clients open as many streams as possible. The server still responds to requests
// of these clients and of other clients.
func TestStreamsLeaveRoomForRequests(t *testing.T) {
	c := livetest.New()
	config := (&fake{}).config()
	config.API.Live = c.Hub
	address := startServer(t, config)
	const stream, list = "GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
	view := func(client string) (*http.Response, net.Conn) {
		conn := connectFrom(t, client, address)
		_ = conn.SetDeadline(time.Now().Add(time.Minute))
		if _, err := io.WriteString(conn, stream); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // the body is endless, so the test does not read the remaining body
			_ = conn.Close()
			_ = response.Body.Close()
		})
		return response, conn
	}
	var viewers []net.Conn
	for _, client := range []string{"127.0.0.2", "127.0.0.3"} {
		for n := range viewersPerClient {
			response, conn := view(client)
			if response.StatusCode != http.StatusOK {
				t.Fatalf("viewer %d of %s: %s", n, client, response.Status)
			}
			viewers = append(viewers, conn)
		}
		response, _ := view(client)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") != "30" {
			t.Errorf("viewer over the limit of %s got %s", client, response.Status)
		}
		if status, body, err := say(t, connectFrom(t, client, address), list); status != http.StatusOK || err != nil {
			t.Errorf("a list for %s with its streams open: %d %s, %v", client, status, body, err)
		}
	}
	if response, _ := view("127.0.0.4"); response.StatusCode != http.StatusServiceUnavailable { // over the total limit
		t.Errorf("viewer over the total limit got %s", response.Status)
	}
	const refused = "# HELP podlapse_stream_refused_total Refused requests for the stream of the agent's API. The " +
		"agent refuses a request if too many viewers (clients) are connected, in total or from one address.\n" +
		"# TYPE podlapse_stream_refused_total counter\npodlapse_stream_refused_total 3\n"
	want := strings.NewReader(refused)
	if err := testutil.GatherAndCompare(c.Registry, want, "podlapse_stream_refused_total"); err != nil {
		t.Error(err)
	}
	counts := flood(t, "127.0.0.4", address, 10, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	if counts[200] != 10 {
		t.Errorf("a scraper got %v", counts)
	}
	alive(t, "127.0.0.2", address)
	_ = viewers[0].Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		response, conn := view("127.0.0.2")
		if response.StatusCode == http.StatusOK {
			break
		}
		_ = conn.Close()
		if time.Now().After(deadline) {
			t.Fatal("the place of a viewer that disconnected is not free")
		}
	}
}
