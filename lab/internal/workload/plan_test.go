package workload

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

func from(variables map[string]string) func(string) string {
	return func(name string) string { return variables[name] }
}

func TestPlan(t *testing.T) {
	for name, test := range map[string]struct {
		variables map[string]string
		want      Plan
	}{
		"pause": {nil, Plan{}},
		"init": {map[string]string{RunFor: "1.5s"},
			Plan{RunFor: 1500 * time.Millisecond, Runs: true}},
		"init that ends immediately": {map[string]string{RunFor: "0s"}, Plan{Runs: true}},
		"failing init": {map[string]string{RunFor: "1s", ExitCode: "3"},
			Plan{RunFor: time.Second, Runs: true, ExitCode: 3}},
		"crash": {map[string]string{CrashAfter: "1s"},
			Plan{CrashAfter: time.Second, Crashes: true, ExitCode: 139}},
		"fill": {map[string]string{FillAfter: "2s"}, Plan{FillAfter: 2 * time.Second, Fills: true}},
		"stop": {map[string]string{StopFor: "2s", StopCode: "143"},
			Plan{StopFor: 2 * time.Second, StopCode: 143}},
		"hook":    {map[string]string{HookFor: "2s"}, Plan{HookFor: 2 * time.Second}},
		"started": {map[string]string{StartedAfter: "2s"}, Plan{StartedAfter: 2 * time.Second}},
		"ready":   {map[string]string{ReadyAfter: "2s"}, Plan{ReadyAfter: 2 * time.Second}},
	} {
		got, err := ReadPlan(from(test.variables))
		if err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
}

func TestPlanErrorNamesVariable(t *testing.T) {
	for name, value := range map[string]string{RunFor: "soon", CrashAfter: "-1s", ReadyAfter: "2", StopFor: "x",
		ExitCode: "256", StopCode: "-1"} {
		if _, err := ReadPlan(from(map[string]string{name: value})); err == nil ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s: error %v does not name the variable", name, value, err)
		}
	}
}

func TestTerminateEndsRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("writes its note to the root directory, as in a container")
	}
	t.Cleanup(func() { _ = os.Remove(startFile) })
	terminate := make(chan os.Signal, 1)
	terminate <- os.Interrupt
	if status := Run(Plan{Runs: true, RunFor: time.Hour, ExitCode: 7, StopCode: 3}, time.Now(), terminate,
		io.Discard); status != 3 {
		t.Errorf("status %d, want 3", status)
	}
}

func TestProbeBlocksUntilReady(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("writes its note to the root directory, as in a container")
	}
	t.Cleanup(func() { _ = errors.Join(os.Remove(startFile), os.Remove("/workload-"+WordReady)) })
	startedAt := time.Now()
	terminate := make(chan os.Signal, 1)
	terminate <- os.Interrupt
	plan := Plan{ReadyAfter: 50 * time.Millisecond}
	Run(plan, startedAt, terminate, io.Discard)
	var log strings.Builder
	for range 2 {
		if err := WaitReady(plan, &log); err != nil {
			t.Fatal(err)
		}
	}
	word, at, ok := ReadLine(log.String())
	if !ok || word != WordReady || at.Sub(startedAt) < plan.ReadyAfter {
		t.Errorf("log %q, want one line with %s", log.String(), WordReady)
	}
	if waited := time.Since(startedAt); waited < 50*time.Millisecond {
		t.Errorf("ready after %s", waited)
	}
}

func TestLogLines(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC)
	var log strings.Builder
	writeLine(&log, WordHookDone, at)
	if word, got, ok := ReadLine(log.String()); !ok || word != WordHookDone || !got.Equal(at) {
		t.Errorf("%q reads as %q, %s, %v", log.String(), word, got, ok)
	}
	for _, line := range []string{"", "done", "done at noon", "it was done at 2026-01-01T00:00:00Z"} {
		if _, _, ok := ReadLine(line); ok {
			t.Errorf("%q is accepted", line)
		}
	}
}
