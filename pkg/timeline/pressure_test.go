package timeline

import (
	"testing"
	"time"
)

func TestPressureLog(t *testing.T) {
	ms := func(n int) time.Time { return base.Add(time.Duration(n) * time.Millisecond) }
	// stalled returns n milliseconds for IO, half of n for CPU, and no time for memory.
	stalled := func(n int) Stalled {
		io := time.Duration(n) * time.Millisecond
		return Stalled{CPU: io / 2, IO: io}
	}
	// At first, tasks wait for CPU and IO, long before the measured spans. In the span from 0 to 1 s, no task waits.
	// From 1 s to 3 s, tasks wait for IO in 80 % of the time.
	var log PressureLog
	log.Observe(PressureSeen{ms(-60_000), stalled(0)})
	log.Observe(PressureSeen{ms(-59_000), stalled(500)})
	for n := 0; n <= 1000; n += 250 {
		log.Observe(PressureSeen{ms(n), stalled(1000)})
	}
	for n := 1250; n <= 3000; n += 250 {
		log.Observe(PressureSeen{ms(n), stalled(1000 + (n-1000)*8/10)})
	}
	for _, c := range []struct {
		what       string
		start, end int
		want       float64 // expected share of IO; negative if unknown
	}{
		{"before the stall", 0, 1000, 0},
		{"the stall, between samples", 1100, 2900, 0.8},
		{"both", 0, 2000, 0.4},
		{"as long as the time between two samples", 1300, 1550, 0.8},
		{"shorter", 1300, 1500, -1},
		{"more than half of it before the first of these samples", -1500, 1000, -1},
		{"less than half of it before them", -500, 1000, 0},
		{"less than half of it after the last one", 2000, 3900, 0.8},
		{"more than half of it after", 2500, 4000, -1},
		{"all of it after", 4000, 5000, -1},
		{"all of it before", -70_000, -65_000, -1},
		{"in the gap without samples", -30_000, -20_000, -1},
		{"across the gap without samples", -59_000, 1000, 500. / 60_000},
		{"no length", 2000, 2000, -1},
	} {
		tl := Timeline{Phases: []Span{{StartAt: ms(c.start), EndAt: ms(c.end)}}}
		shared := tl.Phases
		log.Complete(&tl)
		got := tl.Phases[0].Pressure
		switch {
		case shared[0].Pressure != nil:
			t.Errorf("%s: Complete changed the original phases", c.what)
		case c.want < 0 && got != nil:
			t.Errorf("%s: %+v, want nothing", c.what, *got)
		case c.want >= 0 && (got == nil || !near(got.IO, c.want) || !near(got.CPU, c.want/2) || got.Memory != 0):
			t.Errorf("%s: %+v, want %v", c.what, got, c.want)
		}
	}
	// A lower counter or an earlier time must restart the log, because another machine or another clock must have
	// produced the sample.
	log.Observe(PressureSeen{ms(3250), stalled(5)})
	if n := len(log.samples); n != 1 {
		t.Errorf("%d samples after the counters restarted", n)
	}
	log.Observe(PressureSeen{ms(100), stalled(6)})
	if n := len(log.samples); n != 1 {
		t.Errorf("%d samples after the clock went back", n)
	}
}

func near(a, b float64) bool { return a-b < 1e-6 && b-a < 1e-6 }

func TestPressureLogIsBounded(t *testing.T) {
	var log PressureLog
	const every, hour = 250 * time.Millisecond, time.Hour
	for at := -10 * hour; at <= hour; at += every {
		log.Observe(PressureSeen{base.Add(at), Stalled{IO: (at + 10*hour) / 4}})
		if n := len(log.samples); n > maxPressureLog {
			t.Fatalf("%d samples", n)
		}
	}
	for start, length := range map[time.Duration]time.Duration{
		0: hour, hour - 50*time.Second: 500 * time.Millisecond, time.Minute: 20 * time.Minute,
		10 * time.Second: 10 * time.Second,
	} {
		tl := Timeline{Phases: []Span{{StartAt: base.Add(start), EndAt: base.Add(start + length)}}}
		log.Complete(&tl)
		if p := tl.Phases[0].Pressure; p == nil || !near(p.IO, 0.25) {
			t.Errorf("from %s for %s: %+v, want a quarter", start, length, p)
		}
	}
}

func TestHighPressure(t *testing.T) {
	for want, p := range map[string]*Pressure{
		"": nil, "io": {CPU: 0.9, IO: 0.9}, "cpu": {CPU: 0.91, IO: 0.9, Memory: 0.5},
		"memory": {Memory: 0.5, CPU: 0.49},
	} {
		if got, _ := p.High(); got != want {
			t.Errorf("%+v: %q", p, got)
		}
	}
	if got, share := (&Pressure{0.49, 0.49, 0.49}).High(); got != "" || share != 0 {
		t.Errorf("a little of all: %q, %v", got, share)
	}
}
