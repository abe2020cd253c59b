package scenario

import "strings"

// view is which of its sources an agent has.
type view struct {
	events, runtime bool
}

// full says that the agent has all of them: then it has to be exact. Else it may say less, though nothing wrong.
func (s view) full() bool { return s.events && s.runtime }

// flags let the agent see no more than that.
func (s view) flags() (flags []string) {
	if !s.events {
		flags = append(flags, "--events=off")
	}
	if !s.runtime {
		flags = append(flags, "--cri-endpoint=off")
	}
	return flags
}

// String says what the agent does not see.
func (s view) String() string {
	switch {
	case s.full():
		return "seeing all"
	case s.runtime:
		return "without Events"
	case s.events:
		return "without the runtime"
	}
	return "without Events and runtime"
}

// suffix tells its files from those of an agent that sees everything.
func (s view) suffix() string {
	if s.full() {
		return ""
	}
	return "-" + strings.ReplaceAll(strings.ToLower(s.String()), " ", "-")
}
