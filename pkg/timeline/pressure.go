package timeline

import (
	"slices"
	"time"
)

// What is kept of samples, in 48 KiB at most: the latest ones, which are about a minute, all; before them one in six seconds. So an
// hour fits, after which a start-up is given up.
const (
	maxPressureLog = 1024
	fineSamples    = 256
	coarseEvery    = 6 * time.Second
	thinnedLog     = 900 // there is room again for a while
)

// Stalled is for how long tasks of the node waited for a resource since it was booted, while others may have gone on ("some" in
// the kernel's words, Documentation/accounting/psi.rst).
type Stalled struct{ CPU, IO, Memory time.Duration }

// Pressure is the share of a stretch, from 0 to 1, in which tasks of the node waited for a resource.
type Pressure struct{ CPU, IO, Memory float64 }

// highPressure is the share from which on a verdict speaks of it: half of the time something waited.
const highPressure = 0.5

// High names the resource that was waited for the most, and for how much of the stretch; empty if none was for half of it. It may
// be asked of nil.
func (p *Pressure) High() (resource string, share float64) {
	if p == nil {
		return "", 0
	}
	share = highPressure
	for _, r := range [...]struct {
		name  string
		share float64
	}{{"io", p.IO}, {"memory", p.Memory}, {"cpu", p.CPU}} { // of equal ones the one that explains more
		if r.share > share || resource == "" && r.share == share {
			resource, share = r.name, r.share
		}
	}
	if resource == "" {
		return "", 0
	}
	return resource, share
}

// PressureLog remembers samples of the node's pressure, to say what it was in each phase. Not safe for concurrent use; the zero
// one is empty.
type PressureLog struct{ samples []PressureSeen } // the oldest first

// Observe takes a sample; any other observation tells nothing. One that goes back, in time or in what it counts, begins anew:
// the clock was set, or the machine is another one.
func (l *PressureLog) Observe(o Observation) {
	seen, ok := o.(PressureSeen)
	if !ok {
		return
	}
	if n := len(l.samples); n > 0 && !seen.follows(l.samples[n-1]) {
		l.samples = l.samples[:0]
	}
	if len(l.samples) == maxPressureLog {
		l.thin()
	}
	l.samples = append(l.samples, seen)
}

func (o PressureSeen) follows(before PressureSeen) bool {
	return o.ArrivedAt.After(before.ArrivedAt) && o.Stalled.CPU >= before.Stalled.CPU &&
		o.Stalled.IO >= before.Stalled.IO && o.Stalled.Memory >= before.Stalled.Memory
}

// thin makes room.
func (l *PressureLog) thin() {
	coarse := len(l.samples) - fineSamples
	kept := l.samples[:1]
	for i, s := range l.samples[1:] {
		if i+1 >= coarse || s.ArrivedAt.Sub(kept[len(kept)-1].ArrivedAt) >= coarseEvery {
			kept = append(kept, s)
		}
	}
	l.samples = slices.Delete(kept, 0, max(0, len(kept)-thinnedLog))
}

// Complete puts the pressure into the phases of which it is known. They are copied first: others may read them.
func (l *PressureLog) Complete(t *Timeline) {
	if len(l.samples) < 2 {
		return
	}
	phases := slices.Clone(t.Phases)
	for i := range phases {
		if p, ok := l.during(phases[i].StartAt, phases[i].EndAt); ok {
			phases[i].Pressure = &p
		}
	}
	t.Phases = phases
}

// during is the pressure of a stretch, over that part of it which samples enclose, half of it at least. Between two samples that
// are farther apart than the stretch is long they tell nothing of it.
func (l *PressureLog) during(start, end time.Time) (Pressure, bool) {
	before, after := l.at(start, end.Sub(start), +1), l.at(end, end.Sub(start), -1)
	length := after.ArrivedAt.Sub(before.ArrivedAt)
	if length <= 0 || 2*length < end.Sub(start) {
		return Pressure{}, false
	}
	share := func(before, after time.Duration) float64 { return min(1, float64(after-before)/float64(length)) }
	return Pressure{
		CPU:    share(before.Stalled.CPU, after.Stalled.CPU),
		IO:     share(before.Stalled.IO, after.Stalled.IO),
		Memory: share(before.Stalled.Memory, after.Stalled.Memory),
	}, true
}

// at is what a sample at an instant would have been, as if all had grown evenly between the two beside it. Where these are farther
// apart than is allowed, or it has but one, it is the next sample (+1) or the one before (-1).
func (l *PressureLog) at(instant time.Time, apart time.Duration, direction int) PressureSeen {
	i, exact := slices.BinarySearchFunc(l.samples, instant, func(s PressureSeen, at time.Time) int { return s.ArrivedAt.Compare(at) })
	switch {
	case exact, i == 0:
		return l.samples[i]
	case i == len(l.samples):
		return l.samples[i-1]
	}
	a, b := l.samples[i-1], l.samples[i]
	gap := b.ArrivedAt.Sub(a.ArrivedAt)
	switch {
	case gap <= apart:
	case direction > 0:
		return b
	default:
		return a
	}
	part := float64(instant.Sub(a.ArrivedAt)) / float64(gap)
	between := func(from, to time.Duration) time.Duration { return from + time.Duration(part*float64(to-from)) }
	return PressureSeen{ArrivedAt: instant, Stalled: Stalled{
		CPU:    between(a.Stalled.CPU, b.Stalled.CPU),
		IO:     between(a.Stalled.IO, b.Stalled.IO),
		Memory: between(a.Stalled.Memory, b.Stalled.Memory),
	}}
}
