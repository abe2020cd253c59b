// Package progress tells a user or a log file what the lab is doing. Each line shows the time since the start. The
// lines are plain text, so they are readable on a terminal, in a pipe and in a CI log.
package progress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Reporter prints lines. Each line starts with the time since New created the reporter. The methods of Reporter are
// safe for concurrent use.
type Reporter struct {
	mu        sync.Mutex
	out       io.Writer
	startedAt time.Time
}

// New returns a reporter that measures the time from now on.
func New(out io.Writer) *Reporter { return &Reporter{out: out, startedAt: time.Now()} }

// Say prints one line.
func (r *Reporter) Say(format string, arguments ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	fmt.Fprintf(r.out, "[%7s] %s\n", elapsed(time.Since(r.startedAt)), fmt.Sprintf(format, arguments...))
}

func elapsed(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1fs", d.Seconds())
	}
	return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
}

// Beat calls the function "describe" after each period and prints the returned text. Beat returns the function "stop",
// which ends the calls of "describe" and waits until the last call has returned.
func (r *Reporter) Beat(period time.Duration, describe func() string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(period)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				r.Say("%s", describe())
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Wait calls the function "check" repeatedly until the function returns nil, the limit is reached, or ctx ends. Every
// ten seconds, Wait prints the last error of the function "check". The returned error contains the argument "what" and
// the last error of the function "check".
func (r *Reporter) Wait(ctx context.Context, what string, limit, every time.Duration,
	check func(context.Context) error) error {
	startedAt := time.Now()
	ended := "timed out"
	command := ctx
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	nextBeat := startedAt.Add(10 * time.Second)
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// If ctx has ended, keep the error of the previous check, which is more useful than the new error.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		if fatal, ok := err.(interface{ Fatal() bool }); ok && fatal.Fatal() {
			return fmt.Errorf("wait for %s: %w", what, err)
		}
		if time.Now().After(nextBeat) {
			r.Say("still waiting for %s: %v", what, last)
			nextBeat = nextBeat.Add(10 * time.Second)
		}
		select {
		case <-ctx.Done():
			if errors.Is(command.Err(), context.Canceled) {
				ended = "interrupted"
			}
			return fmt.Errorf("wait for %s: %s after %s: %w", what, ended,
				time.Since(startedAt).Round(time.Second), last)
		case <-time.After(every):
		}
	}
}

// Permanent marks an error as permanent. If the function "check" returns such an error, Wait returns immediately.
func Permanent(err error) error { return permanent{err} }

type permanent struct{ error }

func (permanent) Fatal() bool     { return true }
func (h permanent) Unwrap() error { return h.error }
