package scenario

import (
	"context"
	"fmt"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// watchCounts contains counts of Event watches from the metrics of the API server, and counters from the agent's
// metrics.
type watchCounts struct {
	ended, open      float64 // numbers of closed and open watches, according to the API server
	opened           float64 // number of opened watches, according to the agent
	agentOpen        float64
	openSeconds      float64
	received, itUsed float64
}

// openedWatches returns the number of opened watches, according to the API server.
func (w watchCounts) openedWatches() float64 { return w.ended + w.open }

// growthSince returns how much each count has grown since the counts in "before".
func (w watchCounts) growthSince(before watchCounts) watchCounts {
	return watchCounts{ended: w.ended - before.ended, open: w.open - before.open, opened: w.opened - before.opened,
		agentOpen: w.agentOpen - before.agentOpen, openSeconds: w.openSeconds - before.openSeconds,
		received: w.received - before.received, itUsed: w.itUsed - before.itUsed}
}

func countWatches(ctx context.Context, b *bench.Bench, of agent.Client) (watchCounts, error) {
	server, err := b.Kube.Text(ctx, "/metrics")
	if err != nil {
		return watchCounts{}, fmt.Errorf("read the API server's metrics: %w", err)
	}
	own, err := of.Metrics(ctx)
	if err != nil {
		return watchCounts{}, err
	}
	var w watchCounts
	events := []string{`resource="events"`, `verb="WATCH"`, `group=""`}
	for _, number := range []struct {
		to         *float64
		text, name string
		labels     []string
	}{
		{&w.ended, server, "apiserver_request_total", events},
		{&w.open, server, "apiserver_longrunning_requests", events},
		{&w.opened, own, "podlapse_event_watches_opened_total", nil},
		{&w.agentOpen, own, "podlapse_event_watches_open", nil},
		{&w.openSeconds, own, "podlapse_event_watch_open_seconds_total", nil},
		{&w.received, own, "podlapse_events_received_total", nil},
		{&w.itUsed, own, "podlapse_events_used_total", nil},
	} {
		if *number.to, err = metrics.Sum(number.text, number.name, number.labels...); err != nil {
			return watchCounts{}, err
		}
	}
	return w, nil
}
