package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// writeScript writes observations as a script (see TestScripts). Test failures print this script, and testdata can
// contain it.
func writeScript(a Scope, pod *Pod, observations []Observation) string {
	var out strings.Builder
	out.WriteString("available")
	for _, source := range []struct {
		has  bool
		word string
	}{{a.Runtime, " runtime"}, {a.Events, " events"}} {
		if source.has {
			out.WriteString(source.word)
		}
	}
	out.WriteByte('\n')
	for _, c := range pod.Containers {
		words := []string{"spec", string(c.Kind), c.Name, c.Image}
		if c.PullPolicy != PullIfNotPresent {
			words = append(words, string(c.PullPolicy))
		}
		words = append(words,
			flags(c.StartupProbe, "startup", c.ReadinessProbe, "readiness", c.PostStartHook, "hook",
				c.LivenessProbe, "liveness", c.MemoryLimited, "limit")...)
		out.WriteString(strings.Join(words, " ") + "\n")
	}
	if pod.ReadinessGates {
		out.WriteString("gates\n")
	}
	if pod.PullSecrets {
		out.WriteString("secrets\n")
	}
	observations = slices.Clone(observations)
	slices.SortStableFunc(observations, func(a, b Observation) int { return a.Arrived().Compare(b.Arrived()) })
	for i, o := range observations {
		line := sinceBase(o.Arrived()) + " " + writeObservation(o) + "\n"
		if i == 0 || !strings.HasSuffix(out.String(), "\n"+line) { // skip a repeated line
			out.WriteString(line)
		}
	}
	return out.String()
}

func writeObservation(o Observation) string {
	switch o := o.(type) {
	case PodSeen:
		return "pod " + strings.Join(podWords(o), " | ")
	case EventSeen:
		container := o.Container
		if container == "" {
			container = "-"
		}
		text := fmt.Sprintf("event %s %s '%s' named@%s", container, o.Reason, o.Message, sinceBase(o.NamedAt))
		if o.Count > 1 {
			text += fmt.Sprintf(" count=%d last@%s", o.Count, sinceBase(o.LastAt))
		}
		return text
	case EventsWatched:
		if !o.Since.IsZero() {
			limited := ""
			if o.Limited {
				limited = " limited"
			}
			return "watched since@" + sinceBase(o.Since) + limited
		}
		return "watched"
	case ClockSet:
		return "clock " + sinceBase(base.Add(o.By))
	case RuntimeSeen:
		return "runtime " + strings.Join(responseWords(o), " | ")
	}
	return fmt.Sprintf("%T", o)
}

func podWords(o PodSeen) []string {
	words := flags(!o.Live, "listed")
	if at := o.Pod.AcknowledgedAt; !at.IsZero() {
		words = append(words, "acknowledged@"+sinceBase(at))
	}
	for _, c := range o.Pod.Conditions {
		name := map[string]string{"PodScheduled": "scheduled", "ContainersReady": "containers_ready",
			"Ready": "ready"}[c.Type]
		if c.True {
			words = append(words, name+"@"+sinceBase(c.TransitionAt))
		}
	}
	parts := []string{strings.Join(words, " ")}
	for _, c := range o.Pod.Containers {
		if c.State == StateUnknown {
			continue
		}
		words := []string{c.Name}
		switch c.State {
		case StateWaiting:
			words = append(words, "waiting")
		case StateRunning:
			words = append(words, "running@"+sinceBase(c.StartedAt))
		case StateTerminated:
			words = append(words, "terminated@"+sinceBase(c.StartedAt)+"-"+sinceBase(c.FinishedAt),
				fmt.Sprintf("exit=%d", c.ExitCode))
		}
		if c.WaitingReason != "" {
			words = append(words, "reason="+c.WaitingReason)
		}
		if !c.Misconfigured && createFailureMilestones[c.WaitingReason] == MilestoneConfigRefused {
			words = append(words, "unexplained")
		}
		if c.PullFailure != "" {
			words = append(words, "pullfailure="+string(c.PullFailure))
		}
		if c.Attempt > 0 {
			words = append(words, fmt.Sprintf("attempt=%d", c.Attempt))
		}
		if c.LastRun != nil {
			words = append(words, "last="+sinceBase(c.LastRun.StartedAt)+"-"+sinceBase(c.LastRun.FinishedAt))
		}
		parts = append(parts, strings.Join(append(words, flags(c.Started, "started", c.Ready, "ready")...), " "))
	}
	return parts
}

func responseWords(o RuntimeSeen) []string {
	var parts []string
	stamps := func(words []string, named ...any) []string {
		for i := 0; i < len(named); i += 2 {
			if at := named[i+1].(time.Time); !at.IsZero() {
				words = append(words, named[i].(string)+"@"+sinceBase(at))
			}
		}
		return words
	}
	parts = append(parts, flags(o.NetworkFirst, "networkfirst")...)
	for _, s := range o.Sandboxes {
		parts = append(
			parts,
			strings.Join(
				stamps(slices.Concat([]string{"sandbox"}, flags(s.Ready, "ready"), flags(s.Unstamped, "unstamped"),
					flags(s.ImageFirst, "imagefirst"), flags(s.Attempt > 0, fmt.Sprintf("attempt=%d", s.Attempt))),
					"begun", s.BegunAt, "network", s.NetworkReadyAt, "running", s.RunningAt, "created", s.CreatedAt,
					"stored", s.ImageStoredAt),
				" ",
			),
		)
	}
	for _, r := range o.Containers {
		parts = append(parts, strings.Join(stamps([]string{r.Name, fmt.Sprintf("attempt=%d", r.Attempt),
			fmt.Sprintf("exit=%d", r.ExitCode)},
			"created", r.CreatedAt, "started", r.StartedAt, "finished", r.FinishedAt), " "))
	}
	for _, i := range o.Images {
		words := []string{"image", i.Ref, "absent"}
		if i.Present {
			words = stamps([]string{"image", i.Ref, "present", "digest=" + i.Digest}, "first", i.FirstPulledAt,
				"pulled", i.PulledAt)
		}
		parts = append(parts, strings.Join(words, " "))
	}
	return parts
}

// flags takes pairs of a condition and a word. flags returns the words whose condition is true.
func flags(pairs ...any) []string {
	var words []string
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i].(bool) {
			words = append(words, pairs[i+1].(string))
		}
	}
	return words
}
