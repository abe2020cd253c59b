// Package clockset observes when the node's clock is set. The package needs notifications of the kernel, so it works
// only on Linux.
//
// The kernel notifies the package of each change, so the package does not have to read the clock regularly. To get the
// size of a change, the package compares the clock with CLOCK_BOOTTIME, which never jumps. CLOCK_BOOTTIME also counts
// the time that the node is suspended, in contrast to CLOCK_MONOTONIC. When a suspended node resumes, the clock jumps
// by the time of the suspension. The package does not report this jump, because the time of the suspension has really
// passed. If a hypervisor pauses a virtual machine, both clocks stand still. When a time service corrects the clock
// afterwards, the package observes a change.
package clockset

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// leastChange is the smallest change that the package reports. A smaller difference can be an error of the comparison,
// because the package reads one clock after the other. The package measures each difference from the latest reported
// change, and not from the latest notification. So several small changes in the same direction become one change, and
// no change is lost.
const leastChange = time.Millisecond

// alarm is the kernel's notification of changes.
type alarm interface {
	// wait waits until the clock is set. If the clock is set between two calls, the second call returns immediately.
	// After "close", wait returns an error.
	wait() error
	close()
}

// reading is a simultaneous reading of two clocks.
type reading struct {
	clock  time.Time     // the node's clock
	booted time.Duration // CLOCK_BOOTTIME
}

// since returns the amount by which the clock was set between two readings.
func (r reading) since(earlier reading) time.Duration {
	return r.clock.Sub(earlier.clock) - (r.booted - earlier.booted)
}

// Run passes a timeline.ClockSet to the function "observe" for each change of the clock, until ctx is done. Run returns
// nil. If the kernel does not notify of changes, Run logs a warning and observes nothing.
func Run(ctx context.Context, observe func(context.Context, timeline.Observation), logger *zap.Logger) error {
	err := watch(ctx, observe, newAlarm, readClocks)
	if err != nil {
		logger.Warn("cannot observe changes of the node's clock: if the clock is set while a pod starts, the "+
			"reported durations can be wrong", zap.Error(err))
		<-ctx.Done()
	}
	return nil
}

// watch does the work of Run. If watch cannot observe changes any more, it returns an error.
func watch(ctx context.Context, observe func(context.Context, timeline.Observation), newAlarm func() (alarm, error),
	read func() (reading, error)) error {
	a, err := newAlarm()
	if err != nil {
		return err
	}
	defer a.close()
	defer context.AfterFunc(ctx, a.close)()
	known, err := read()
	if err != nil {
		return err
	}
	for {
		err := a.wait()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		now, err := read()
		if err != nil {
			return err
		}
		if by := now.since(known); by.Abs() >= leastChange {
			observe(ctx, timeline.ClockSet{ArrivedAt: now.clock, By: by})
			known = now
		}
	}
}
