package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// In TestSlowClientsCostLittleAndBlockNoOthers, many clients open as many connections as possible. Each client
// sends as much of a header as the server accepts, and then stops.
func TestSlowClientsCostLittleAndBlockNoOthers(t *testing.T) {
	address := startServer(t, (&fake{}).config())
	alive(t, "127.0.0.1", address)
	before := heap()
	slow := "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: " + strings.Repeat("x", maxHeaderBytes-1024)
	clients := []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5", "127.0.0.6"}
	conns := map[string][]net.Conn{}
	for _, client := range clients {
		for range 2 * maxPerClient {
			conn := connectFrom(t, client, address)
			_, _ = io.WriteString(conn, slow) // the connection can already be closed
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
			if stillOpen(t, conn) {
				open++
			}
		}
		if fairly := maxConnections / len(clients); open < fairly-1 || open > maxPerClient {
			t.Errorf("%s has %d connections open, want %d or so", client, open, fairly)
		}
		all += open
	}
	if all != maxConnections-1 { // the server closed one connection for the probe
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

// After a refusal, a client's connection can stay open for two minutes, at no cost to the client.
func TestIdleClientsBlockNoOthers(t *testing.T) {
	config := (&fake{}).config()
	config.Access = func(context.Context, string, string, string) (Verdict, error) { return Unknown, nil }
	address := startServer(t, config)
	for _, client := range []string{"127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"} {
		for range maxPerClient {
			connection := connectFrom(t, client, address)
			status, _, err := say(t, connection, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
			if status != http.StatusUnauthorized {
				t.Fatalf("%d, %v", status, err)
			}
		}
	}
	for range 3 { // the kubelet gives up after three
		alive(t, "127.0.0.1", address)
	}
}

// A client that has its guaranteed connections, and as many connections as each other client, takes no connections
// from other clients.
func TestEveryClientHasItsShare(t *testing.T) {
	address := startServer(t, (&fake{}).config())
	const each = maxConnections / 64
	hold := func(client string) net.Conn {
		conn := connectFrom(t, client, address)
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
		if !stillOpen(t, conn) {
			closed++
		}
	}
	if closed < 1 || closed > guaranteedPerClient { // of the six connections that the client opened
		t.Errorf("%d connections were closed for one client, want 1 to %d", closed, guaranteedPerClient)
	}
}

// stillOpen reports whether a connection has neither data to read nor an end. stillOpen does not wait, so a busy
// machine cannot make it exceed a deadline.
func stillOpen(t *testing.T, conn net.Conn) bool {
	t.Helper()
	raw, err := conn.(*net.TCPConn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var failure error
	if err := raw.Read(func(fd uintptr) bool {
		_, _, failure = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	}); err != nil {
		t.Fatal(err)
	}
	return errors.Is(failure, syscall.EAGAIN)
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
