package nodestart

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

var update = flag.Bool("update", false, "rewrite the expected timelines in testdata")

// TestScripts runs the scripts in testdata. Above the line "---", a script contains one observation in each line. Below
// this line, the script contains the expected timeline. All times are in seconds.
//
//	AT boot ID=B btime=T                    the agent read the boot time
//	AT node [v=VERSION] [requested=T] [boot=B] [created=T] [ready=STATUS@T] [taints=KEY,KEY] [network=STATUS@T]
//	        ['MESSAGE' ['MESSAGE']]         the messages of the conditions Ready and NetworkUnavailable
//	AT node none [requested=T]              the Node object does not exist
//	AT events REASON@T ...                  the kubelet's Events
//	AT pod OWNER NAMESPACE/NAME created=T [PHASE=T ...] [ready|starting]
//	AT fold OWNER NAMESPACE/NAME created=T generation=N [unschedulable=T] bound=T [ready=T]
//	                                        a pod whose start-up package timeline computes
//	AT again NAMESPACE/NAME created=T ready=T [turned]
//	AT skew LEAST MOST
//	AT end                                  computes the timeline
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.script")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".script"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			above, want, _ := strings.Cut(string(text), "---\n")
			got := runScript(t, above)
			if *update {
				if err := os.WriteFile(file, []byte(above+"---\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func runScript(t *testing.T, text string) string {
	t.Helper()
	var e Evidence
	var out strings.Builder
	version := uint64(0)
	for line := range strings.Lines(text) {
		line, message, _ := strings.Cut(strings.TrimSpace(line), " '")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		at := stamp(t, words[0])
		rest := words[2:]
		switch words[1] {
		case "boot":
			e.Observe(Booted{ArrivedAt: at, At: stamp(t, value(rest, "btime")), Resolution: second,
				BootID: value(rest, "ID")})
		case "node":
			if version++; value(rest, "v") != "" {
				version, _ = strconv.ParseUint(value(rest, "v"), 10, 64)
			}
			e.Observe(nodeOf(t, at, version, rest, strings.TrimSuffix(message, "'")))
		case "events":
			list := EventsListed{ArrivedAt: at}
			for _, word := range rest {
				why, when, _ := strings.Cut(word, "@")
				list.Events = append(list.Events, Event{why, stamp(t, when)})
			}
			e.Observe(list)
		case "pod":
			e.Observe(StartUpSeen{podOf(t, at, rest)})
		case "fold":
			e.Observe(StartUpSeen{foldedPodOf(t, at, rest)})
		case "again":
			namespace, name, _ := strings.Cut(rest[0], "/")
			e.Observe(PodReady{ArrivedAt: at, UID: rest[0], Namespace: namespace, Name: name,
				CreatedAt: stamp(t, value(rest, "created")), ReadyAt: stamp(t, value(rest, "ready")),
				Turned: rest[len(rest)-1] == "turned"})
		case "skew":
			e.Observe(SkewSeen{timeline.Skew{Least: stamp(t, rest[0]).Sub(stamp(t, "0")),
				Most: stamp(t, rest[1]).Sub(stamp(t, "0"))}})
		case "end":
			got, ok := e.Timeline(at)
			if !ok {
				out.WriteString("no boot\n")
				continue
			}
			checkPartition(t, got, at)
			out.WriteString(printed(got))
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return out.String()
}

func stamp(t testing.TB, text string) time.Time {
	t.Helper()
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatalf("invalid time %q", text)
	}
	return time.Unix(1_000_000, int64(seconds*1e6)*1000).UTC()
}

func value(words []string, key string) string {
	for _, word := range words {
		if v, ok := strings.CutPrefix(word, key+"="); ok {
			return v
		}
	}
	return ""
}

func nodeOf(t *testing.T, at time.Time, version uint64, words []string, message string) NodeSeen {
	t.Helper()
	o := NodeSeen{ArrivedAt: at, Version: version, Exists: true, Name: "node-7", BootID: value(words, "boot")}
	if v := value(words, "requested"); v != "" {
		o.RequestedAt = stamp(t, v)
	}
	if len(words) > 0 && words[0] == "none" {
		o.Exists = false
		return o
	}
	o.CreatedAt = stamp(t, value(words, "created"))
	ready, network, _ := strings.Cut(message, "' '")
	for _, c := range []struct{ key, of, message string }{{"ready", "Ready", ready},
		{"network", NetworkUnavailable, network}} {
		if status, when, ok := strings.Cut(value(words, c.key), "@"); ok {
			o.Conditions = append(o.Conditions, Condition{Type: c.of, Status: status, ChangedAt: stamp(t, when),
				Message: c.message})
		}
	}
	if keys := value(words, "taints"); keys != "" {
		for key := range strings.SplitSeq(keys, ",") {
			o.Taints = append(o.Taints, Taint{key, "NoSchedule"})
		}
	}
	return o
}

func isAcknowledged(m timeline.MilestoneEvidence) bool {
	return m.Milestone == timeline.MilestoneAcknowledged
}

// podOf builds a timeline whose boundaries are exact, except for the creation, which is truncated to seconds.
func podOf(t *testing.T, now time.Time, words []string) timeline.Timeline {
	t.Helper()
	kind, name, _ := strings.Cut(words[0], "/")
	p := timeline.Timeline{UID: words[1], Owner: timeline.Owner{Kind: kind, Name: name}, State: timeline.StateStarting}
	p.Namespace, p.Name, _ = strings.Cut(words[1], "/")
	p.CreatedAt = stamp(t, value(words, "created"))
	evidence := func(m timeline.Milestone, at time.Time, err time.Duration) {
		p.Milestones = append(p.Milestones, timeline.MilestoneEvidence{Milestone: m, At: at,
			Earliest: at.Add(-err), Latest: at.Add(err)})
	}
	evidence(timeline.MilestoneCreated, p.CreatedAt, time.Second/2)
	from := p.CreatedAt
	for _, word := range words[3:] {
		phase, when, ok := strings.Cut(word, "=")
		if !ok {
			p.State = timeline.State(word)
			continue
		}
		to := stamp(t, when)
		s := timeline.Span{Phase: timeline.Phase(phase), Cause: causeOf(timeline.Phase(phase)), StartAt: from,
			EndAt: to}
		if from.Equal(p.CreatedAt) {
			s.Error = time.Second / 2
		}
		p.Phases = append(p.Phases, s)
		switch {
		case s.Phase == timeline.PhaseKubeletPickup && len(p.Phases) == 1: // the pod's creator set the node
			evidence(timeline.MilestoneAcknowledged, to, 0)
		case p.ScheduledAt.IsZero() && !slices.ContainsFunc(p.Milestones, isAcknowledged):
			p.ScheduledAt = to
		}
		evidence(timeline.MilestoneRunning, to, 0)
		from = to
	}
	if p.State == timeline.StateStarting {
		p.Phases = append(p.Phases, timeline.Span{Phase: timeline.PhaseReadinessProbe, Cause: timeline.CauseApp,
			StartAt: from, EndAt: now, Open: true})
		from = now
	} else {
		p.SettledAt = from
	}
	p.Total, p.TotalError = from.Sub(p.CreatedAt), time.Second/2
	return p
}

func causeOf(p timeline.Phase) timeline.Cause {
	for _, one := range []struct {
		timeline.Phase
		timeline.Cause
	}{
		{timeline.PhaseScheduling, timeline.CauseScheduler}, {timeline.PhaseUnschedulable, timeline.CausePlacement},
		{timeline.PhasePull, timeline.CauseRegistry}, {timeline.PhaseNetwork, timeline.CauseNetwork},
		{timeline.PhaseReadinessProbe, timeline.CauseApp}, {timeline.PhaseContainerStart, timeline.CauseRuntime},
	} {
		if one.Phase == p {
			return one.Cause
		}
	}
	return timeline.CauseKubelet
}

// checkPartition checks that the phases have no gaps and add up to the total.
func checkPartition(t testing.TB, got Timeline, now time.Time) {
	t.Helper()
	at, sum := got.BootedAt, time.Duration(0)
	for _, s := range got.Phases {
		if !s.StartAt.Equal(at) || s.EndAt.Before(s.StartAt) || s.Error < 0 {
			t.Errorf("phase %s begins at %s after a phase that ends at %s, and has the length %s ±%s", s.Phase,
				s.StartAt, at, s.Duration(), s.Error)
		}
		at, sum = s.EndAt, sum+s.Duration()
	}
	end := got.SettledAt
	if got.State == StateStarting {
		end = now
	}
	if sum != got.Total || !at.Equal(end) {
		t.Errorf("phases add up to %s and end at %s, want %s and %s", sum, at, got.Total, end)
	}
}

func printed(got Timeline) string {
	var out strings.Builder
	of := func(at time.Time) string { return fmt.Sprintf("%.3f", at.Sub(time.Unix(1_000_000, 0)).Seconds()) }
	fmt.Fprintf(&out, "%s total %.3f ±%.3f", got.State, got.Total.Seconds(), got.TotalError.Seconds())
	if got.Reconstructed {
		out.WriteString(" reconstructed")
	}
	out.WriteString("\n")
	for _, s := range got.Phases {
		fmt.Fprintf(&out, "%s %s-%s %.3f ±%.3f %s", s.Phase, of(s.StartAt), of(s.EndAt), s.Duration().Seconds(),
			s.Error.Seconds(), s.Cause)
		for _, more := range []string{string(s.Step), s.Pod, s.Taint} {
			if more != "" {
				out.WriteString(" " + more)
			}
		}
		if len(s.Candidates) > 0 {
			fmt.Fprintf(&out, " %v", s.Candidates)
		}
		if s.Open {
			out.WriteString(" open")
		}
		fmt.Fprintf(&out, " from %s\n", strings.Join(s.Sources, "+"))
	}
	for _, m := range got.Milestones {
		if m.Name == "network_available" {
			fmt.Fprintf(&out, "%s %s-%s\n", m.Name, of(m.Earliest), of(m.Latest))
		}
	}
	for _, n := range got.NotReady {
		if n.Condition != "" {
			fmt.Fprintf(&out, "%s at %s: %s\n", n.Condition, of(n.SeenAt.Time), n.Message)
		}
	}
	for _, s := range got.Taints {
		if s.Present {
			fmt.Fprintf(&out, "taint %s present\n", s.Key)
			continue
		}
		fmt.Fprintf(&out, "taint %s removed %s-%s\n", s.Key, of(s.Earliest.Time), of(s.Latest.Time))
	}
	if len(got.Missing) > 0 {
		fmt.Fprintf(&out, "missing %s\n", strings.Join(got.Missing, " "))
	}
	fmt.Fprintf(&out, "verdict %s\n", got.Verdict())
	return out.String()
}
