package nodestart

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// A verdict names at most verdictParts parts of the start-up.
	verdictParts = 3
	// leastNamed is the shortest duration that a verdict names. A shorter duration would print as 0.0 s.
	leastNamed = 50 * time.Millisecond
)

// Verdict describes the start-up in one sentence. The sentence contains the total time, the longest parts in descending
// order, and the error bound (±) of the total time. If the first workload pod waited before the node was registered,
// Verdict adds the text from Waited.
func (t Timeline) Verdict() string {
	text := t.outcome()
	if named := longest(t.Phases); named != "" {
		text += ": " + named
	}
	text += "; ±" + seconds(t.TotalError)
	if _, waited := t.Waited(); waited != "" {
		text += ". " + waited
	}
	return text
}

// Waited returns how long the first workload pod waited until it was bound to this node, and a text about this wait.
// The wait starts when the pod is created, or when its last scheduling gate is removed. No evidence shows when a
// scheduling gate was removed. If the pod might have had a scheduling gate, the wait starts at the latest possible time
// of the gate's removal, and the text says "at least". At the beginning of the wait, the pod might also have waited for
// other nodes. So the text lists the phases of this node during the wait, but does not name a reason for the wait. If
// the wait starts after the registration of the node, Waited returns zero.
func (t Timeline) Waited() (time.Duration, string) {
	w := t.Workload
	if w == nil || w.Again || w.BoundAt.IsZero() || w.BoundAt.Before(t.BootedAt) {
		return 0, ""
	}
	from, least := w.CreatedAt, ""
	if w.UngatedBy.After(from) {
		from, least = w.UngatedBy, "at least "
	}
	if !from.Before(t.milestoneAt("registered")) || !from.Before(w.BoundAt) {
		return 0, ""
	}
	total := w.BoundAt.Sub(from)
	text := fmt.Sprintf("Pod %s/%s waited %s%s until it was bound to %s", w.Namespace, w.Name, least,
		seconds(total), cmp.Or(t.Node, "this node"))
	if before := t.BootedAt.Sub(from); before >= second { // a shorter time can be an error of the two timestamps
		text += ", which booted " + least + seconds(before) + " after the wait began"
	}
	during, length := t.unusableDuring(from, w.BoundAt)
	if named := longest(during); named != "" {
		text += ". For " + least + seconds(length) + " of this wait, the node was starting: " + named
	}
	return total, text
}

// unusableDuring returns the phases before the node could run workload pods, and their total length. Only the parts of
// the phases between the two given times count.
func (t Timeline) unusableDuring(from, to time.Time) (spans []Span, length time.Duration) {
	for _, s := range t.Phases {
		if s.Phase == PhaseAwaitingPod || s.Phase == PhaseWorkload {
			break
		}
		s.StartAt, s.EndAt = later(s.StartAt, from), earlier(s.EndAt, to)
		if s.StartAt.Before(s.EndAt) {
			spans, length = append(spans, s), length+s.Duration()
		}
	}
	return spans, length
}

// milestoneAt returns the estimated time of a milestone. If the milestone is unknown, the result is the zero time.
func (t Timeline) milestoneAt(name string) time.Time {
	for _, m := range t.Milestones {
		if m.Name == name {
			return m.At
		}
	}
	return time.Time{}
}

// longest returns a text that lists the longest parts. Spans with the same text count as one part.
func longest(spans []Span) string {
	type part struct {
		text   string
		length time.Duration
	}
	var parts []part
	for _, s := range spans {
		text := s.describe()
		i := slices.IndexFunc(parts, func(p part) bool { return p.text == text })
		if i < 0 {
			parts = append(parts, part{text: text})
			i = len(parts) - 1
		}
		parts[i].length += s.Duration()
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.length, a.length) })
	var named []string
	for _, p := range parts[:min(len(parts), verdictParts)] {
		if p.length >= leastNamed {
			named = append(named, seconds(p.length)+" "+p.text)
		}
	}
	return strings.Join(named, ", ")
}

func (t Timeline) outcome() string {
	total, known := seconds(t.Total), ""
	if slices.Contains(t.Missing, missingPods) {
		known = "known "
	}
	switch t.State {
	case StateReady:
		return total + " from boot to the first " + known + "ready workload"
	case StateGivenUp:
		if t.Reconstructed {
			return "no " + known + "workload is ready " + total + " after boot; the agent knows no earlier workloads"
		}
		return "no " + known + "workload was ready within " + total + " after boot"
	}
	return "booted " + total + " ago, no " + known + "workload is ready yet"
}

// describe returns a text about the phase.
func (s Span) describe() string {
	switch s.Phase {
	case PhaseTaint:
		return fmt.Sprintf("taint %s of %s", s.Taint, s.Owner)
	case PhaseNetworkPlugin:
		if s.Owner != "" {
			return "network plugin of " + s.Owner
		}
	case PhaseDaemonSet, PhaseWorkload:
		if s.Step == "" {
			return "until pod " + s.Pod + " was ready again"
		}
		return string(s.Step) + " of pod " + s.Pod
	case PhaseUnattributed:
		if len(s.Candidates) == 0 {
			return "unattributed"
		}
		var may []string
		for _, c := range s.Candidates {
			may = append(may, string(c))
		}
		return "unattributed (" + strings.Join(may, " or ") + ")"
	}
	return rowOf(s.Phase).text
}

func seconds(d time.Duration) string { return timeline.SecondsText(d, 1) }
