package fleetmetrics

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/fleetmetrics/fleetmetricstest"
)

var update = flag.Bool("update", false, "rewrite fleetmetricstest/queries.txt; read the difference by eye")

// TestQueriesFile compares the queries with a file. A test of the lab's package monitoring evaluates the queries in
// this file with the real rules.
func TestQueriesFile(t *testing.T) {
	const path = "fleetmetricstest/queries.txt"
	p := newPeriod(fleetmetricstest.Until(), fleetmetricstest.Length)
	var text strings.Builder
	for _, q := range slices.Concat(p.presenceQueries(), p.reportQueries()) {
		fmt.Fprintf(&text, "%s: %s\n", q.name, q.expr)
	}
	if *update {
		if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != text.String() {
		t.Errorf("the queries differ from %s: run go test ./internal/fleetmetrics -update (%v)", path, err)
	}
}

// TestPeriod checks the windows of a period: whole hours that end at the time of the report.
func TestPeriod(t *testing.T) {
	noon := time.Date(2026, time.March, 2, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		until  time.Time
		length time.Duration
		hours  int
		want   string
	}{
		{noon, 24 * time.Hour, 24, "sum_over_time(x[86399s:60m])"},
		{noon.Add(400 * time.Millisecond), time.Minute, 1, "sum_over_time(x[3599s:60m])"},
		{noon.Add(61 * time.Minute), 61 * time.Minute, 2, "sum_over_time((x offset -60s)[7199s:60m])"},
		{noon.Add(-time.Second), time.Hour, 1, "sum_over_time((x offset -3599s)[3599s:60m])"},
	} {
		p := newPeriod(test.until, test.length)
		if got := p.sumOverTime("x", hour); got != test.want || p.hours != test.hours {
			t.Errorf("%s before %s: %d hours, %s; want %d hours, %s", test.length, test.until, p.hours, got, test.hours,
				test.want)
		}
	}
}
