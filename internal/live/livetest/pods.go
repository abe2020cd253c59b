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

	"github.com/podlapse/podlapse/internal/live"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Pods are pods that change, and the hub that tells of them, which the test runs. They are safe for concurrent use.
type Pods struct {
	Hub      *live.Hub
	Registry *prometheus.Registry // with the hub's metrics

	mu    sync.Mutex
	pods  map[string]timeline.Timeline
	pulls func() export.LivePulls
}

// New has no pods yet, and no pulls.
func New() *Pods {
	p := &Pods{pods: map[string]timeline.Timeline{}, Registry: prometheus.NewRegistry(),
		pulls: func() export.LivePulls { return export.LivePulls{} }}
	p.Hub = live.New(live.Config{
		Some: p.some, Pulls: p.Pulls, Now: time.Now, Registerer: p.Registry, Logger: zap.NewNop(),
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

// Remove has a pod go, if it is there.
func (p *Pods) Remove(uid string) {
	p.mu.Lock()
	t, ok := p.pods[uid]
	delete(p.pods, uid)
	p.mu.Unlock()
	if ok {
		p.Hub.Gone(t)
	}
}

// SetPulls has pulls go on, as they are told at each moment.
func (p *Pods) SetPulls(pulls func() export.LivePulls) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pulls = pulls
}

// Pulls tells of the pulls that go on.
func (p *Pods) Pulls(context.Context) (export.LivePulls, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pulls(), nil
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
