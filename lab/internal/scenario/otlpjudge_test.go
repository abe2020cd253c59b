package scenario

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// traceCase is an edit of a record or of its trace, with the expected problem.
type traceCase struct {
	edit func(*agent.Timeline, []otlp.Span)
	want string // part of the expected output; empty if the verdict passes
}

// judgeTraces edits the result of sentStartUp in several ways, and checks the trace after each edit.
func judgeTraces(t *testing.T, cases map[string]traceCase) {
	t.Helper()
	for name, test := range cases {
		timeline, report := sentStartUp()
		test.edit(&timeline, report.Spans)
		verdict := &Verdict{}
		verdict.checkTrace(report, timeline)
		var out bytes.Buffer
		verdict.Print(&out)
		if verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, verdict.Failed(), out.String())
		}
	}
}

// TestRootSpan edits the span of the entire start-up, or its record.
func TestRootSpan(t *testing.T) {
	judgeTraces(t, map[string]traceCase{
		"unchanged": {func(*agent.Timeline, []otlp.Span) {}, ""},
		"other start of the root span": {func(_ *agent.Timeline, s []otlp.Span) { s[0].StartAt = s[0].StartAt.Add(-1) },
			"startup pod startup n/p is from"},
		"other state": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.state"] = "failed"
		}, `podlapse.state="failed"`},
		"other verdict": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.verdict"] = "1 s"
		}, "podlapse.verdict"},
		"other owner name": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.owner.name"] = "e"
		}, "podlapse.owner.name"},
		"other revision": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.owner.revision"] = "2"
		}, "podlapse.rollout.trace_id"},
		"no link": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Links = nil }, "links are"},
		"owner of a pod without an owner": {func(t *agent.Timeline, s []otlp.Span) {
			t.Owner, s[0].Links = agent.Owner{}, nil
		}, "podlapse.owner.kind"},
		"no missing evidence": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[0].Attributes, "podlapse.missing")
		}, "podlapse.missing"},
		"conflict only in the trace": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.conflicts"] = "1"
		}, "podlapse.conflicts"},
		"error status of a ready pod": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Failed = true },
			"error status"},
		"no error status of a failed pod": {func(t *agent.Timeline, s []otlp.Span) {
			t.State, s[0].Attributes["podlapse.state"] = agent.Failed, agent.Failed
		}, "error status"},
	})
}

// TestSpanTree changes IDs, parents and common attributes of spans, and removes or adds items in the record.
func TestSpanTree(t *testing.T) {
	judgeTraces(t, map[string]traceCase{
		"two traces": {func(_ *agent.Timeline, s []otlp.Span) { s[1].TraceID = "other" },
			"is in trace other"},
		"repeated span ID": {func(_ *agent.Timeline, s []otlp.Span) { s[1].SpanID = "3" }, "two spans have the ID 3"},
		"no root": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.kind"] = "phase"
		}, "0 root spans"},
		"phase without parent": {func(_ *agent.Timeline, s []otlp.Span) { s[1].Parent = "" },
			`phase scheduling has a parent of kind ""`},
		"layer under the root": {func(_ *agent.Timeline, s []otlp.Span) { s[layerAt].Parent = "1" },
			"layer has a parent"},
		"layer only in the trace": {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls[0].Layers = nil },
			"has span layer of kind layer"},
		"layer only in the record": {func(t *agent.Timeline, _ []otlp.Span) {
			t.Pulls[0].Layers = append(t.Pulls[0].Layers, t.Pulls[0].Layers[0])
		}, "no span for layer"},
		"no pod name": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[layerAt].Attributes, "k8s.pod.name")
		}, "k8s.pod.name"},
		"no service name": {func(_ *agent.Timeline, s []otlp.Span) { delete(s[1].Resource, "service.name") },
			"service.name"},
		"no service version": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[1].Resource, "service.version")
		}, "service.version"},
		"phase only in the trace": {func(t *agent.Timeline, _ []otlp.Span) { t.Phases = t.Phases[:1] },
			"has span pull of kind phase"},
		"other order of phases": {func(t *agent.Timeline, _ []otlp.Span) { slices.Reverse(t.Phases) },
			"in the record"},
		"pull only in the trace": {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls = nil },
			"has span image pull of main of kind pull"},
		"pull only in the record": {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls = append(t.Pulls, t.Pulls[0]) },
			"no span for pull"},
		"container only in the record": {func(_ *agent.Timeline, s []otlp.Span) {
			s[initAt] = s[mainAt]
			s[initAt].SpanID = "b"
		}, "no span for container container init"},
	})
}

// TestSpanAttributes edits times and attributes of phases, containers and pulls.
func TestSpanAttributes(t *testing.T) {
	judgeTraces(t, map[string]traceCase{
		"container created within its interval": {func(_ *agent.Timeline, s []otlp.Span) {
			s[mainAt].StartAt = s[mainAt].StartAt.Add(time.Second / 2)
		}, ""},
		"no image name": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[pullAt].Attributes, "container.image.name")
		}, "container.image.name"},
		"other image tag": {func(_ *agent.Timeline, s []otlp.Span) {
			s[mainAt].Attributes["container.image.tags"] = "2"
		}, "container.image.tags"},
		"later end of a phase": {func(_ *agent.Timeline, s []otlp.Span) { s[1].EndAt = s[1].EndAt.Add(1) },
			"phase scheduling is from"},
		"other cause": {func(_ *agent.Timeline, s []otlp.Span) {
			s[1].Attributes["podlapse.cause"] = "kubelet"
		}, `podlapse.cause="kubelet"`},
		"open phase": {func(_ *agent.Timeline, s []otlp.Span) {
			s[1].Attributes["podlapse.open"] = "true"
		}, "podlapse.open"},
		"no merged phases": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[pullPhaseAt].Attributes, "podlapse.merged_with")
		}, "podlapse.merged_with"},
		"other attempt": {func(_ *agent.Timeline, s []otlp.Span) {
			s[pullAt].Attributes["podlapse.attempt"] = "1"
		}, "podlapse.attempt"},
		"other end of a pull": {func(_ *agent.Timeline, s []otlp.Span) {
			s[pullAt].EndAt = s[pullAt].EndAt.Add(1)
		}, "pull image pull of main is from"},
		"error status of a successful pull": {func(_ *agent.Timeline, s []otlp.Span) { s[pullAt].Failed = true },
			"error status"},
		"open container": {func(t *agent.Timeline, _ []otlp.Span) { t.Milestones = t.Milestones[:7] },
			"podlapse.open"},
		"other restart count": {func(_ *agent.Timeline, s []otlp.Span) {
			s[mainAt].Attributes["k8s.container.restart_count"] = "1"
		}, "k8s.container.restart_count"},
		"other blocker": {func(_ *agent.Timeline, s []otlp.Span) {
			s[queueAt].Attributes["podlapse.blocked_by"] = "n/r c i"
		}, "podlapse.blocked_by"},
		"other blocked time": {func(_ *agent.Timeline, s []otlp.Span) {
			s[queueAt].Attributes["podlapse.blocked_seconds"] = "0.6"
		}, "podlapse.blocked_seconds"},
		"other unpacking time": {func(_ *agent.Timeline, s []otlp.Span) {
			s[unpackAt].Attributes["podlapse.busy_seconds"] = "1"
		}, "podlapse.busy_seconds"},
		"other download size": {func(_ *agent.Timeline, s []otlp.Span) {
			s[downloadAt].Attributes["podlapse.size_bytes"] = "6"
		}, "podlapse.size_bytes"},
		"other layer digest": {func(_ *agent.Timeline, s []otlp.Span) {
			s[layerAt].Attributes["podlapse.digest"] = "sha256:cc"
		}, "podlapse.digest"},
		"undocumented attribute": {func(_ *agent.Timeline, s []otlp.Span) {
			s[layerAt].Attributes["podlapse.more"] = "1"
		}, "podlapse.more"},
	})
}

// TestSpanEvents edits the events of layers and the kubelet's Events on the root span.
func TestSpanEvents(t *testing.T) {
	judgeTraces(t, map[string]traceCase{
		"layer without event": {func(_ *agent.Timeline, s []otlp.Span) { s[layerAt].Events = nil },
			"has the events"},
		"later event of a layer": {func(_ *agent.Timeline, s []otlp.Span) {
			s[layerAt].Events[0].At = s[layerAt].Events[0].At.Add(1)
		}, "has the events"},
		"no Pulling": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Events = slices.Delete(s[0].Events, 2, 3) },
			"want an Event Pulling"},
		"no Pulled": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Events = s[0].Events[:3] },
			"want an Event Pulled"},
		"lost Pulled": {func(t *agent.Timeline, s []otlp.Span) {
			s[0].Events = s[0].Events[:3]
			t.LostEvents, s[0].Attributes["podlapse.lost_events"] = []string{"Pulled/main"}, "Pulled/main"
		}, ""},
		"combined Events": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[3].Attributes["podlapse.message"],
				s[0].Events[3].Attributes["k8s.container.name"] = combinedMarker+": words", "other"
		}, ""},
		"ephemeral container": {func(t *agent.Timeline, _ []otlp.Span) {
			t.Milestones = append(t.Milestones, agent.Milestone{Milestone: "pull_requested", Container: "debug",
				Earliest: t.SettledAt, Sources: []string{"event_watch"}})
		}, ""},
		"container started after the start-up": {func(t *agent.Timeline, _ []otlp.Span) {
			after := t.SettledAt.Add(1)
			t.Milestones = append(t.Milestones, agent.Milestone{Milestone: "running", Container: "late",
				Earliest: after, Latest: after})
		}, ""},
		"Pulled at another time": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[3].At = s[0].EndAt.Add(-time.Second)
		}, "want an Event Pulled"},
		"Event a year earlier": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[0].At = s[0].StartAt.AddDate(-1, 0, 0)
		}, "outside the start-up"},
		"Event after the start-up": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[3].At = s[0].EndAt.Add(1)
		}, "outside the start-up"},
		"Events out of order": {func(_ *agent.Timeline, s []otlp.Span) { slices.Reverse(s[0].Events) },
			"out of order"},
		"Event without reason": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[0].Events[0].Attributes, "k8s.event.reason")
		}, "must have its reason"},
		"Event without message": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[0].Events[0].Attributes, "podlapse.message")
		}, "must have its reason"},
		"Event about another container": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[2].Attributes["k8s.container.name"] = "init"
		}, "want an Event Pulling"},
	})
}
