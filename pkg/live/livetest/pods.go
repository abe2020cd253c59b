// Package livetest has pods that change, for tests of who tells of changes.
package livetest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/live"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pods are pods that change, and the hub that tells of them, which the test runs. They are safe for concurrent use.
type Pods struct {
	Hub      *live.Hub
	Registry *prometheus.Registry // with the hub's metrics

	mu   sync.Mutex
	pods map[string]timeline.Timeline
}

// New has no pods yet.
func New() *Pods {
	p := &Pods{pods: map[string]timeline.Timeline{}, Registry: prometheus.NewRegistry()}
	p.Hub = live.New(live.Config{
		Some:  p.some,
		Pulls: func(context.Context) (export.LivePulls, error) { return export.LivePulls{}, nil },
		Now:   time.Now, Registerer: p.Registry, Logger: zap.NewNop(),
	})
	return p
}

// Set has a pod come or change.
func (p *Pods) Set(t timeline.Timeline) {
	p.mu.Lock()
	p.pods[t.UID] = t
	p.mu.Unlock()
	p.Hub.Changed(t.UID)
}

// All lists the pods as reconcile does.
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
