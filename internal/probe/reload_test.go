package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
)

// closedRegistry is a registry that refuses connections.
const closedRegistry = "127.0.0.1:1"

// rewritten is a file that a test rewrites.
type rewritten struct {
	mu   sync.Mutex
	text string
}

func (f *rewritten) write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.text = text
}

func (f *rewritten) load() (Config, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Parse([]byte(f.text), Node{})
}

// running is a Runner with a rewritten file. In these tests, round trips succeed and no registry responds.
type running struct {
	file    rewritten
	book    notebook
	mu      sync.Mutex
	results []string
	stop    func()
}

func runFile(t *testing.T, text string) *running {
	r := &running{file: rewritten{text: text}}
	config, err := r.file.load()
	if err != nil {
		t.Fatal(err)
	}
	succeed := func(context.Context) error { return nil }
	runner := NewRunner(RunnerConfig{
		Config: config, Load: r.file.load, Recorder: &r.book, Runtime: succeed, APIServer: succeed,
		Logger: zap.NewNop(),
		Pulled: func(context.Context) []string { return []string{closedRegistry} },
		Report: func(up bool, detail string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if line := fmt.Sprint(up, " ", detail); len(r.results) == 0 || r.results[len(r.results)-1] != line {
				r.results = append(r.results, line)
			}
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx) }()
	r.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	return r
}

// linesWithin returns the lines recorded within a duration, without duplicates.
func (r *running) linesWithin(d time.Duration) []string {
	synctest.Wait()
	r.book.take()
	time.Sleep(d)
	synctest.Wait()
	return r.book.take()
}

func TestFileIsReloaded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pace := "interval: 2s, jitter: 0s"
		r := runFile(t, "probes: [{name: stays, kind: cri, "+pace+"}, {name: changes, kind: cri, "+pace+
			"}, {name: goes, kind: apiserver, "+pace+"}]")
		expect := func(what string, want ...string) {
			t.Helper()
			got := r.linesWithin(lookEvery + 3*time.Second)
			if !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", what, got, want)
			}
		}
		expect("at first", "changes ok", "goes ok", "stays ok")
		expect("unchanged", "changes ok", "goes ok", "stays ok")
		r.file.write("probes: [{name: stays, kind: cri, " + pace + "}, {name: changes, kind: apiserver, " + pace +
			"}, {name: comes, kind: cri, " + pace + "}]")
		time.Sleep(lookEvery)
		got := r.book.take()
		for _, name := range []string{"changes", "goes"} {
			if !slices.Contains(got, name+" forgotten") {
				t.Errorf("the series of %s are not removed: %q", name, got)
			}
		}
		if slices.Contains(got, "stays forgotten") {
			t.Error("an unchanged probe was restarted")
		}
		expect("written anew", "changes ok", "comes ok", "stays ok")
		r.file.write("probes: [{name: broken, kind: cri, interval: 500ms, timeout: 100ms, jitter: 0s}]")
		expect("broken", "changes ok", "comes ok", "stays ok")
		r.file.write(
			"registries: {top: 1, interval: 1s, timeout: 1s, jitter: 0s, plain_http: ['" + closedRegistry + "']}",
		)
		time.Sleep(lookEvery)
		r.book.take()
		if got := r.linesWithin(5 * time.Second); len(got) != 1 ||
			!strings.HasPrefix(got[0], "registry:"+closedRegistry+" ") {
			t.Errorf("with registries only: %q", got)
		}
		r.file.write("probes: [{name: last, kind: cri, " + pace + "}]")
		time.Sleep(lookEvery)
		if got := r.book.take(); !slices.Contains(got, "registry:"+closedRegistry+" forgotten") {
			t.Errorf("the series of the registry are not removed: %q", got)
		}
		expect("at last", "last ok")
		r.stop()
		if got := r.book.take(); slices.Contains(got, "last forgotten") {
			t.Error("stopping the agent removes the latest results")
		}
		want := []string{"true 3 configured",
			"false cannot reload the probes file, the agent uses the previous content: probes[0] (broken): interval: " +
				"invalid duration 500ms: must be 1s to 24h0m0s",
			"true 0 configured, and up to 1 registries that pods pull from", "true 1 configured"}
		if !slices.Equal(r.results, want) {
			t.Errorf("reported %q, want %q", r.results, want)
		}
	})
}

// If the Runner stops during a probe, Run returns at once.
func TestRunnerStopsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config,
			err := Parse([]byte("probes: [{name: a, kind: cri, interval: 1m, timeout: 1m, jitter: 0s}, {name: b, "+
			"kind: cri, interval: 1m, timeout: 1m, jitter: 0s}]"), Node{})
		if err != nil {
			t.Fatal(err)
		}
		var book notebook
		r := NewRunner(RunnerConfig{Config: config, Load: func() (Config, error) {
			return Config{}, errors.New("gone")
		}, Report: ignore, Recorder: &book, Logger: zap.NewNop(),
			Runtime: func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(61 * time.Second) // almost always, attempts of both probes are in progress
		stoppedAt := time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(stoppedAt) > 0 {
			t.Errorf("ended %s later: %v", time.Since(stoppedAt), err)
		}
	})
}
