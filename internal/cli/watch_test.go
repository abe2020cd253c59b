package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestWatcherPrintsChanges checks that a row is printed again if its state changes, but not if only its duration
// grows.
func TestWatcherPrintsChanges(t *testing.T) {
	for format, want := range map[string][]string{
		outputTable: {"POD         STATE", "shop/web-0  starting", "shop/web-1  starting", "", "shop/web-0  starting",
			"", "shop/web-1  ready"},
		outputName: {"pod/web-0", "pod/web-1", "", "pod/web-0", "", "pod/web-1"},
	} {
		var stdout, stderr strings.Builder
		w := watcher[api.Record]{
			agentQuery: agentQuery{Call: Call{Stdout: &stdout, Stderr: &stderr, Getenv: environment{}.get}},
			view:       startUps(false, "", nil),
			output:     listOutput{output: output{format: format}},
			known:      map[string]string{},
			headings:   true,
		}
		print := func(failed error, records ...api.Record) {
			var all []error
			if failed != nil {
				all = append(all, failed)
			}
			if code := w.print(records, all); code != ExitOK {
				t.Errorf("exit code %d", code)
			}
			stdout.WriteString("|\n")
		}
		one := startUp("web-0", "a", "", 0, phase{timeline.PhaseVolumes, 1})
		two := startUp("web-1", "b", "", 0, phase{timeline.PhasePull, 3})
		print(nil, one, two)
		one.Total, one.Phases[0].Length = 2*one.Total, 2*one.Phases[0].Length
		print(nil, one, two)
		one = startUp("web-0", "a", "", 0, phase{timeline.PhaseVolumes, 1}, phase{timeline.PhasePull, 1})
		print(nil, one, two)
		print(errors.New("node b: gone"), one)
		two.State = timeline.StateReady
		print(nil, one, two)
		var got []string
		for block := range strings.SplitSeq(stdout.String(), "|\n") {
			if got = append(got, strings.Split(strings.TrimSuffix(block, "\n"), "\n")...); block == "" {
				continue
			}
		}
		got = got[:len(got)-1]
		if len(got) != len(want) {
			t.Fatalf("%s: got %q, want %q", format, got, want)
		}
		for i := range want {
			if !strings.HasPrefix(got[i], want[i]) || (want[i] == "") != (got[i] == "") {
				t.Errorf("%s: line %d is %q, want %q", format, i, got[i], want[i])
			}
		}
		if strings.Count(stderr.String(), "node b: gone") != 1 {
			t.Errorf("stderr %q", stderr.String())
		}
	}
}

// TestWatchEndsWithContext checks that the command ends with success when its context is canceled, for example after
// Ctrl-C.
func TestWatchEndsWithContext(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	var stdout, stderr strings.Builder
	a := agentQuery{Call: Call{Stdout: &stdout, Stderr: &stderr, Getenv: environment{}.get}}
	rounds := 0
	code := show(
		ctx,
		a,
		startUps(false, "", nil),
		listOutput{output: output{format: outputJSON}, watch: true},
		maxLimit,
		func(context.Context) ([]api.Record, []error, error) {
			if rounds++; rounds == 2 {
				interrupt()
			}
			return []api.Record{startUp("web-0", "a", "", 0, phase{timeline.PhasePull, 3})}, nil, nil
		},
	)
	if code != ExitOK || rounds != 2 || strings.Count(stdout.String(), `"name": "web-0"`) != 1 {
		t.Errorf("exit code %d after %d rounds: %s%s", code, rounds, stdout.String(), stderr.String())
	}
}
