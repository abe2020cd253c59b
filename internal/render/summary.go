package render

import (
	"fmt"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// LongestPhase returns the longest phase of a record. If several phases are equally long, LongestPhase returns the
// first of these phases.
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

// SkewText formats the interval that contains the difference between the control plane's clock and the node's clock.
// The difference is positive if the control plane's clock is ahead. SkewText returns "-" if no difference is proven.
func SkewText(skew *api.SkewRecord) string {
	if skew == nil {
		return "-"
	}
	return fmt.Sprintf("%+.3f s to %+.3f s", skew.Least.Duration().Seconds(), skew.Most.Duration().Seconds())
}
