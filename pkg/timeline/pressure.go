package timeline

import (
	"slices"
	"time"
)

// These limits restrict the samples in a PressureLog to 48 KiB. For approximately the last minute, the log keeps every
// sample. For earlier times, the log keeps one sample every six seconds. So the log covers one hour. The agent does not
// follow a start-up for longer than one hour.
const (
	maxPressureLog = 1024
	fineSamples    = 256
	coarseEvery    = 6 * time.Second
	thinnedLog     = 900 // maximum number of samples after discardSamples, so that there is room for new samples
)

// Stalled is the total time since boot in which at least one task of the node waited for a resource. The kernel calls
// this value "some" (Documentation/accounting/psi.rst).
type Stalled struct {
	CPU    time.Duration `json:"cpu_stalled,omitzero"`
	IO     time.Duration `json:"io_stalled,omitzero"`
	Memory time.Duration `json:"memory_stalled,omitzero"`
}

// Pressure is the share of a time span in which tasks of the node waited for a resource. Each value is from 0 to
// 1.
type Pressure struct{ CPU, IO, Memory float64 }

// highPressure is the lowest share at which a verdict mentions pressure. The share 0.5 means that tasks waited for half
// of the time.
const highPressure = 0.5

// High returns the resource with the highest pressure and its share. The resource is empty if no share reached
// highPressure. The receiver p can be nil.
func (p *Pressure) High() (resource string, share float64) {
	if p == nil {
		return "", 0
	}
	share = highPressure
	for _, r := range [...]struct {
		name  string
		share float64
		// If two shares are equal, the resource that comes first in this list wins, because it explains more delays.
	}{{"io", p.IO}, {"memory", p.Memory}, {"cpu", p.CPU}} {
		if r.share > share || resource == "" && r.share == share {
			resource, share = r.name, r.share
		}
	}
	if resource == "" {
		return "", 0
	}
	return resource, share
}

// PressureLog keeps samples of the node's pressure and computes the pressure of each phase from them.
// PressureLog is not safe for concurrent use. The zero value is an empty log.
type PressureLog struct{ samples []PressureSeen } // the oldest sample first

// Observe adds a sample to the log. Observe ignores all other observations. Each sample must be later than the previous
// sample, and no counter may be lower than before. If a sample breaks this rule, Observe first empties the log, because
// the clock was set back or the samples come from different machines.
func (l *PressureLog) Observe(o Observation) {
	seen, ok := o.(PressureSeen)
	if !ok {
		return
	}
	if n := len(l.samples); n > 0 && !seen.continues(l.samples[n-1]) {
		l.samples = l.samples[:0]
	}
	if len(l.samples) == maxPressureLog {
		l.discardSamples()
	}
	l.samples = append(l.samples, seen)
}

func (o PressureSeen) continues(before PressureSeen) bool {
	// The clock might have been set back. So the comparison must not use the monotonic clock, which Round removes.
	return o.ArrivedAt.Round(0).After(before.ArrivedAt.Round(0)) && o.Stalled.CPU >= before.Stalled.CPU &&
		o.Stalled.IO >= before.Stalled.IO && o.Stalled.Memory >= before.Stalled.Memory
}

// discardSamples removes old samples to make room for new samples.
func (l *PressureLog) discardSamples() {
	coarse := len(l.samples) - fineSamples
	kept := l.samples[:1]
	for i, s := range l.samples[1:] {
		if i+1 >= coarse || s.ArrivedAt.Sub(kept[len(kept)-1].ArrivedAt) >= coarseEvery {
			kept = append(kept, s)
		}
	}
	l.samples = slices.Delete(kept, 0, max(0, len(kept)-thinnedLog))
}

// Complete sets the pressure of each phase for which the pressure is known. Complete copies the phases first, because
// other goroutines can read the original phases.
func (l *PressureLog) Complete(t *Timeline) {
	if len(l.samples) < 2 || t.ClockWasSet() { // the length of the start-up is unknown
		return
	}
	phases := slices.Clone(t.Phases)
	for i := range phases {
		if p, ok := l.pressureDuring(phases[i].StartAt, phases[i].EndAt); ok {
			phases[i].Pressure = &p
		}
	}
	t.Phases = phases
}

// pressureDuring returns the pressure of a time span. The second result is false if the samples cover less than half of
// the span. If the time between two samples is longer than the span, pressureDuring does not interpolate between them.
func (l *PressureLog) pressureDuring(start, end time.Time) (Pressure, bool) {
	before, after := l.sampleAt(start, end.Sub(start), +1), l.sampleAt(end, end.Sub(start), -1)
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

// sampleAt returns a sample for an instant. It interpolates between the previous and the next sample. If the time
// between the two samples is longer than maxGap, sampleAt returns the next sample (direction +1) or the previous sample
// (direction -1). If only one of the two samples exists, sampleAt returns this sample.
func (l *PressureLog) sampleAt(instant time.Time, maxGap time.Duration, direction int) PressureSeen {
	i, exact := slices.BinarySearchFunc(l.samples, instant,
		func(s PressureSeen, at time.Time) int { return s.ArrivedAt.Compare(at) })
	switch {
	case exact, i == 0:
		return l.samples[i]
	case i == len(l.samples):
		return l.samples[i-1]
	}
	a, b := l.samples[i-1], l.samples[i]
	gap := b.ArrivedAt.Sub(a.ArrivedAt)
	switch {
	case gap <= maxGap:
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
