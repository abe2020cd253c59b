package scenario

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// rootOf returns the span of the entire start-up.
func rootOf(r otlp.Report) otlp.Span {
	if roots := r.Kind("startup"); len(roots) == 1 {
		return roots[0]
	}
	return otlp.Span{}
}

// timelineIn converts a trace to a timeline, so that the checks for timelines also apply to the trace.
func timelineIn(r otlp.Report) agent.Timeline {
	root := rootOf(r)
	length := func(s otlp.Span) json.Number { return decimal(s.EndAt.Sub(s.StartAt)) }
	t := agent.Timeline{Namespace: r.Namespace, Name: r.Pod, UID: r.UID, State: root.Attributes["podlapse.state"],
		CreatedAt: root.StartAt, SettledAt: root.EndAt, TotalSeconds: length(root),
		TotalError: json.Number(root.Attributes["podlapse.error_seconds"])}
	for _, s := range r.Kind("phase") {
		phase := agent.Phase{Phase: s.Name, Container: s.Attributes["k8s.container.name"],
			Cause:   s.Attributes["podlapse.cause"],
			StartAt: s.StartAt, EndAt: s.EndAt, Seconds: length(s),
			Error: json.Number(s.Attributes["podlapse.error_seconds"])}
		if merged := s.Attributes["podlapse.merged_with"]; merged != "" {
			phase.MergedWith = strings.Split(merged, ",")
		}
		t.Phases = append(t.Phases, phase)
	}
	return t
}

// checkTrace checks the form of a start-up's trace, and compares the trace with the start-up's record.
func (v *Verdict) checkTrace(r otlp.Report, t agent.Timeline) {
	v.Compared++
	v.checkTree(r)
	for _, span := range r.Spans {
		v.attributes(span, t)
	}
	root := rootOf(r)
	v.requireSpans(r, "", wantedOf(t, root))
	v.judgeEvents(root, t)
	v.checkRolloutLink(root, t)
}

// checkRolloutLink requires that the root span links to the rollout's trace, and to no other trace. If the pod has no
// owner, the root span must have no links.
func (v *Verdict) checkRolloutLink(root otlp.Span, t agent.Timeline) {
	var links []string
	if t.Owner.Kind != "" {
		links = []string{root.Attributes["podlapse.rollout.trace_id"]}
	}
	if !slices.Equal(root.Links, links) {
		v.Problem("trace of %s, owned by %s %s: the links are %q, want %q", t.Name, t.Owner.Kind, t.Owner.Name,
			root.Links, links)
	}
}

// rightUnder lists, for each kind of span, the allowed kinds of the parent span. The empty name allows a span without
// a parent.
var rightUnder = map[string][]string{
	"rollout": {""}, "startup": {"", "rollout"}, "run": {"startup"}, "event": {"startup"}, "termination": {"startup"},
	"phase": {"startup", "termination"}, "container": {"startup"},
	"pull": {"startup"}, "stop": {"termination"}, "queue": {"pull"}, "download": {"pull"}, "unpack": {"pull"},
	"layer": {"pull"},
}

// checkTree requires one root span, and a parent for every other span. The spans of phases, containers and pulls have
// the root span as their parent. The parts of a pull have the pull as their parent.
func (v *Verdict) checkTree(r otlp.Report) {
	root := rootOf(r)
	if root.SpanID == "" {
		v.Problem("trace of %s: %d root spans, want 1", r.Pod, len(r.Kind("startup")))
		return
	}
	of := make(map[string]otlp.Span)
	for _, s := range r.Spans {
		if _, twice := of[s.SpanID]; twice {
			v.Problem("trace of %s: two spans have the ID %s, want unique IDs", r.Pod, s.SpanID)
		}
		of[s.SpanID] = s
	}
	for _, s := range r.Spans {
		if s.TraceID != root.TraceID || s.EndAt.Before(s.StartAt) {
			v.Problem("trace of %s: span %s must be in the root's trace and end after its start, but is in "+
				"trace %s from %s to %s", r.Pod, s.Name, s.TraceID, s.StartAt,
				s.EndAt)
		}
		parent := of[s.Parent].Attributes["podlapse.kind"]
		kind := s.Attributes["podlapse.kind"]
		if above, known := rightUnder[kind]; !known {
			v.Problem("trace of %s: span %s has an unknown kind: %q", r.Pod, s.Name, kind)
		} else if !slices.Contains(above, parent) {
			v.Problem("trace of %s: %s %s has a parent of kind %q, which is not allowed", r.Pod, kind, s.Name, parent)
		}
	}
}

func (v *Verdict) attributes(s otlp.Span, t agent.Timeline) {
	wants := map[string]string{"k8s.namespace.name": t.Namespace, "k8s.pod.name": t.Name, "k8s.pod.uid": t.UID,
		"k8s.node.name": layout.NodeName}
	for key, want := range wants {
		if s.Attributes[key] != want {
			v.Problem("trace of %s: span %s has %s=%q, want %q", t.Name, s.Name, key, s.Attributes[key], want)
		}
	}
	for key, want := range map[string]string{"service.name": "podlapse-agent", "service.instance.id": layout.NodeName,
		"k8s.node.name": layout.NodeName} {
		if s.Resource[key] != want {
			v.Problem("trace of %s: the resource has %s=%q, want %q", t.Name, key, s.Resource[key], want)
		}
	}
	if s.Resource["service.version"] == "" {
		v.Problem("trace of %s: the resource has no service.version, want the agent's version", t.Name)
	}
}

// sameSpans compares the IDs of the spans in two reports about the same start-up. A span that is in both reports must
// have the same ID in both reports. The two agents can have different evidence, so each report can have spans that the
// other report lacks. At least 90 percent of the first report's spans must also be in the second report.
func (v *Verdict) sameSpans(first, second otlp.Report) {
	v.Compared++
	named := make(map[string]string) // maps the identity of each span in the first report to the IDs of the span
	for _, s := range identified(first) {
		named[s.identity] = s.ids
	}
	same := 0
	for _, s := range identified(second) {
		switch ids, known := named[s.identity]; {
		case !known:
		case ids == s.ids:
			same++
		default:
			v.Problem("pod %s: %s was sent with the IDs %s and %s, want the same IDs", first.Pod, s.identity, ids,
				s.ids)
		}
	}
	v.Note("pod %s was sent twice, with %d and %d spans; %d spans are the same", first.Pod, len(first.Spans),
		len(second.Spans), same)
	if 10*same < 9*len(first.Spans) {
		v.Problem("pod %s was sent twice, but only %d of %d spans are the same, want at least 90 %%", first.Pod, same,
			len(first.Spans))
	}
}

// spanIdentity describes a span. If a span is in both reports, its field "identity" has the same value in both
// reports. The field "ids" contains the span's IDs.
type spanIdentity struct{ identity, ids string }

func identified(r otlp.Report) (all []spanIdentity) {
	times := make(map[string]int)
	for _, s := range r.Spans {
		identity := strings.Join([]string{s.Attributes["podlapse.kind"], s.Name, s.Attributes["k8s.container.name"],
			s.Attributes["podlapse.attempt"], s.Attributes["podlapse.digest"], s.Parent}, " ")
		times[identity]++ // several spans can have the same identity, for example if a phase occurs twice
		all = append(all, spanIdentity{identity + " " + strconv.Itoa(times[identity]), s.TraceID + " " + s.SpanID})
	}
	return all
}
