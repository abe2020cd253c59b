package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/record"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// partState is what the health board calls the file in --state-dir.
const partState = "state"

// newsFor is how old a start-up that an agent begins with may be to be reported: of older ones the API
// server has no Events any more (its default time to live), and they are no news.
const newsFor = time.Hour

// memory is what an agent knows of the one before it and leaves to the next. Without --state-dir it is empty,
// and its functions are nil.
type memory struct {
	dir    *state.Dir // nil without the directory
	left   state.Contents
	keeper *state.Keeper
	keep   func(o timeline.Observation, news bool)
	kept   func(uid string) bool
	// keepEnd is keep for ends of pods.
	keepEnd func(o timeline.Observation, news bool)
	gone    func(uid string)
	// eventsUntil takes when kubelet said what was told last as Events after start-ups.
	eventsUntil func(time.Time)
	// reported takes a timeline that all sinks are through with.
	reported func(timeline.Timeline)
}

// newMemory opens the directory and carries on from when on start-ups are to be reported.
func newMemory(c config, build export.Build, scope *timeline.Scope, registry prometheus.Registerer, board *health.Board,
	logger *zap.Logger) (memory, error) {
	if c.stateDir == "" {
		return memory{reported: func(timeline.Timeline) {}}, nil
	}
	logger = logger.Named(partState)
	dir, err := state.Open(c.stateDir, c.nodeName, logger)
	if err != nil {
		return memory{}, fmt.Errorf("--state-dir %s: %w", c.stateDir, err)
	}
	scope.Since = carriedOn(dir.Since, scope.Since)
	keeper, err := dir.Keeper(state.Config{
		Node: c.nodeName, Header: record.Header{Agent: build.Version, Scope: *scope}, Now: time.Now,
		Report: board.Register(partState, "not saved yet"), Registerer: registry, Logger: logger,
	})
	if err != nil {
		return memory{}, fmt.Errorf("--state-dir %s: %w: make the directory writable for the agent's user, or "+
			"choose another", c.stateDir, err)
	}
	return memory{
		dir: dir, left: dir.Contents, keeper: keeper, keep: keeper.Keep, keepEnd: keeper.KeepEnd, kept: keeper.Kept, gone: keeper.Gone, eventsUntil: keeper.EventsUntil,
		reported: func(t timeline.Timeline) { keeper.Reported(t.UID) },
	}, nil
}

// close lets the next agent have the directory.
func (m memory) close() {
	if m.dir != nil {
		_ = m.dir.Close()
	}
}

// carriedOn is from when on start-ups are to be reported: since the first agent whose state was handed on,
// but not for longer than start-ups are news. A clock that was set back does not hide what comes.
func carriedOn(since, now time.Time) time.Time {
	oldest := now.Add(-newsFor)
	switch {
	case since.IsZero() || since.After(now):
		return now
	case since.Before(oldest):
		return oldest
	}
	return since
}

// known are the pods whose end the pod watch must tell even if it never saw them.
func (m memory) known() []string {
	known := slices.Clone(m.left.Reported)
	listed := map[string]bool{}
	for _, o := range m.left.InFlight {
		if !listed[o.PodUID()] {
			listed[o.PodUID()] = true
			known = append(known, o.PodUID())
		}
	}
	return known
}
