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

// endings lists which parts ended, in order.
type endings struct {
	mu    sync.Mutex
	names []string
}

func (e *endings) add(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, name)
}

// until runs until it is told to stop, then takes a while and says that it ended.
func until(name string, takes time.Duration, ended *endings) func(context.Context) error {
	return func(ctx context.Context) error {
		<-ctx.Done()
		time.Sleep(takes)
		ended.add(name)
		return ctx.Err()
	}
}

func TestStagesStopInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended endings
		s := newStages(zap.NewNop())
		first := s.add("first", time.Second)
		second := s.add("second", time.Second)
		third := s.add("third", time.Second)
		third.start("c", until("c", 0, &ended))
		second.start("b", until("b", 500*time.Millisecond, &ended))
		first.start("a2", until("a2", 700*time.Millisecond, &ended))
		first.start("a1", until("a1", 300*time.Millisecond, &ended))

		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(time.Hour, stop)
		began := time.Now()
		if err := s.wait(ctx); err != nil {
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

func TestAFailedPartStopsTheOthersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended endings
		s := newStages(zap.NewNop())
		first := s.add("first", time.Second)
		second := s.add("second", time.Second)
		first.start("a", until("a", 100*time.Millisecond, &ended))
		second.start("b", func(context.Context) error { return errors.New("broke") })
		second.start("c", until("c", 0, &ended))
		err := s.wait(t.Context())
		if err == nil || err.Error() != "b: broke" {
			t.Errorf("got %v, want b: broke", err)
		}
		if want := []string{"a", "c"}; !slices.Equal(ended.names, want) {
			t.Errorf("ended %v, want %v", ended.names, want)
		}
	})
}

func TestAPartThatEndsByItselfHasFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStages(zap.NewNop())
		s.add("only", time.Second).start("a", func(context.Context) error { return nil })
		if err := s.wait(t.Context()); err == nil || err.Error() != "a: ended by itself" {
			t.Errorf("got %v", err)
		}
	})
}

func TestAStuckStageIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended endings
		release := make(chan struct{})
		s := newStages(zap.NewNop())
		s.add("first", time.Second).start("a", func(context.Context) error {
			<-release
			return nil
		})
		s.add("second", time.Second).start("b", until("b", 0, &ended))
		ctx, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		err := s.wait(ctx)
		if err == nil || !strings.Contains(err.Error(), "first: did not stop within 1s") {
			t.Errorf("got %v", err)
		}
		if took := time.Since(began); took != time.Second || !slices.Equal(ended.names, []string{"b"}) {
			t.Errorf("took %s, ended %v", took, ended.names)
		}
		close(release)
	})
}

func TestTheStagesFitIntoTheTimeToStop(t *testing.T) {
	if all := sourcesLimit + reconcileLimit + sinksLimit + restLimit; all >= 5*time.Second {
		t.Errorf("the stages may take %s, the agent must end within 5 s", all)
	}
}
