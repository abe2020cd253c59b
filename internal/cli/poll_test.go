package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/agents"
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/client"
)

// picture is a canvas that keeps only the last drawn lines.
type picture struct{ drawn chan []string }

func (p picture) Size() (columns, lines int) { return 120, 40 }

// Draw implements canvas. Draw drops lines that the test does not read.
func (p picture) Draw(lines []string) error {
	select {
	case <-p.drawn:
	default:
	}
	p.drawn <- lines
	return nil
}

// TestTopOfThousandNodes runs top on a cluster with more agents than maxStreams.
func TestTopOfThousandNodes(t *testing.T) {
	const nodes = 1000
	var now, most, streams, asked atomic.Int32
	response := `{"items":[` + strings.Repeat(responseRecord+",", 9) + responseRecord + `]}`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := now.Add(1); ; {
			if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
				break
			}
		}
		defer now.Add(-1)
		switch {
		case strings.HasSuffix(r.URL.Path, "/stream"):
			streams.Add(1)
		case strings.HasSuffix(r.URL.Path, "/pulls"):
			asked.Add(1)
			fmt.Fprint(w, `{"items":[],"recent":[]}`)
		default:
			fmt.Fprint(w, response)
		}
	}))
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: agents.AtOnce}
	defer transport.CloseIdleConnections()
	var there []agents.Agent
	for i := range nodes {
		there = append(there, agents.Agent{Node: fmt.Sprint("node-", i), Pod: fmt.Sprint("agent-", i),
			Client: client.Client{Server: server.URL, HTTP: &http.Client{Transport: transport}}})
	}
	before := heap()
	goroutines := runtime.NumGoroutine()
	l := newLiveAgents(agentQuery{}, topConfig{since: 7 * 24 * time.Hour})
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	l.updateStreams(ctx, there)
	screen, typed, done := picture{make(chan []string, 1)}, make(chan byte, 1), make(chan error, 1)
	go func() {
		done <- l.show(ctx, screen, typed, func() terminal.Page { return terminal.Page{Columns: 120} })
	}()
	mostGoroutines := 0
	for asked.Load() < nodes && ctx.Err() == nil {
		<-screen.drawn
		mostGoroutines = max(mostGoroutines, runtime.NumGoroutine()-goroutines)
	}
	lines := <-screen.drawn
	if used := heap() - before; used > 64<<20 {
		t.Errorf("%d MiB in use", used>>20)
	}
	typed <- 'q'
	if err := <-done; err != nil {
		t.Error(err)
	}
	stop()
	l.wait()
	if !strings.HasPrefix(lines[0], "1000 nodes: ") || len(lines) > 40 {
		t.Errorf("%d lines, %q", len(lines), lines[0])
	}
	if streams.Load() != 0 || most.Load() > agents.AtOnce {
		t.Errorf("%d streams, %d requests at once; want 0 and at most %d", streams.Load(), most.Load(), agents.AtOnce)
	}
	// Each connection has one goroutine of the server and two goroutines of the client. Each query has one goroutine.
	if limit := 6*agents.AtOnce + 10; mostGoroutines > limit {
		t.Errorf("%d goroutines, want at most %d", mostGoroutines, limit)
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// tooManyToStream returns more agents than maxStreams. One server responds for all agents.
func tooManyToStream(server string, transport http.RoundTripper) (all []agents.Agent) {
	for i := range maxStreams + 1 {
		all = append(all, agents.Agent{Node: fmt.Sprint(i), Pod: fmt.Sprint(i),
			Client: client.Client{Server: server, HTTP: &http.Client{Transport: transport}}})
	}
	return all
}

// TestPollFails checks that top ends if no agent responds.
func TestPollFails(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	there := tooManyToStream(server.URL, transport)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	l := newLiveAgents(agentQuery{}, topConfig{since: time.Hour})
	l.updateStreams(ctx, there)
	err := l.show(ctx, picture{make(chan []string, 1)}, nil, func() terminal.Page { return terminal.Page{Columns: 80} })
	stop()
	l.wait()
	var refused *client.Refusal
	if !errors.As(err, &refused) || refused.Status != http.StatusNotFound {
		t.Errorf("%v", err)
	}
}

// TestTopSwitchesToPolling checks that top closes the streams if there are too many agents, and opens the streams
// again later.
func TestTopSwitchesToPolling(t *testing.T) {
	server := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
	)
	defer server.Close()
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	there := tooManyToStream(server.URL, transport)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	l := newLiveAgents(agentQuery{}, topConfig{since: time.Hour})
	l.updateStreams(ctx, there[:2])
	if len(l.running) != 2 {
		t.Errorf("%d streams, want 2", len(l.running))
	}
	l.updateStreams(ctx, there)
	for range 2 {
		l.end(<-l.ended)
	}
	if len(l.running) != 0 || len(l.polling.agents) != maxStreams+1 {
		t.Errorf("%d streams and %d polled agents", len(l.running), len(l.polling.agents))
	}
	l.updateStreams(ctx, there[:3])
	if len(l.running) != 3 || len(l.polling.agents) != 0 || len(l.board.Agents()) != 3 {
		t.Errorf("%d streams and %d polled agents", len(l.running), len(l.polling.agents))
	}
	stop()
	l.wait()
}
