package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/internal/recording"
	"github.com/podlapse/podlapse/internal/state"
	"github.com/podlapse/podlapse/internal/tally"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// partState is the name of the state file in the agent's health status (health.Board).
const partState = "state"

// A start-up is missed if it ended while no agent ran. If the pod reached the node more than newsFor before the agent
// started, the agent does not report the missed start-up. newsFor equals the default lifetime of Events (flag
// --event-ttl of the API server).
const newsFor = time.Hour

// savedState contains the state from the previous agent, and saves the state for the next agent. Without --state-dir,
// savedState is empty, and the function "reported" does nothing.
type savedState struct {
	dir   *state.Dir // nil without --state-dir
	left  state.Contents
	saver *state.Saver // nil without --state-dir
	// reported receives each timeline after all sinks have written, sent or dropped it.
	reported func(timeline.Timeline)
}

// newSavedState opens the directory of --state-dir, and replaces scope.Since with the result of carriedOn.
func newSavedState(d deps, scope *timeline.Scope) (savedState, error) {
	c := d.config
	if c.stateDir == "" {
		return savedState{reported: func(timeline.Timeline) {}}, nil
	}
	logger := d.logger.Named(partState)
	dir, err := state.Open(c.stateDir, c.nodeName, logger)
	if err != nil {
		return savedState{}, fmt.Errorf("--state-dir %s: %w", c.stateDir, err)
	}
	scope.Since = carriedOn(dir.Since, scope.Since)
	saver, err := dir.NewSaver(state.Config{
		Node: c.nodeName, Header: recording.Header{Agent: d.build.version, Scope: *scope}, Now: time.Now,
		Report: d.board.Register(partState, "not saved yet"), Registerer: d.registry, Logger: logger,
	})
	if err != nil {
		return savedState{}, fmt.Errorf("--state-dir %s: %w: make this directory writable for the agent's user, or "+
			"choose another directory", c.stateDir, err)
	}
	return savedState{
		dir: dir, left: dir.Contents, saver: saver,
		reported: func(t timeline.Timeline) { saver.Reported(t.UID) },
	}, nil
}

// close releases the directory for the next agent.
func (s savedState) close() {
	if s.dir != nil {
		_ = s.dir.Close()
	}
}

func (s savedState) components() []component {
	if s.saver == nil {
		return nil
	}
	return []component{{partState, stageRest, s.saver.Run}}
}

// carriedOn returns the new Scope.Since. The agent reports the start-ups of all pods that reached the node after
// Scope.Since. The argument "since" is the previous agent's Scope.Since. By default, carriedOn returns "since"
// unchanged. If "since" is more than newsFor before "now", carriedOn returns "now" minus newsFor. If "since" is zero
// or later than "now", carriedOn returns "now".
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

// knownUIDs returns the UIDs of the pods in the previous agent's state. If one of these pods is missing in the first
// list of the pod watch, the watch reports the pod's deletion.
func (s savedState) knownUIDs() []string {
	known := slices.Clone(s.left.Reported)
	listed := map[string]bool{"": true} // skips observations without a pod, for example timeline.RuntimeSilent
	for _, o := range s.left.InFlight {
		if !listed[o.PodUID()] {
			listed[o.PodUID()] = true
			known = append(known, o.PodUID())
		}
	}
	return known
}

// restoreSums adds the previous agent's hourly sums for the report to this agent's sums. If the previous agent's sums
// are unusable, restoreSums logs a warning, and the agent later overwrites the unusable sums.
func (s savedState) restoreSums(d deps, sums *tally.Tally) {
	if s.dir == nil {
		return
	}
	text, err := s.dir.Sums()
	if err == nil && text != nil {
		err = sums.Restore(text)
	}
	if err != nil {
		d.logger.Named(partState).Warn(
			"cannot restore the sums for the report: the report lacks start-ups that ended before this agent started",
			zap.Error(err))
	}
}

// sumsComponents returns the component that saves the hourly sums. Without --state-dir or without sums, the result is
// empty.
func (s savedState) sumsComponents(d deps, sums *tally.Tally) []component {
	if s.dir == nil || sums == nil {
		return nil
	}
	return []component{{"sums", stageRest, func(ctx context.Context) error {
		return sums.Run(ctx, s.dir.SaveSums, func(err error) {
			d.logger.Named(partState).Warn(
				"cannot save the sums for the report: a restart of the agent will lose the latest sums", zap.Error(err))
		})
	}}}
}
