package scenario

import "strings"

// agentSources is the set of sources that an agent has.
type agentSources struct {
	events, runtime bool
}

// isFull reports whether the agent has all sources, and must therefore be exact. An agent that lacks a source is
// allowed to report less, but must not report anything wrong.
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

// suffix distinguishes the agent's files from the files of an agent with all sources.
func (s agentSources) suffix() string {
	if s.isFull() {
		return ""
	}
	return "-" + strings.ReplaceAll(strings.ToLower(s.String()), " ", "-")
}
