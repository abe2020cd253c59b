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

// pullLook queries the pulls in progress and sends these pulls to viewers. Only the goroutine of Run uses pullLook.
type pullLook struct {
	hub  *Hub
	next time.Time // earliest time of the next query
	at   time.Time // time of the last query
	some bool      // true if the last query found pulls
	// The field "states" contains the pods whose image was being downloaded or unpacked at the last query. The keys are
	// the UIDs of the pods, and the values are the pods' open phases at the last query.
	states map[string]timeline.Phase
}

func (l *pullLook) look(ctx context.Context) {
	began := l.hub.config.Now()
	if began.Before(l.next) || !l.some && !l.hub.takePulling() && began.Sub(l.at) < othersEvery {
		return
	}
	now, err := l.hub.config.Pulls(ctx)
	if err != nil {
		l.hub.config.Logger.Debug("cannot send image pulls to viewers", zap.Error(err)) // the agent is stopping
		return
	}
	records := now.Records()
	if len(records) > 0 || l.some {
		e := &Event{Kind: KindPulls, subject: KindPulls}
		l.hub.publish(l.hub.encode(nil, e, api.LivePullList{Items: records}))
	}
	l.resend(now)
	l.some, l.at = len(records) > 0, began
	l.next = began.Add(max(pullsEvery, restFactor*l.hub.config.Now().Sub(began)))
}

// resend sends a pod again if the download of the pod's image has just begun or ended, because no observation reports
// these changes.
func (l *pullLook) resend(now livepull.Snapshot) {
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

// takePulling reports whether a changed pod waited for an image since the last call of takePulling. For a new log,
// the first call also returns true.
func (h *Hub) takePulling() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	pulling := h.pulling
	h.pulling = false
	return pulling
}
