package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// TestWorkloadDurations judges three pods that were ready after 2, 4 and 9 seconds, and one pod in progress.
func TestWorkloadDurations(t *testing.T) {
	const right = `{"items":[
		{"name":"a","state":"ready","total_seconds":2.1,"total_error_seconds":0.5},
		{"name":"b","state":"ready","total_seconds":3.9,"total_error_seconds":0.1},
		{"name":"c","state":"ready","total_seconds":9,"total_error_seconds":0.5},
		{"name":"d","state":"starting","total_seconds":70,"total_error_seconds":0.5}],
		"summary":{"durations":{"mean_seconds":5,"p50_seconds":3.9,"p90_seconds":9,"slowest_seconds":9}}}`
	arrival := func(pod string) bench.Arrival {
		ready := map[string]time.Duration{"a": 2 * time.Second, "b": 4 * time.Second, "c": 9 * time.Second}[pod]
		if ready == 0 {
			return bench.Arrival{CreatedAt: start()}
		}
		return bench.Arrival{CreatedAt: start(), ReadyAt: after(ready)}
	}
	for name, test := range map[string]struct {
		from, to string
		want     string // part of an error; empty if the verdict passes
	}{
		"right":             {"", "", ""},
		"all twice as long": {`"total_seconds":9`, `"total_seconds":18`, "pod c was ready after 9.000 s"},
		"outside the error": {`"total_error_seconds":0.1`, `"total_error_seconds":0`, ""}, // within the watch's delay
		"small error":       {`3.9,"total_error_seconds":0.1`, `3.8,"total_error_seconds":0.05`, "pod b was ready"},
		"large error":       {`2.1,"total_error_seconds":0.5`, `3.1,"total_error_seconds":5`, "pod a was ready after"},
		"wrong p50":         {`"p50_seconds":3.9`, `"p50_seconds":9`, "p50: "},
		"wrong p90":         {`"p90_seconds":9`, `"p90_seconds":4`, "p90: "},
		"wrong mean":        {`"mean_seconds":5`, `"mean_seconds":6`, "mean: "},
		"no slowest":        {`,"slowest_seconds":9`, ``, "slowest: the agent reports no value"},
		"unknown pod":       {`"name":"a"`, `"name":"x"`, `the ready pod "x"`},
	} {
		text := strings.Replace(right, test.from, test.to, 1)
		report, err := readWorkloadReport(text)
		if err != nil {
			t.Fatal(err)
		}
		v := &Verdict{}
		if err := v.judgeDurations(report, arrival); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		wrong := strings.Join(v.Wrong(), "\n")
		if (wrong != "") != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %q, want %q", name, wrong, test.want)
		}
	}
}

func TestClearlySlower(t *testing.T) {
	arrival := func(pod string) bench.Arrival {
		ready := map[string]time.Duration{"a": 2 * time.Second, "b": 4 * time.Second, "c": 9 * time.Second}[pod]
		return bench.Arrival{CreatedAt: start(), ReadyAt: after(ready)}
	}
	for _, test := range []struct {
		pulled, present string
		want            bool
	}{{"c", "ab", true}, {"cb", "a", false}, {"a", "c", false}} {
		got, err := clearlySlower(arrival, strings.Split(test.pulled, ""), strings.Split(test.present, ""))
		if got != test.want || err != nil {
			t.Errorf("%s and %s: got %t, %v", test.pulled, test.present, got, err)
		}
	}
	unready := func(string) bench.Arrival { return bench.Arrival{CreatedAt: start()} }
	if _, err := clearlySlower(unready, []string{"a"}, []string{"b"}); err == nil {
		t.Error("got no error for pods that never became ready")
	}
}
