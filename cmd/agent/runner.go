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

// component is a running part of the agent.
type component struct {
	name  string // used in error messages
	stage stage
	run   func(ctx context.Context) error // blocks until ctx is done
}

// stage determines when a component starts and stops. All components of a stage start and stop together.
type stage int

// The stages stop in the order of this list. Because the sources stop first, the agent still reports their last
// observations. The stages start in the reverse order.
const (
	stageSources stage = iota
	stageReconcile
	stageSinks
	stageRest // web server and state file; the state file lists the start-ups that the sinks have reported
)

// Time limits for stopping each stage. The sum of the limits is below 5 s, because the agent must stop within 5 s.
const (
	sourcesLimit   = time.Second
	reconcileLimit = 500 * time.Millisecond
	sinksLimit     = time.Second // longer than the sinks' own time limit for emptying their queues
	restLimit      = 2 * time.Second
)

// stageInfo is the name and the time limit of a stage.
type stageInfo struct {
	name  string
	limit time.Duration // after this time, the runner stops the next stage, even if components still run
}

func agentStages() []stageInfo {
	return []stageInfo{
		stageSources:   {"sources", sourcesLimit},
		stageReconcile: {"reconcile", reconcileLimit},
		stageSinks:     {"sinks", sinksLimit},
		stageRest:      {"web and state", restLimit},
	}
}

// runner runs components until a component fails or the agent must stop. At the end, the runner stops the components
// stage by stage.
type runner struct {
	logger *zap.Logger
	group  *errgroup.Group
	failed context.Context // canceled when the first component fails
	stages []*runningStage // in the order in which they stop
}

// runningStage holds the running components of a stage.
type runningStage struct {
	stageInfo
	ctx        context.Context
	cancel     context.CancelFunc
	components sync.WaitGroup
}

// runAll runs the components until ctx is done or a component fails. At the end, runAll stops all stages and returns
// the first failure.
func runAll(ctx context.Context, logger *zap.Logger, stages []stageInfo, components []component) error {
	// Each stage has its own context, so that the stages can stop in order. If the components used ctx or the context
	// of the group, all components would stop at once.
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
	return r.stopStages()
}

// start runs a component. If a component returns before the runner stops its stage, the component has failed.
func (r *runner) start(in *runningStage, c component) {
	in.components.Add(1)
	r.group.Go(func() error {
		defer in.components.Done()
		err := c.run(in.ctx)
		switch {
		case in.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
			return nil
		case err == nil:
			return fmt.Errorf("component %q stopped unexpectedly", c.name)
		default:
			return fmt.Errorf("%s: %w", c.name, err)
		}
	})
}

// stopStages stops the stages in order and returns the first failure. If a stage does not stop within its limit,
// stopStages continues with the next stage, because the program must end soon. The returned error also names each stage
// that did not stop within its limit.
func (r *runner) stopStages() error {
	r.logger.Info("stopping")
	var stuck []error
	for _, in := range r.stages {
		in.cancel()
		if !in.awaitEnd() {
			stuck = append(stuck, fmt.Errorf("some components of stage %q did not stop within %s", in.name,
				in.limit))
		}
	}
	if len(stuck) > 0 { // group.Wait would wait for the components that did not stop
		if r.failed.Err() != nil {
			stuck = append([]error{context.Cause(r.failed)}, stuck...)
		}
		return errors.Join(stuck...)
	}
	return r.group.Wait()
}

// awaitEnd waits until the components have stopped or the limit has passed. The result is true if the components have
// stopped.
func (in *runningStage) awaitEnd() bool {
	done := make(chan struct{})
	go func() { // runs until the components stop or the program ends
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
