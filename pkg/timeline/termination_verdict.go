package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// terminationTexts contains the text for each phase of a termination. The verb %s represents the name of the container.
var terminationTexts = map[Phase]string{
	PhaseKubeletPickup: "until the kubelet picked up the deletion",
	PhasePreStopHook:   "in the pre-stop hook and stop of %s",
	PhaseGrace:         "until %s stopped", PhaseKill: "killing %s", PhaseSandboxStop: "stopping the sandbox",
	PhaseObjectDeletion: "until the kubelet released the object", PhaseFinalizers: "held by finalizers",
	PhaseNetwork: "removing the network", PhaseVolumes: "unmounting volumes",
	PhaseAPIServer: "until the API server deleted the object",
}

// Verdict returns one sentence about a termination. The sentence contains the total, the problem of the
// container that stopped last, the longest phases, and the error bound (±) of the total. The sentence also contains the
// error bound of a phase whose length is uncertain.
func (t Termination) Verdict() string {
	text := "gone after " + seconds(t.Total)
	if t.GoneAt.IsZero() {
		text = "terminating for " + seconds(t.Total)
	}
	if t.Reason != "" {
		text += " (" + t.Reason + ")"
	}
	var named []string
	bad := t.badStop()
	if bad.text != "" {
		named = append(named, bad.text)
	}
	parts := slices.DeleteFunc(slices.Clone(t.Phases), func(s Span) bool {
		return s.Duration() < leastNamed ||
			bad.container != "" && s.Container == bad.container && s.Phase != PhaseUnattributed
	})
	slices.SortStableFunc(parts, func(a, b Span) int { return cmp.Compare(b.Duration(), a.Duration()) })
	for _, s := range parts[:min(len(parts), verdictParts-len(named))] {
		named = append(named, partLength(s.Duration(), s.Error, t.TotalError)+" "+terminationSpanText(s))
	}
	if len(named) > 0 {
		text += ": " + strings.Join(named, ", ")
	}
	return text + boundText(t.TotalError, t.Missing)
}

func terminationSpanText(s Span) string {
	one := func(phase Phase) string {
		if text := terminationTexts[phase]; strings.Contains(text, "%s") {
			return fmt.Sprintf(text, cmp.Or(s.Container, "the last container"))
		}
		return terminationTexts[phase]
	}
	if s.Phase != PhaseUnattributed {
		return one(s.Phase)
	}
	may := make([]string, 0, len(s.MergedWith))
	for _, phase := range s.MergedWith {
		may = append(may, one(phase))
	}
	return unattributedText(may)
}

// badStop describes the container that stopped last, if that container did not stop as requested.
func (t Termination) badStop() (w struct{ container, text string }) {
	var last *Stop
	for i := range t.Stops {
		if s := &t.Stops[i]; s.How != StopBefore && (last == nil || s.StoppedAt.After(last.StoppedAt)) {
			last = s
		}
	}
	if last == nil {
		return w
	}
	switch last.How {
	case StopKilled:
		if t.killUnexplained(last) {
			w.text = last.Container + " was killed"
			break
		}
		w.text = last.Container + " ignored its stop signal for " + t.ignoredText(last) + ", then was killed"
		if last.PreStopHook {
			w.text = last.Container + " ran for " + t.ranText(last) + " after its pre-stop hook began, then was killed"
		}
	case StopKilledEarly:
		w.text = last.Container + " was killed before its grace period of " + seconds(max(t.Grace, leastGrace)) +
			" was over"
	case StopOutOfMemory:
		w.text = last.Container + " ran out of memory while stopping"
	default:
		return w
	}
	if last.How == StopKilled {
		w.container = last.Container
	}
	return w
}

// killUnexplained reports whether the reason for a container's kill is unknown. Before an unexplained kill, the
// container might not have received a stop signal. The result depends on the phases of the container:
//   - If any phase is not PhaseUnattributed, the result is false.
//   - If all phases are PhaseUnattributed, the result is true if at least one phase might include PhaseKill.
//   - If there are no phases, the result is true if Stop.Timed is false.
func (t Termination) killUnexplained(s *Stop) bool {
	unexplained, found := false, false
	for _, p := range t.Phases {
		if p.Container != s.Container {
			continue
		}
		if p.Phase != PhaseUnattributed {
			return false
		}
		unexplained, found = unexplained || slices.Contains(p.MergedWith, PhaseKill), true
	}
	return unexplained || !found && !s.Timed
}

// ranText returns, as text, how long a killed container ran after the kubelet began to stop it.
func (t Termination) ranText(s *Stop) string {
	switch {
	case t.Grace == 0 && t.Listed: // the requested grace period is unknown
		return "at least " + seconds(leastGrace)
	case s.Timed:
		return seconds(s.Used)
	}
	return "at least its grace period of " + seconds(max(t.Grace, leastGrace))
}

// ignoredText returns, as text, how long a killed container ignored its stop signal. A sidecar gets the stop signal
// only after the containers that it serves have stopped. After the stop signal, the kubelet waits for at least
// leastGrace before it kills a sidecar.
func (t Termination) ignoredText(s *Stop) string {
	if s.Kind != KindSidecar {
		return t.ranText(s)
	}
	used := leastGrace
	for _, p := range t.Phases {
		if p.Phase == PhaseGrace && p.Container == s.Container && len(p.MergedWith) == 0 {
			used = max(used, p.Duration())
		}
	}
	return "at least " + seconds(used)
}
