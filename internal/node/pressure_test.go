package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// kernel writes the three pressure files in the kernel's format. Totals are in microseconds.
func kernel(t *testing.T, dir, cpu, io, memory string) {
	t.Helper()
	for name, total := range map[string]string{"cpu": cpu, "io": io, "memory": memory} {
		text := "some avg10=1.23 avg60=0.00 avg300=0.00 total=" + total +
			"\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadPressure(t *testing.T) {
	dir := t.TempDir()
	if _, err := ReadPressure(dir); !errors.Is(err, errUnmeasured) {
		t.Errorf("without the files: %v", err)
	}
	kernel(t, dir, "1", "2000000", "0")
	got, err := ReadPressure(dir)
	if want := (timeline.Stalled{CPU: time.Microsecond, IO: 2 * time.Second}); got != want || err != nil {
		t.Errorf("read %+v, %v, want %+v", got, err, want)
	}
	for _, bad := range []string{"", "x", "-1", "99999999999999999999", "9223372036854775807"} {
		kernel(t, dir, bad, "0", "0")
		if _, err := ReadPressure(dir); err == nil || isUnmeasured(err) || !strings.Contains(err.Error(), "cpu") {
			t.Errorf("total %q: %v", bad, err)
		}
	}
	if _, err := os.Stat(PressureFiles); err == nil { // the machine that runs the test measures pressure
		if s, err := ReadPressure(PressureFiles); err != nil && !isUnmeasured(err) || err == nil && s.CPU <= 0 {
			t.Errorf("this machine's pressure: %+v, %v", s, err)
		}
	}
}

func TestPressureIsReadOnlyOnDemand(t *testing.T) {
	dir := t.TempDir()
	kernel(t, dir, "1", "2", "3")
	synctest.Test(t, func(t *testing.T) {
		samples, reports := 0, []string{}
		p := NewPressure(PressureConfig{Dir: dir, Now: time.Now,
			Observe: func(context.Context, timeline.Observation) { samples++ },
			Report:  func(_ bool, detail string) { reports = append(reports, detail) },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { _ = p.Run(ctx); close(ended) }()
		for _, step := range []struct {
			wanted bool
			after  time.Duration
			want   int // samples so far
		}{{false, time.Hour, 0}, {true, 0, 1}, {true, time.Second, 6}, {false, time.Hour, 6},
			{true, 500 * time.Millisecond, 9}} {
			p.Sample(step.wanted)
			synctest.Wait()
			time.Sleep(step.after)
			synctest.Wait()
			if samples != step.want {
				t.Errorf("after %+v: %d samples", step, samples)
			}
		}
		kernel(t, dir, "broken", "2", "3")
		time.Sleep(time.Second)
		synctest.Wait()
		if samples != 9 || !strings.Contains(reports[len(reports)-1], "broken") {
			t.Errorf("%d samples, reports %q", samples, reports)
		}
		stop()
		<-ended
		p.Sample(true) // does not block
		p.Sample(false)
	})
}

func TestKernelWithoutPressureIsReportedOnce(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var reports []string
		p := NewPressure(PressureConfig{Dir: dir, Now: time.Now,
			Observe: func(context.Context, timeline.Observation) { t.Error("observed") },
			Report:  func(_ bool, detail string) { reports = append(reports, detail) },
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go func() { _ = p.Run(ctx) }()
		for range 3 {
			p.Sample(true)
			time.Sleep(time.Minute)
		}
		synctest.Wait()
		if len(reports) != 1 || !strings.Contains(reports[0], "psi=1") {
			t.Errorf("reports %q", reports)
		}
	})
}

func FuzzSomeTotal(f *testing.F) {
	f.Add([]byte("some avg10=0.00 avg60=0.00 avg300=0.00 total=12\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"))
	f.Add([]byte("full total=1\nsome"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if total, err := someTotal(content); total < 0 || err == nil && !strings.Contains(string(content), "total=") {
			t.Errorf("%q: %v, %v", content, total, err)
		}
	})
}
