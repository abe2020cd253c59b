package live

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/livepull"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// waitsForImage reports whether a starting pod or an ephemeral container waits for an image.
func waitsForImage(t timeline.Timeline) bool {
	waited := t.EphemeralPulls
	if t.State == timeline.StateStarting {
		waited = slices.Concat(t.Pulls, t.EphemeralPulls)
	}
	return slices.ContainsFunc(waited, func(p timeline.Pull) bool {
		return p.Outcome == imagepull.OutcomePulling || p.Outcome == imagepull.OutcomeFailed
	})
}

// pullQuery queries the pulls in progress and sends these pulls to viewers. Only the goroutine of Run uses pullQuery.
type pullQuery struct {
	hub        *Hub
	next       time.Time // earliest time of the next query
	at         time.Time // time of the last query
	foundPulls bool      // true if the last query found pulls
	// states maps the UID of a pod to the pod's open phase at the last query. states contains only the pods whose image
	// the runtime was downloading or unpacking at the last query.
	states map[string]timeline.Phase
}

func (q *pullQuery) queryIfDue(ctx context.Context) {
	began := q.hub.config.Now()
	if began.Before(q.next) || !q.foundPulls && !q.hub.takePulling() && began.Sub(q.at) < othersEvery {
		return
	}
	now, err := q.hub.config.Pulls(ctx)
	if err != nil {
		q.hub.config.Logger.Debug("cannot send image pulls to viewers", zap.Error(err)) // the agent is stopping
		return
	}
	records := now.Records()
	if len(records) > 0 || q.foundPulls {
		e := &Event{Kind: KindPulls, subject: KindPulls}
		q.hub.publish(q.hub.encode(nil, e, api.LivePullList{Items: records}))
	}
	q.resend(now)
	q.foundPulls, q.at = len(records) > 0, began
	q.next = began.Add(max(pullsEvery, restFactor*q.hub.config.Now().Sub(began)))
}

// resend sends a pod again if the download of the pod's image has just begun or ended. No observation reports the
// beginning or the end of a download.
func (l *pullQuery) resend(now livepull.Snapshot) {
	states := map[string]timeline.Phase{}
	for _, t := range now.Bound(now.Starting) {
		if len(t.Phases) == 0 {
			continue
		}
		if phase := t.Phases[len(t.Phases)-1].Phase; phase == timeline.PhasePull || phase == timeline.PhaseUnpack {
			states[t.UID] = phase
			if l.states[t.UID] != phase {
				l.hub.Changed(t.UID)
			}
		}
	}
	l.states = states
}

func (h *Hub) pullsGoOn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.pulling = true
}

// takePulling returns true if a changed pod has waited for an image since the previous call. After the creation of the
// log, the first call always returns true.
func (h *Hub) takePulling() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	pulling := h.pulling
	h.pulling = false
	return pulling
}
