package nodestart

import "slices"

// addState adds a version of the Node object. addState sorts the states by their versions, because a list can show a
// later version before the watch delivers the earlier versions.
func (e *Evidence) addState(s state) {
	i := len(e.states) - 1 // index of the latest state that is not newer than s
	if s.from > 0 {
		for i >= 0 && e.states[i].from > s.from {
			i--
		}
	}
	next := i+1 < len(e.states)
	switch {
	case i >= 0 && e.states[i].hasSameBlockers(s):
		same := &e.states[i]
		same.sureAt = later(same.sureAt, s.sureAt)
		if s.to >= same.to {
			same.to, same.lastAt = s.to, s.lastAt
		}
		return
	case next && e.states[i+1].hasSameBlockers(s):
		e.states[i+1].from = s.from
		return
	case len(e.states) >= maxStates:
		s.gap, e.states[len(e.states)-1] = true, s
		return
	}
	if next {
		s.arrivedAt = earlier(s.arrivedAt, e.states[i+1].arrivedAt)
	}
	if i >= 0 && e.states[i].to > s.from { // e.states[i] has versions before and after s: it becomes two states
		back := e.states[i]
		back.from, back.arrivedAt = s.from+1, back.lastAt
		s.arrivedAt = earlier(s.arrivedAt, back.arrivedAt)
		e.states[i].to, e.states[i].sureAt = s.from-1, e.boot.At
		e.states = slices.Insert(e.states, i+1, back)
	}
	e.states = slices.Insert(e.states, i+1, s)
}
