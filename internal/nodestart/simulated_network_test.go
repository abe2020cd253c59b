package nodestart

import "slices"

// worldNetwork is the truth about the condition NetworkUnavailable. A time of infinity is never reached.
type worldNetwork struct {
	heldFalse   bool    // an object from before the boot has the condition with the status false
	unavailable float64 // the condition becomes true
	available   float64 // the condition becomes false, or is written again
	written     float64 // the network plugin restarts and writes the condition with a new timestamp
}

func (w *world) drawNetwork() {
	w.worldNetwork = worldNetwork{w.again && w.chance(0.5), never, never, never}
	if w.chance(0.4) {
		return
	}
	w.available = w.registered + w.between(0.5, 60)
	if w.chance(0.5) {
		w.unavailable = w.between(w.registered, w.available)
	}
	if w.chance(0.3) {
		w.written = w.available + w.between(10, 40)
	}
}

// turnedFalse reports whether the condition NetworkUnavailable became false after the boot.
func (w *world) turnedFalse() bool {
	return w.available < never && (!w.heldFalse || w.unavailable < never)
}

// networkTimes lists the times at which the condition NetworkUnavailable is written.
func (w *world) networkTimes() []float64 {
	return slices.DeleteFunc([]float64{w.unavailable, w.available, w.written}, func(at float64) bool {
		return at == never
	})
}

// networkAt returns the condition NetworkUnavailable at a time, or nothing. Its writer uses the control plane's clock.
func (w *world) networkAt(at float64) []Condition {
	status, changed := "", 0.0
	switch {
	case at >= w.written:
		status, changed = "False", w.written
	case at >= w.available:
		status, changed = "False", w.available
	case at >= w.unavailable:
		status, changed = "True", w.unavailable
	case w.heldFalse:
		status, changed = "False", w.boot-5000
	default:
		return nil
	}
	return []Condition{{Type: NetworkUnavailable, Status: status, ChangedAt: floor(changed + w.skew)}}
}
