package render

import (
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// LongestPhase returns the longest phase of a record. Among phases of equal length, LongestPhase returns the first.
func LongestPhase(record api.Record) (api.PhaseRecord, bool) {
	var longest api.PhaseRecord
	found := false
	for _, phase := range record.Phases {
		if !found || phase.Length > longest.Length {
			longest, found = phase, true
		}
	}
	return longest, found
}

// PhaseText names a phase and its container.
func PhaseText(phase api.PhaseRecord) string {
	text := terminal.Clean(string(phase.Phase))
	if phase.Container != "" {
		text += " of " + AttemptText(phase.Container, phase.Attempt)
	}
	return text
}
