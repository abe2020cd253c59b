package timeline

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// compareTimelines fails unless two timelines are equal. If "more" is true, the second timeline can list more missing
// milestones than the first timeline.
func compareTimelines(t *testing.T, with, without Timeline, more bool) {
	t.Helper()
	a, b := reflect.ValueOf(with), reflect.ValueOf(without)
	for i := range a.NumField() {
		name, x, y := a.Type().Field(i).Name, a.Field(i).Interface(), b.Field(i).Interface()
		if more && name == "Missing" && len(with.Missing) < len(without.Missing) || reflect.DeepEqual(x, y) {
			continue
		}
		t.Errorf("%s with Created and Started Events:\n%+v\nwithout these Events:\n%+v", name, x, y)
	}
}

// isStart reports whether an observation is a Created or Started Event.
func isStart(o Observation) bool {
	seen, ok := o.(EventSeen)
	return ok && (seen.Reason == reasonCreated || seen.Reason == reasonStarted)
}

// startsOf returns the Created and Started Events of the runs that the runtime reports.
func startsOf(observations []Observation) (all []occurrence) {
	known := map[string]bool{}
	for _, o := range observations {
		response, _ := o.(RuntimeSeen)
		for _, r := range response.Containers {
			for reason, at := range map[string]instant{reasonCreated: at(r.CreatedAt), reasonStarted: at(r.StartedAt)} {
				key := fmt.Sprint(r.Name, r.Attempt, reason)
				if at > 0 && !known[key] {
					known[key] = true
					all = append(all, occurrence{at.time(), r.Name, reason, "Container " + strings.ToLower(reason)})
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b occurrence) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.container, b.container), cmp.Compare(a.reason, b.reason))
	})
	return all
}

// TestScriptsWithoutStarts folds each script with and without the Created and Started Events of its containers. The two
// timelines must agree.
func TestScriptsWithoutStarts(t *testing.T) {
	for _, path := range scriptPaths(t, "testdata/*.script") {
		input, _ := readScript(t, path)
		s := parseScript(t, input)
		if !slices.ContainsFunc(s.observations, func(o Observation) bool { _, ok := o.(EventSeen); return ok }) {
			continue
		}
		t.Run(strings.TrimSuffix(filepath.Base(path), ".script"), func(t *testing.T) {
			without := slices.DeleteFunc(slices.Clone(s.observations), isStart)
			with := withEvents(without, startsOf(without))
			for _, now := range [...]Observation{with[len(with)-1], with[len(with)/2]} {
				compareFolds(t, s.scope, with, without, now.Arrived(), true)
			}
			if !s.asOf.IsZero() {
				compareFolds(t, s.scope, with, without, s.asOf, false)
			}
		})
	}
}

// TestRefusalWithoutStarts folds a pod whose kubelet refuses the last container for five minutes. The kubelet's client
// drops most Events about the refusals. The Created and Started Events of the init containers count toward the client's
// limit, so the time without Events must not count as time without a kubelet.
func TestRefusalWithoutStarts(t *testing.T) {
	for inits := range 9 {
		var script strings.Builder
		line := func(format string, args ...any) { fmt.Fprintf(&script, format+"\n", args...) }
		line("available runtime events")
		for i := range inits {
			line("spec init i%d base", i)
		}
		line("spec main app base\n0.200 pod scheduled@0\n0.220 pod acknowledged@0 | app waiting")
		line("0.230 runtime image base present\n0.600 watched")
		status, response := "", ""
		for i := range inits {
			at := float64(i + 1)
			line("%.3f event i%d Pulled 'Container image \"base\" already present on machine' named@%.3f", at+.11, i,
				at+.1)
			status += fmt.Sprintf(" | i%d terminated@%d-%d", i, i+1, i+1)
			response += fmt.Sprintf(" | i%d created@%.3f started@%.3f finished@%.3f", i, at+.2, at+.3, at+.8)
		}
		begun := inits + 1
		line("%d.100 pod app waiting reason=CreateContainerConfigError%s", begun, status)
		line("%d.110 runtime sandbox ready begun@0.300 network@0.400 running@0.500%s", begun, response)
		for sent := 0; 3*inits+sent < spamLimit; sent++ {
			n, made := sent/2+1, begun+11*(sent/2)
			event := "Pulled 'Container image \"base\" already present on machine'"
			if sent%2 == 1 {
				event = "Failed 'Error: configmap \"app\" not found'"
			}
			line("%d.060 event app %s named@%d.050 count=%d last@%d", made, event, begun, n, made)
		}
		s := parseScript(t, []byte(script.String()))
		without := s.observations
		with := withEvents(without, startsOf(without))
		t.Run(fmt.Sprintf("%d init containers", inits), func(t *testing.T) {
			for now := base.Add(time.Duration(begun+1) * time.Second); !t.Failed(); now = now.Add(5 * time.Second) {
				if now.After(base.Add(5 * time.Minute)) {
					return
				}
				compareFolds(t, s.scope, with, without, now, false)
			}
		})
	}
}

// TestRunsOfOtherContainersCount checks that the Events of a pod's other containers count toward the limit of Events,
// even if the agent did not receive these Events. The kubelet's client sends more Events again after two hours.
func TestRunsOfOtherContainersCount(t *testing.T) {
	for name, test := range map[string]struct {
		restarts int
		ago      time.Duration
		want     bool
	}{
		"no restart":                 {0, time.Minute, false},
		"many restarts":              {12, time.Minute, true},
		"many restarts, long before": {12, 3 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			pod := Pod{UID: "u", CreatedAt: base.Add(-4 * time.Hour), AcknowledgedAt: base.Add(-4 * time.Hour),
				Containers: []Container{
					{Name: "app", Kind: KindMain, Image: "base", Attempt: test.restarts, State: StateRunning,
						StartedAt: base.Add(-test.ago)},
					{Name: "debug", Kind: KindEphemeral, Image: "cold", State: StateWaiting},
				}}
			d := NewEphemeralEvidence(Scope{Runtime: true, Events: true},
				PodSeen{ArrivedAt: base, Live: true, Pod: pod}, nil)
			if got := d.evidence.eventLimitReached(); got != test.want {
				t.Errorf("the limit is reached: %t, want %t", got, test.want)
			}
		})
	}
}
