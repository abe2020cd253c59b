// Package livetest provides changing pods for tests of the API's stream, and for tests of the stream's clients.
package livetest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pods is a set of changing pods with a hub. The test must call Hub.Run. Pods is safe for concurrent use.
type Pods struct {
	Hub      *live.Hub
	Registry *prometheus.Registry // registry of the hub's metrics

	mu    sync.Mutex
	pods  map[string]timeline.Timeline
	pulls func() livepull.Snapshot
}

// New returns a set without pods and without pulls.
func New() *Pods {
	p := &Pods{pods: map[string]timeline.Timeline{}, Registry: prometheus.NewRegistry(),
		pulls: func() livepull.Snapshot { return livepull.Snapshot{} }}
	p.Hub = live.New(live.Config{
		Some: p.some, Pulls: p.Pulls, Now: time.Now, Registerer: p.Registry, Logger: zap.NewNop(),
	})
	return p
}

// Set adds a pod, or replaces the timeline of a known pod.
func (p *Pods) Set(t timeline.Timeline) {
	p.mu.Lock()
	p.pods[t.UID] = t
	p.mu.Unlock()
	p.Hub.Changed(t.UID)
}

// Remove removes a pod if it exists.
func (p *Pods) Remove(uid string) {
	p.mu.Lock()
	t, ok := p.pods[uid]
	delete(p.pods, uid)
	p.mu.Unlock()
	if ok {
		p.Hub.Gone(t)
	}
}

// SetPulls sets the function that returns the pulls in progress.
func (p *Pods) SetPulls(pulls func() livepull.Snapshot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulls = pulls
}

// Pulls returns the pulls in progress.
func (p *Pods) Pulls(context.Context) (livepull.Snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pulls(), nil
}

// All returns the timelines of all pods, in the same order as Reconciler.Present.
func (p *Pods) All(context.Context) ([]timeline.Timeline, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return timeline.Sorted(slices.Collect(maps.Values(p.pods))), nil
}

func (p *Pods) some(_ context.Context, uids []string) ([]timeline.Timeline, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var some []timeline.Timeline
	for _, uid := range uids {
		some = append(some, p.pods[uid])
	}
	return some, nil
}
