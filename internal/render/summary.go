package render

import (
	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// LongestPhase returns the longest phase of a record. If several phases have this length, LongestPhase returns the
// first of them.
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

// PhaseText returns the name of a phase and of the phase's container.
func PhaseText(phase api.PhaseRecord) string {
	text := terminal.Clean(string(phase.Phase))
	if phase.Container != "" {
		text += " of " + AttemptText(phase.Container, phase.Attempt)
	}
	return text
}
