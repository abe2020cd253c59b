package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// stopOrder lists the components that have stopped, in order.
type stopOrder struct {
	mu    sync.Mutex
	names []string
}

func (e *stopOrder) add(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, name)
}

// runUntilStopped returns a component's run function. The run function waits until its context ends, and then needs the
// given time to stop.
func runUntilStopped(name string, takes time.Duration, ended *stopOrder) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(takes)
		ended.add(name)
		return ctx.Err()
	}
}

// threeStages returns three stages. The runner stops the stage "first" before all other stages.
func threeStages() []stageInfo {
	return []stageInfo{{"first", time.Second}, {"second", time.Second}, {"third", time.Second}}
}

func TestStagesStopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended stopOrder
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, stop)
		began := time.Now()
		err := runAll(ctx, zap.NewNop(), threeStages(), []component{
			{"c", 2, runUntilStopped("c", 0, &ended)},
			{"a2", 0, runUntilStopped("a2", 700*time.Millisecond, &ended)},
			{"b", 1, runUntilStopped("b", 500*time.Millisecond, &ended)},
			{"a1", 0, runUntilStopped("a1", 300*time.Millisecond, &ended)},
		})
		if err != nil {
			t.Error(err)
		}
		if want := []string{"a1", "a2", "b", "c"}; !slices.Equal(ended.names, want) {
			t.Errorf("ended %v, want %v", ended.names, want)
		}
		if took := time.Since(began); took != time.Hour+1200*time.Millisecond {
			t.Errorf("took %s", took)
		}
	})
}

func TestFailedPartStopsOthersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended stopOrder
		err := runAll(t.Context(), zap.NewNop(), threeStages(), []component{
			{"a", 0, runUntilStopped("a", 100*time.Millisecond, &ended)},
			{"b", 1, func(context.Context) error { return errors.New("broke") }},
			{"c", 1, runUntilStopped("c", 0, &ended)},
		})
		if err == nil || err.Error() != "b: broke" {
			t.Errorf("got error %v, want b: broke", err)
		}
		if want := []string{"a", "c"}; !slices.Equal(ended.names, want) {
			t.Errorf("ended %v, want %v", ended.names, want)
		}
	})
}

func TestPartThatReturnsEarlyFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		err := runAll(t.Context(), zap.NewNop(), threeStages(), []component{
			{"a", 1, func(context.Context) error { return nil }},
		})
		if err == nil || err.Error() != `component "a" stopped unexpectedly` {
			t.Errorf("got %v", err)
		}
	})
}

func TestStuckStageIsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended stopOrder
		release := make(chan struct{})
		ctx, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		err := runAll(ctx, zap.NewNop(), threeStages(), []component{
			{"a", 0, func(context.Context) error {
				<-release
				return nil
			}},
			{"b", 1, runUntilStopped("b", 0, &ended)},
		})
		want := `some components of stage "first" did not stop within 1s`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != time.Second || !slices.Equal(ended.names, []string{"b"}) {
			t.Errorf("took %s, ended %v", took, ended.names)
		}
		close(release)
	})
}

func TestStagesFitIntoStopTimeout(t *testing.T) {
	all := time.Duration(0)
	for _, s := range agentStages() {
		all += s.limit
	}
	if all >= 5*time.Second {
		t.Errorf("the stages may take %s, but the agent must stop within 5 s", all)
	}
}
