package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// stages runs the parts of the agent until a part fails or the agent is told to stop, and then stops
// them stage by stage: first those that bring in, last those that hand out.
type stages struct {
	logger *zap.Logger
	group  *errgroup.Group
	failed context.Context // done as soon as a part failed
	list   []*stage        // in the order in which they stop
}

// stage is the parts that stop together.
type stage struct {
	name   string
	limit  time.Duration // after which the next stage is stopped anyway
	stages *stages
	ctx    context.Context
	cancel context.CancelFunc
	parts  sync.WaitGroup
}

func newStages(logger *zap.Logger) *stages {
	// Parts do not stop when another fails; run stops them in order.
	group, failed := errgroup.WithContext(context.Background())
	return &stages{logger: logger, group: group, failed: failed}
}

// add appends the stage that is to stop after those there are.
func (s *stages) add(name string, limit time.Duration) *stage {
	ctx, cancel := context.WithCancel(context.Background())
	st := &stage{name: name, limit: limit, stages: s, ctx: ctx, cancel: cancel}
	s.list = append(s.list, st)
	return st
}

// start runs a part. A part that ends before it was told to stop has failed.
func (st *stage) start(part string, run func(context.Context) error) {
	st.parts.Add(1)
	st.stages.group.Go(func() error {
		defer st.parts.Done()
		err := run(st.ctx)
		switch {
		case st.ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
			return nil
		case err == nil:
			return fmt.Errorf("%s: ended by itself", part)
		default:
			return fmt.Errorf("%s: %w", part, err)
		}
	})
}

// wait blocks until ctx is done or a part failed, stops all stages and returns the first failure.
// A stage that takes longer than its limit is left behind: the program is about to end anyway.
func (s *stages) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-s.failed.Done():
	}
	s.logger.Info("stopping")
	var stuck []error
	for _, st := range s.list {
		st.cancel()
		if !st.ended() {
			stuck = append(stuck, fmt.Errorf("%s: did not stop within %s", st.name, st.limit))
		}
	}
	if len(stuck) > 0 { // the group would wait for them
		if s.failed.Err() != nil {
			stuck = append([]error{context.Cause(s.failed)}, stuck...)
		}
		return errors.Join(stuck...)
	}
	return s.group.Wait()
}

// ended waits for the parts, but no longer than the limit.
func (st *stage) ended() bool {
	done := make(chan struct{})
	go func() { // ends with the parts, or with the program
		st.parts.Wait()
		close(done)
	}()
	limit := time.NewTimer(st.limit)
	defer limit.Stop()
	select {
	case <-done:
		return true
	case <-limit.C:
		return false
	}
}
