package render

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
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

// LengthKnown reports whether the length of a start-up is known. The length is known if its error bound is smaller than
// the length itself. For example, the length can be unknown if the pod was ready before the agent started.
func LengthKnown(length, lengthError time.Duration) bool { return lengthError < length }

// OpenPhase returns the current phase of a start-up in progress.
func OpenPhase(record api.Record) (open api.PhaseRecord, found bool) {
	for _, phase := range record.Phases {
		if phase.Open {
			open, found = phase, true
		}
	}
	return open, found
}

// WhereText describes where a start-up waits: the container, the progress of its pull, and the reason why the pod
// waits. WhereText omits unknown parts. If all parts are unknown, the text is empty. The caller must clean the
// arguments "progress" and "reason" (terminal.Clean).
func WhereText(container string, attempt int, progress, reason string) string {
	parts := []string{progress, reason}
	if container != "" {
		parts = append([]string{AttemptText(container, attempt)}, parts...)
	}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), ", ")
}

// ReasonText returns the reason why a pod waits. During a back-off after a failed pull, ReasonText adds the registry
// and the reason why the latest pull failed. The result contains no control characters.
func ReasonText(record api.Record) string {
	reason := terminal.Clean(record.Reason)
	open, ok := OpenPhase(record)
	if !ok || open.Phase != timeline.PhaseImageBackoff {
		return reason
	}
	for _, pull := range slices.Backward(record.Pulls) {
		if pull.Container == open.Container && pull.Failure != "" {
			return strings.TrimPrefix(reason+": ", ": ") + terminal.Clean(string(pull.Failure)) + " from " +
				terminal.Clean(pull.Registry)
		}
	}
	return reason
}

// PhaseText returns the name of a phase and of the phase's container.
func PhaseText(phase api.PhaseRecord) string {
	text := terminal.Clean(string(phase.Phase))
	if phase.Container != "" {
		text += " of " + AttemptText(phase.Container, phase.Attempt)
	}
	return text
}

// SkewText returns the smallest and the largest possible difference between the control plane's clock and the node's
// clock. The difference is positive if the control plane's clock is ahead. SkewText returns "-" if nothing proves that
// the clocks differ.
func SkewText(skew *api.SkewRecord) string {
	if skew == nil {
		return "-"
	}
	return SignedText(skew.Least.Duration(), 3) + " to " + SignedText(skew.Most.Duration(), 3)
}
