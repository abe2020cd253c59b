package web

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startServer starts a server with a real listener. The server runs until the test ends.
func startServer(t *testing.T, config Config) string {
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

// connectFrom connects as a client with its own loopback address.
func connectFrom(t *testing.T, client, server string) net.Conn {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}, Timeout: time.Minute}
	conn, err := dialer.DialContext(t.Context(), "tcp", server)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// say sends a text and reads the response if the server responds.
func say(t *testing.T, conn net.Conn, text string) (status int, body string, err error) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
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

// alive checks that the server responds to a probe within a second, the kubelet's default timeout.
func alive(t *testing.T, client, server string) {
	t.Helper()
	began := time.Now()
	status, _, err := say(t, connectFrom(t, client, server),
		"GET /livez HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n")
	if took := time.Since(began); status != http.StatusOK || err != nil || took > time.Second {
		t.Errorf("probe after %s: %d, %v", took, status, err)
	}
}

func TestInvalidRequests(t *testing.T) {
	address := startServer(t, (&fake{}).config())
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
			status, body, err := say(t, connectFrom(t, "127.0.0.1", address), test.request)
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

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
