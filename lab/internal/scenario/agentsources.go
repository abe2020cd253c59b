package scenario

import "strings"

// agentSources states whether an agent receives Events, and whether it receives data from the container runtime.
type agentSources struct {
	events, runtime bool
}

// isFull reports whether the agent has both sources. The reports of an agent with both sources must be exact. An agent
// that lacks a source is allowed to report less, but must not report anything wrong.
func (s agentSources) isFull() bool { return s.events && s.runtime }

// flags returns the flags that limit the agent to these sources.
func (s agentSources) flags() (flags []string) {
	if !s.events {
		flags = append(flags, "--events=off")
	}
	if !s.runtime {
		flags = append(flags, "--cri-endpoint=off")
	}
	return flags
}

// String describes the sources in words, for example "without Events".
func (s agentSources) String() string {
	switch {
	case s.isFull():
		return "with all sources"
	case s.runtime:
		return "without Events"
	case s.events:
		return "without the runtime"
	}
	return "without Events and the runtime"
}

// suffix returns a suffix for file names, for example "-without-events". If the agent has both sources, the suffix is
// empty.
func (s agentSources) suffix() string {
	if s.isFull() {
		return ""
	}
	return "-" + strings.ReplaceAll(strings.ToLower(s.String()), " ", "-")
}
