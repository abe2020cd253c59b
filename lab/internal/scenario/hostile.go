package scenario

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// Limits of the agent's HTTP server: see docs/security.md. hostileLimit is not a limit of the server: this scenario
// sets it.
const (
	mostHeader      = 16 << 10
	mostConnections = 32 // maximum number of connections of one client
	headerWithin    = 5 * time.Second
	hostileLimit    = 16 << 20 // largest allowed growth of the agent's memory, in bytes
)

// judgeHostile sends the agent requests that the agent must refuse. While the agent refuses the requests, it must still
// respond to probes, and its memory must grow only a little.
func judgeHostile(ctx context.Context, b *bench.Bench, v *Verdict, token string) error {
	h := maliciousClient{strings.TrimPrefix(b.Agent.Server, "http://"), v}
	before, err := h.agentMemory(ctx, token)
	if err != nil {
		return err
	}
	if err := h.sendRefused(ctx); err != nil {
		return err
	}
	if err := h.sendTokens(ctx); err != nil {
		return err
	}
	held, err := h.openSilent(ctx)
	if err != nil {
		return err
	}
	defer held.close()
	h.checkProbe(ctx, "while slow clients are connected")
	during, err := h.agentMemory(ctx, token)
	if err != nil {
		return err
	}
	v.Compared++
	if during-before > hostileLimit {
		v.Problem("hostile requests increased the agent's memory by %.1f MiB, want at most 16 MiB",
			(during-before)/(1<<20))
	}
	v.Note("resident memory before hostile requests %.1f MiB, during them %.1f MiB", before/(1<<20), during/(1<<20))
	held.checkClosed(v)
	return nil
}

// maliciousClient simulates a malicious client.
type maliciousClient struct {
	agent string // HOST:PORT
	v     *Verdict
}

// sendRefused sends requests that the agent must refuse. The agent must respond to each request with the status in the
// field "want".
func (h maliciousClient) sendRefused(ctx context.Context) error {
	const metrics = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n"
	for _, request := range []struct {
		what, text string
		want       int
	}{
		{"without a token", metrics + "\r\n", http.StatusUnauthorized},
		{"with a made-up token", metrics + "Authorization: Bearer made.up.token\r\n\r\n", http.StatusUnauthorized},
		{"with a header that is too long", metrics + "X: " + strings.Repeat("x", 2*mostHeader) + "\r\n\r\n",
			http.StatusRequestHeaderFieldsTooLarge},
		{"with a path that is too long", "GET /" + strings.Repeat("x", 2*mostHeader) +
			" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", http.StatusRequestHeaderFieldsTooLarge},
		{"with a body of 1 GiB", metrics + "Content-Length: 1073741824\r\n\r\nx", http.StatusRequestEntityTooLarge},
		{"by another method", "POST /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
			http.StatusMethodNotAllowed},
		{"that is not HTTP", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", http.StatusBadRequest},
		{"with two lengths", metrics + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n", http.StatusBadRequest},
	} {
		connection, err := h.connectFrom(ctx, "127.0.0.2")
		if err != nil {
			return err
		}
		status, err := exchange(connection, request.text)
		_ = connection.Close()
		h.v.Compared++
		if err != nil {
			h.v.Problem("a request %s: %v, want status %d", request.what, err, request.want)
		} else if status != request.want {
			h.v.Problem("a request %s: got status %d, want status %d", request.what, status, request.want)
		}
		h.v.Note("a request %s: %d", request.what, status)
	}
	return nil
}

// sendTokens sends long invented tokens, one after the other. sendTokens sends more requests per second than the agent
// allows for one client.
func (h maliciousClient) sendTokens(ctx context.Context) error {
	const tokens = 600
	connection, err := h.connectFrom(ctx, "127.0.0.3")
	if err != nil {
		return err
	}
	defer connection.Close()
	counts := map[int]int{}
	reader := bufio.NewReader(connection)
	for i := range tokens {
		token := fmt.Sprintf("%08d%s", i, strings.Repeat("x", mostHeader-1024))
		if _, err := io.WriteString(connection,
			"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer "+token+"\r\n\r\n"); err != nil {
			return fmt.Errorf("send invented tokens to the agent: %w", err)
		}
		status, err := readStatus(reader)
		if err != nil {
			return fmt.Errorf("read the agent's response to an invented token: %w", err)
		}
		counts[status]++
	}
	h.v.Compared++
	// The agent also limits its token reviews at the API server. If this limit is used up, the agent responds with 503
	// to a new token.
	refused := counts[http.StatusUnauthorized] + counts[http.StatusServiceUnavailable]
	if counts[http.StatusTooManyRequests] == 0 || refused+counts[http.StatusTooManyRequests] != tokens {
		h.v.Problem("%d invented tokens at once: responses %v, want all refused, some of them with 429", tokens, counts)
	}
	h.v.Note("%d invented tokens at once: responses %v", tokens, counts)
	return nil
}

// From each of three addresses, openSilent opens more connections than the agent accepts from one client. On each
// connection, openSilent sends an incomplete header whose length is almost the maximum that the agent accepts. Then
// openSilent sends nothing more.
func (h maliciousClient) openSilent(ctx context.Context) (silentConnections, error) {
	held := silentConnections{begunAt: time.Now()}
	for _, client := range []string{"127.0.0.4", "127.0.0.5", "127.0.0.6"} {
		for range 2 * mostConnections {
			connection, err := h.connectFrom(ctx, client)
			if err != nil {
				held.close()
				return silentConnections{}, err
			}
			held.all = append(held.all, connection)
			// The agent might have closed the connection already, because the client has too many connections.
			_, _ = io.WriteString(connection, "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "+strings.Repeat("x",
				mostHeader-1024))
		}
	}
	return held, nil
}

// silentConnections contains the connections that openSilent has opened.
type silentConnections struct {
	begunAt time.Time
	all     []net.Conn
}

func (c silentConnections) close() {
	for _, connection := range c.all {
		_ = connection.Close()
	}
}

// checkClosed requires that the agent closes all connections in time. The agent waits for a header for at most
// headerWithin, and may close the connection a few seconds later.
func (c silentConnections) checkClosed(v *Verdict) {
	const late = 3 * time.Second
	open := 0
	for _, connection := range c.all {
		_ = connection.SetReadDeadline(c.begunAt.Add(headerWithin + late))
		var timeout net.Error
		if _, err := io.Copy(io.Discard, connection); errors.As(err, &timeout) && timeout.Timeout() {
			open++
		}
	}
	v.Compared++
	if open > 0 {
		v.Problem("%d of %d slow connections are still open after %s, want 0", open, len(c.all), headerWithin+late)
	}
	v.Note("%d slow connections closed within %s", len(c.all)-open, time.Since(c.begunAt).Round(100*time.Millisecond))
}

// checkProbe requires that the agent responds within the time limit of a kubelet probe.
func (h maliciousClient) checkProbe(ctx context.Context, when string) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	status, _, err := tokenClient{server: "http://" + h.agent}.request(ctx, "/livez", "")
	h.v.Compared++
	if err != nil {
		h.v.Problem("a probe %s: %v, want status 200", when, err)
	} else if status != http.StatusOK {
		h.v.Problem("a probe %s: got status %d, want status 200", when, status)
	}
}

// agentMemory returns the agent's resident memory in bytes, from the agent's metrics.
func (h maliciousClient) agentMemory(ctx context.Context, token string) (float64, error) {
	status, text, err := tokenClient{server: "http://" + h.agent}.request(ctx, "/metrics", token)
	if err != nil {
		return 0, err
	}
	if status != http.StatusOK {
		return 0, fmt.Errorf("read the agent's memory: got status %d, want 200", status)
	}
	return metrics.Sum(text, "process_resident_memory_bytes")
}

// connectFrom connects to the agent from the given loopback address. The agent has separate limits for each client
// address.
func (h maliciousClient) connectFrom(ctx context.Context, client string) (net.Conn, error) {
	const limit = 20 * time.Second
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(client)}, Timeout: limit}
	connection, err := dialer.DialContext(ctx, "tcp", h.agent)
	if err != nil {
		return nil, fmt.Errorf("connect to the agent: %w", err)
	}
	return connection, connection.SetDeadline(time.Now().Add(limit))
}

func exchange(connection net.Conn, request string) (status int, err error) {
	// The agent might respond and close the connection before it has read the entire request.
	_, _ = io.WriteString(connection, request)
	return readStatus(bufio.NewReader(connection))
}

func readStatus(reader *bufio.Reader) (status int, err error) {
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return 0, err
	}
	// reading the remaining body fails if the agent has reset the connection
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode, response.Body.Close()
}
