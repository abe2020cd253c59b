package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/podlapse/podlapse/internal/live/livetest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// running starts a server with a real listener, which runs until the test ends.
func running(t *testing.T, config Config) string {
	t.Helper()
	server, err := Listen(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return server.Addr().String()
}

// from connects as a client with its own loopback address.
func from(t *testing.T, client, server string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}, Timeout: 10 * time.Second}
	conn, err := dialer.DialContext(t.Context(), "tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// say sends text and reads the answer, if there is one.
func say(t *testing.T, conn net.Conn, text string) (status int, body string, err error) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		return 0, "", err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if errors.Is(err, syscall.ECONNRESET) { // the server did not read everything
		err = nil
	}
	return response.StatusCode, string(content), err
}

// alive checks that a probe is answered within a second, the kubelet's default timeout.
func alive(t *testing.T, client, server string) {
	t.Helper()
	began := time.Now()
	status, _, err := say(t, from(t, client, server),
		"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
	if took := time.Since(began); status != http.StatusOK || err != nil || took > time.Second {
		t.Errorf("probe after %s: %d, %v", took, status, err)
	}
}

func TestInvalidRequests(t *testing.T) {
	address := running(t, (&fake{}).config())
	for name, test := range map[string]struct {
		request string
		status  int
		body    string
	}{
		"a header that is too long": {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: " +
			strings.Repeat("x", 2*maxHeaderBytes) + "\r\n\r\n", 431, ""},
		"a path that is too long": {"GET /" + strings.Repeat("x", 2*maxHeaderBytes) +
			" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 431, ""},
		"many headers": {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n" +
			strings.Repeat("X: y\r\n", maxHeaderBytes) + "\r\n", 431, ""},
		"a body that is never sent": {
			"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1073741824\r\n\r\nx", 413, "body_not_allowed"},
		"a body in chunks": {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: " +
			"chunked\r\n\r\nffffffff\r\nx", 413, "body_not_allowed"},
		"a body with Expect": {
			"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n", 413,
			"body_not_allowed"},
		"a body with another method": {
			"PUT /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1073741824\r\n\r\nx", 405,
			"method_not_allowed"},
		"no request":              {"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", 400, ""},
		"no version":              {"GET /metrics\r\n\r\n", 400, ""},
		"an unknown HTTP version": {"GET /metrics HTTP/9.0\r\nHost: 127.0.0.1\r\n\r\n", 505, ""},
		"no host":                 {"GET /metrics HTTP/1.1\r\n\r\n", 400, ""},
		"two hosts":               {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: b\r\n\r\n", 400, ""},
		"a zero in a header":      {"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: \x00\r\n\r\n", 400, ""},
		"contradictory lengths": {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: " +
			"2\r\n\r\n", 400, ""},
		"a negative length":   {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n", 400, ""},
		"an unknown encoding": {"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: zip\r\n\r\n", 501, ""},
		"an upgrade": {"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: " +
			"websocket\r\n\r\n", 200, ""},
		"a proxy's request": {"GET http://elsewhere.example/none HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 403,
			"--web-hosts"},
		"a path with ..": {"GET /api/v1/../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404,
			"no such path"},
		"a path with encoded slashes": {"GET /api/v1/pods/..%2f..%2fetc/passwd HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
			404, "no pod ../../etc/passwd"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Now()
			status, body, err := say(t, from(t, "127.0.0.1", address), test.request)
			if status != test.status || !strings.Contains(body, test.body) || err != nil {
				t.Errorf("%d %q, %v, want %d %q", status, body, err, test.status, test.body)
			}
			if took := time.Since(began); took > headerTimeout/2 {
				t.Errorf("refused after %s", took)
			}
		})
	}
	alive(t, "127.0.0.1", address)
}

// TestSlowClientsCostLittleAndBlockNoOthers has more clients than places open all the connections they can get, send
// as much of a header as the server accepts, and then stop.
func TestSlowClientsCostLittleAndBlockNoOthers(t *testing.T) {
	address := running(t, (&fake{}).config())
	alive(t, "127.0.0.1", address)
	before := heap()
	slow := "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + strings.Repeat("x", maxHeaderBytes-1024)
	clients := []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"}
	conns := map[string][]net.Conn{}
	for _, client := range clients {
		for range 2 * maxPerClient {
			conn := from(t, client, address)
			_, _ = io.WriteString(conn, slow) // may be closed already
			conns[client] = append(conns[client], conn)
		}
	}
	began := time.Now()
	alive(t, "127.0.0.1", address)
	if grown := heap() - before; grown > maxConnections*64<<10 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
	all := 0
	for _, client := range clients {
		open := 0
		for _, conn := range conns[client] {
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond)) // a closed connection was closed long ago
			if _, err := conn.Read(make([]byte, 1)); isTimeout(err) {
				open++
			}
		}
		if fairly := maxConnections / len(clients); open < fairly-1 || open > maxPerClient {
			t.Errorf("%s has %d connections open, want %d or so", client, open, fairly)
		}
		all += open
	}
	if all != maxConnections-1 { // one was closed for the probe
		t.Errorf("%d connections are open, want %d", all, maxConnections-1)
	}
	for _, conn := range slices.Concat(slices.Collect(maps.Values(conns))...) {
		_ = conn.SetReadDeadline(began.Add(2 * headerTimeout))
		if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
			t.Fatalf("still open after %s", time.Since(began))
		}
	}
	if took := time.Since(began); took < headerTimeout/2 {
		t.Errorf("closed after %s, before a slow network could send a header", took)
	}
}

// After a refusal, a client's connection may stay open for two minutes at no cost to the client.
func TestIdleClientsBlockNoOthers(t *testing.T) {
	config := (&fake{}).config()
	config.Access = func(context.Context, string, string, string) (Verdict, error) { return Unknown, nil }
	address := running(t, config)
	for _, client := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"} {
		for range maxPerClient {
			status, _, err := say(t, from(t, client, address), "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			if status != http.StatusUnauthorized {
				t.Fatalf("%d, %v", status, err)
			}
		}
	}
	for range 3 { // the kubelet gives up after three
		alive(t, "127.0.0.1", address)
	}
}

// Beyond its guaranteed connections, a client that has no more than the others does not displace theirs.
func TestEveryClientHasItsShare(t *testing.T) {
	address := running(t, (&fake{}).config())
	const each = maxConnections / 64
	hold := func(client string) net.Conn {
		conn := from(t, client, address)
		if status, _, err := say(t, conn, "GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"); status != http.StatusOK {
			t.Logf("%s: %d, %v", client, status, err)
		}
		return conn
	}
	var held []net.Conn
	for i := range 64 {
		for range each {
			held = append(held, hold(fmt.Sprintf("127.0.1.%d", i+1)))
		}
	}
	for range 3 * each {
		hold("127.0.2.1")
	}
	closed := 0
	for _, conn := range held {
		_ = conn.SetReadDeadline(time.Now().Add(5 * time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); !isTimeout(err) {
			closed++
		}
	}
	if closed < 1 || closed > guaranteedPerClient { // of the six that it opened
		t.Errorf("%d connections were closed for one client, want 1 to %d", closed, guaranteedPerClient)
	}
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestRequestFlood expects 429 above the rate limit of one client, while other clients and probes are answered.
func TestRequestFlood(t *testing.T) {
	address := running(t, (&fake{}).config())
	before := heap()
	const asked = 3 * clientBurst
	began := time.Now()
	counts := flood(t, "127.0.0.2", address, asked, "GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
	most := clientBurst + int(time.Since(began).Seconds()*clientRate) + 1
	if counts[200] < clientBurst || counts[200] > most || counts[200]+counts[429] != asked {
		t.Errorf("answers %v, want %d to %d successes, otherwise 429", counts, clientBurst, most)
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

// flood sends many requests over one connection and counts the answers by status.
func flood(t *testing.T, client, server string, times int, request string) map[int]int {
	t.Helper()
	conn := from(t, client, server)
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
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

// Each token is made up and has the maximum length.
func TestTokenFlood(t *testing.T) {
	config := (&fake{}).config()
	var asked atomic.Int64
	config.Access = func(_ context.Context, _, _, _ string) (Verdict, error) {
		asked.Add(1)
		return Unknown, nil
	}
	address := running(t, config)
	before := heap()
	token := strings.Repeat("x", maxHeaderBytes-1024)
	counts := flood(t, "127.0.0.2", address, 2*clientBurst,
		"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+token+"\r\n\r\n")
	if counts[401] < clientBurst || counts[429] == 0 || counts[401]+counts[429] != 2*clientBurst ||
		asked.Load() != int64(counts[401]) {
		t.Errorf("answers %v, but %d tokens were reviewed", counts, asked.Load())
	}
	if grown := heap() - before; grown > 4<<20 {
		t.Errorf("the heap has grown by %d KiB", grown>>10)
	}
}

// TestConcurrentExpensiveRequests sends more requests for a snapshot than may wait for it.
func TestConcurrentExpensiveRequests(t *testing.T) {
	config := (&fake{}).config()
	entered, release := make(chan struct{}, snapshotsAtOnce+1), make(chan struct{})
	config.Timelines = func(context.Context) ([]timeline.Timeline, error) {
		entered <- struct{}{}
		<-release
		return nil, nil
	}
	address := running(t, config)
	const request = "GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
	answers := make(chan string, snapshotsAtOnce+1)
	for range snapshotsAtOnce {
		conn := from(t, "127.0.0.1", address)
		go func() {
			status, _, err := say(t, conn, request)
			answers <- fmt.Sprint(status, err)
		}()
	}
	for range snapshotsAtOnce {
		<-entered
	}
	if status, body, err := say(t, from(t, "127.0.0.1", address), request); status != 503 ||
		!strings.Contains(body, "busy") || err != nil {
		t.Errorf("one more: %d %s, %v", status, body, err)
	}
	alive(t, "127.0.0.1", address)
	waits := from(t, "127.0.0.1", address) // it is accepted because another request ends in time
	go func() {
		status, _, err := say(t, waits, request)
		answers <- fmt.Sprint(status, err)
	}()
	time.Sleep(snapshotPatience / 2)
	close(release)
	for range snapshotsAtOnce + 1 {
		if got := <-answers; got != "200 <nil>" {
			t.Errorf("a request that waited got %s", got)
		}
	}
}

// TestStreamsLeaveRoomForRequests has clients open as many streams as they can get: requests of others and their own
// are still answered.
func TestStreamsLeaveRoomForRequests(t *testing.T) {
	c := livetest.New()
	config := (&fake{}).config()
	config.API.Live = c.Hub
	address := running(t, config)
	const stream, list = "GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
		"GET /api/v1/pods HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
	view := func(client string) (*http.Response, net.Conn) {
		conn := from(t, client, address)
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		if _, err := io.WriteString(conn, stream); err != nil {
			t.Fatal(err)
		}
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // an endless body is not drained
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
		if status, body, err := say(t, from(t, client, address), list); status != http.StatusOK || err != nil {
			t.Errorf("a list for %s with its streams open: %d %s, %v", client, status, body, err)
		}
	}
	if response, _ := view("127.0.0.4"); response.StatusCode != http.StatusServiceUnavailable { // over the total limit
		t.Errorf("viewer over the total limit got %s", response.Status)
	}
	const refused = "# HELP podlapse_stream_refused_total Viewers refused because there were too many, in total or " +
		"from one address.\n" +
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
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
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
