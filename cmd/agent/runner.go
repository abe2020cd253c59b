package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// component is a part of the agent that runs.
type component struct {
	name  string // in errors
	stage stage
	run   func(ctx context.Context) error // blocks until ctx is done
}

// stage says when a component starts and stops. The components of a stage start and stop together.
type stage int

// The stages stop in this order, so that the agent still reports what it has observed. They start in the reverse order.
const (
	stageSources stage = iota
	stageReconcile
	stageSinks
	stageRest // the web server, and the state file, which records what the sinks have reported
)

// How long each stage may take to stop. In total that is less than the 5 s in which the agent must end.
const (
	sourcesLimit   = time.Second
	reconcileLimit = 500 * time.Millisecond
	sinksLimit     = time.Second // the sinks themselves drain for a shorter time
	restLimit      = 2 * time.Second
)

// stageInfo is what the runner needs to know about a stage.
type stageInfo struct {
	name  string
	limit time.Duration // after which the next stage stops anyway
}

// agentStages lists the stages of the agent.
func agentStages() []stageInfo {
	return []stageInfo{
		stageSources:   {"sources", sourcesLimit},
		stageReconcile: {"reconcile", reconcileLimit},
		stageSinks:     {"sinks", sinksLimit},
		stageRest:      {"web and state", restLimit},
	}
}

// runner runs components until one fails or the agent is asked to stop. Then it stops them stage by stage.
type runner struct {
	logger *zap.Logger
	group  *errgroup.Group
	failed context.Context // done as soon as a component failed
	stages []*runningStage // in the order in which they stop
}

// runningStage is the components of a stage that run.
type runningStage struct {
	stageInfo
	ctx        context.Context
	cancel     context.CancelFunc
	components sync.WaitGroup
}

// runAll runs the components until ctx is done or one of them fails, stops all stages and returns the first failure.
func runAll(ctx context.Context, logger *zap.Logger, stages []stageInfo, components []component) error {
	// A failure does not stop the other components at once: the stages stop in order.
	group, failed := errgroup.WithContext(context.Background())
	r := &runner{logger: logger, group: group, failed: failed}
	for _, info := range stages {
		ctx, cancel := context.WithCancel(context.Background())
		r.stages = append(r.stages, &runningStage{stageInfo: info, ctx: ctx, cancel: cancel})
	}
	for i, running := range slices.Backward(r.stages) {
		for _, c := range components {
			if c.stage == stage(i) {
				r.start(running, c)
			}
		}
	}
	select {
	case <-ctx.Done():
	case <-failed.Done():
	}
	return r.stop()
}

// start runs a component. A component that ends before it was asked to stop has failed.
func (r *runner) start(in *runningStage, c component) {
	in.components.Add(1)
	r.group.Go(func() error {
		defer in.components.Done()
		err := c.run(in.ctx)
		switch {
		case in.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
			return nil
		case err == nil:
			return fmt.Errorf("%s: ended by itself", c.name)
		default:
			return fmt.Errorf("%s: %w", c.name, err)
		}
	})
}

// stop stops one stage after the other and returns the first failure. It waits for a stage at most until the limit,
// because the program is about to end anyway.
func (r *runner) stop() error {
	r.logger.Info("stopping")
	var stuck []error
	for _, in := range r.stages {
		in.cancel()
		if !in.ended() {
			stuck = append(stuck, fmt.Errorf("%s: did not stop within %s", in.name, in.limit))
		}
	}
	if len(stuck) > 0 { // the group would wait for them
		if r.failed.Err() != nil {
			stuck = append([]error{context.Cause(r.failed)}, stuck...)
		}
		return errors.Join(stuck...)
	}
	return r.group.Wait()
}

// ended waits for the components, but no longer than the limit.
func (in *runningStage) ended() bool {
	done := make(chan struct{})
	go func() { // ends with the components, or with the program
		in.components.Wait()
		close(done)
	}()
	limit := time.NewTimer(in.limit)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}
