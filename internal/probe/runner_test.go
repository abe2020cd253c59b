package probe

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// notebook is a Recorder that keeps the outcomes as lines.
type notebook struct {
	mu    sync.Mutex
	lines []string
}

func (n *notebook) Record(o Outcome) { n.note(o.Probe + " " + string(o.Result)) }
func (n *notebook) Forget(p string)  { n.note(p + " forgotten") }

func (n *notebook) note(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, line)
}

func (n *notebook) take() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := n.lines
	n.lines = nil
	slices.Sort(lines)
	return slices.Compact(lines)
}

// same returns a Load function for a probes file that does not change.
func same(config Config) func() (Config, error) {
	return func() (Config, error) { return config, nil }
}

func ignore(bool, string) {}

func TestCutKeepsCharactersWhole(t *testing.T) {
	for n := range 3 {
		text := strings.Repeat("x", maxDetail-n) + "€€"
		if got := shorten(text); !utf8.ValidString(got) || !strings.HasPrefix(text, got) || len(got) < maxDetail-2 {
			t.Errorf("%d bytes before a character: got %q", maxDetail-n, got[len(got)-4:])
		}
	}
}

func TestRunnerProbesAtIntervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logged := observer.New(zap.DebugLevel)
		config,
			err := Parse([]byte("probes: [{name: cri, kind: cri, interval: 10s, timeout: 1s, jitter: 0s}, {name: "+
			"api, kind: apiserver, interval: 1h}]"), Node{})
		if err != nil {
			t.Fatal(err)
		}
		var trips []time.Time // only the probe's goroutine uses trips until the goroutine has ended
		var book notebook
		r := NewRunner(RunnerConfig{Config: config, Load: same(config), Report: ignore, Recorder: &book,
			Logger: zap.New(core),
			Runtime: func(ctx context.Context) error {
				switch trips = append(trips, time.Now()); len(trips) {
				case 2, 3:
					return errors.New("no")
				case 5:
					<-ctx.Done()
					return ctx.Err()
				}
				return nil
			},
			APIServer: func(context.Context) error { return errors.New("requested") },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		begun := time.Now()
		go func() { ended <- r.Run(ctx) }()
		time.Sleep(62 * time.Second)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(trips) < 6 || trips[0].Sub(begun) >= 10*time.Second {
			t.Fatalf("probed at %v, started at %v", trips, begun)
		}
		for i, want := range []time.Duration{10 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second,
			11 * time.Second} {
			if got := trips[i+1].Sub(trips[i]); got != want { // the last attempt follows an attempt that took too long
				t.Errorf("attempt %d started %s after the previous one, want %s", i+1, got, want)
			}
		}
		cri := slices.DeleteFunc(book.lines, func(line string) bool { return !strings.HasPrefix(line, "cri ") })
		begin := []string{"cri ok", "cri error", "cri error", "cri ok", "cri timeout", "cri ok"}
		if !slices.Equal(cri[:6], begin) {
			t.Errorf("recorded %q", cri)
		}
		var messages []string
		for _, entry := range logged.FilterField(zap.String("probe", "cri")).All() {
			messages = append(messages, fmt.Sprint(entry.Message, " ", entry.ContextMap()["result"]))
		}
		want := []string{"probe failed error", "probe recovered ok", "probe failed timeout",
			"probe recovered ok"}
		if !slices.Equal(messages, want) {
			t.Errorf("logged %q, want only changes", messages)
		}
	})
}

// The log limits the length of errors, because a server controls this length.
func TestLoggedErrorsAreBounded(t *testing.T) {
	core, logged := observer.New(zap.DebugLevel)
	results := resultLogger{logger: zap.New(core)}
	results.log(Outcome{Probe: "a", Result: ResultError, Detail: strings.Repeat("x", 1<<20)})
	if entries := logged.All(); len(entries) != 1 || len(entries[0].ContextMap()["detail"].(string)) != maxDetail {
		t.Errorf("logged %d entries", len(entries))
	}
}

func TestMostUsedRegistriesAreProbed(t *testing.T) {
	alive := strings.TrimPrefix(registryServer(t), "http://")
	gone := unusedAddress(t)
	pulled := []string{alive, gone, "third.invalid"}
	var mu sync.Mutex
	var book notebook
	config := Config{Registries: Registries{Top: 2, PlainHTTP: []string{alive, gone}}}
	config.Registries.Interval.Duration, config.Registries.Timeout.Duration = 20*time.Millisecond, time.Second
	r := NewRunner(RunnerConfig{Config: config, Load: same(config), Report: ignore, Recorder: &book,
		Logger: zap.NewNop(), Pulled: func(context.Context) []string {
			mu.Lock()
			defer mu.Unlock()
			return slices.Clone(pulled)
		}})
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	until := func(want ...string) {
		t.Helper()
		seen := map[string]bool{}
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(
			5 * time.Millisecond) {
			for _, line := range book.take() {
				seen[line] = true
			}
			if !slices.ContainsFunc(want, func(line string) bool { return !seen[line] }) {
				return
			}
		}
		t.Fatalf("recorded %v, want %q", slices.Collect(maps.Keys(seen)), want)
	}
	until("registry:"+alive+" ok", "registry:"+gone+" connect_error")
	mu.Lock()
	pulled = []string{"a/b", alive} // the first name is not a registry
	mu.Unlock()
	until("registry:" + gone + " forgotten")
	until("registry:" + alive + " ok")
	book.take()
	until("registry:" + alive + " ok")
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if slices.ContainsFunc(book.take(), func(line string) bool { return line != "registry:"+alive+" ok" }) {
		t.Error("still probes other registries, or an invalid one")
	}
}

func TestDockerHubHost(t *testing.T) {
	p := registryProbe(Registries{}, "docker.io")
	if p.Target != "registry-1.docker.io" || p.Name != "registry:docker.io" {
		t.Errorf("asks %+v", p)
	}
}
