package scenario

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// sent is a start-up with two phases, the second of which is a pull, as a record and as a trace. Its container's
// creation is known to half a second.
func sent() (agent.Timeline, otlp.Report) {
	at := func(seconds int) time.Time { return start().Add(time.Duration(seconds) * time.Second) }
	timeline := agent.Timeline{ID: "u/0", Namespace: "n", Name: "p", UID: "u", State: agent.Ready, CreatedAt: at(0),
		SettledAt: at(9),
		Verdict:   "9 s", TotalError: "0.5", Owner: agent.Owner{Kind: "Deployment", Name: "d"},
		Missing: []string{"acknowledged"},
		Phases: []agent.Phase{{Phase: "scheduling", Cause: "scheduler", StartAt: at(0), EndAt: at(1), Error: "0.25",
			Sources: []string{"pod_watch"}},
			{Phase: "pull", Cause: "registry", Container: "main", StartAt: at(1), EndAt: at(9), Error: "0",
				MergedWith: []string{"unpack"}}},
		Pulls: []agent.Pull{{Container: "main", Kind: agent.Main, Image: "r/main:1", Registry: "r", Digest: "sha256:bb",
			Outcome:     agent.Downloaded,
			RequestedAt: at(1), StartedAt: at(2), DownloadedAt: at(4), FinishedAt: at(5), QueueSeconds: "1",
			PullSeconds: "3", Error: "0.011",
			SizeBytes: 7, Download: &agent.Download{StartAt: at(2), EndAt: at(4), Seconds: "2", Bytes: 5},
			Unpack: &agent.Unpack{StartAt: at(4), EndAt: at(5), Seconds: "0.75"}, Sources: []string{"event_watch"},
			Layers:    []agent.Layer{{Digest: "sha256:aa", SizeBytes: 5, DownloadedAt: at(4), UnpackedAt: at(5)}},
			BlockedBy: &agent.Blocker{Namespace: "n", Pod: "q", Container: "c", Image: "i", Seconds: "0.5"}}},
		Milestones: []agent.Milestone{
			{Milestone: "container_created", Container: "init", Earliest: at(1), Latest: at(1)},
			{Milestone: "running", Container: "init", Earliest: at(1), Latest: at(1)},
			{Milestone: "finished", Container: "init", Earliest: at(1), Latest: at(1)},
			{Milestone: "pull_requested", Container: "main", Earliest: at(1), Latest: at(1),
				Sources: []string{"event_watch"}},
			{Milestone: "pull_finished", Container: "main", Earliest: at(5), Latest: at(5),
				Sources: []string{"containerd", "event_watch"}},
			{Milestone: "container_created", Container: "main", Earliest: at(6), Latest: at(6).Add(time.Second / 2)},
			{Milestone: "running", Container: "main", Earliest: at(7), Latest: at(7)},
			{Milestone: "container_ready", Container: "main", Earliest: at(8), Latest: at(9)}}}
	span := func(id, parent, kind, name string, from, to int, pairs ...string) otlp.Span {
		s := otlp.Span{TraceID: "t", SpanID: id, Parent: parent, Name: name, StartAt: at(from), EndAt: at(to),
			Attributes: map[string]string{"podlapse.kind": kind, "k8s.namespace.name": "n", "k8s.pod.name": "p",
				"k8s.pod.uid":   "u",
				"k8s.node.name": layout.NodeName},
			Resource: map[string]string{"service.name": "podlapse-agent", "service.version": "v1",
				"service.instance.id": layout.NodeName,
				"k8s.node.name":       layout.NodeName}}
		for i := 0; i < len(pairs); i += 2 {
			s.Attributes[pairs[i]] = pairs[i+1]
		}
		return s
	}
	stated := func(reason, container string, second int) otlp.Event {
		return otlp.Event{Name: reason, At: at(second), Attributes: map[string]string{"k8s.event.reason": reason,
			"k8s.container.name": container, "podlapse.message": "words"}}
	}
	// printf 'podlapse owner n/Deployment/d/1' | sha256sum | cut -c1-32
	const rollout = "33fa8ec7d178c117c6ebc200a7e4c374"
	root := span("1", "", "startup", "pod startup n/p", 0, 9, "podlapse.state", "ready", "podlapse.startup.id", "u/0",
		"podlapse.verdict", "9 s",
		"podlapse.error_seconds", "0.5", "podlapse.missing", "acknowledged", "podlapse.owner.kind", "Deployment",
		"podlapse.owner.name", "d",
		"podlapse.owner.revision", "1", "podlapse.rollout.trace_id", rollout, "k8s.deployment.name", "d")
	root.Links = []string{rollout}
	root.Events = []otlp.Event{stated("Created", "init", 1), stated("Started", "init", 1), stated("Pulling", "main", 1),
		stated("Pulled", "main", 5)}
	layer := span("9", "5", "layer", "layer", 2, 5, "podlapse.digest", "sha256:aa", "podlapse.size_bytes", "5")
	layer.Events = []otlp.Event{{Name: "downloaded", At: at(4)}}
	return timeline, otlp.Report{Namespace: "n", Pod: "p", UID: "u", Spans: []otlp.Span{
		root,
		span("2", "1", "phase", "scheduling", 0, 1, "podlapse.cause", "scheduler", "podlapse.attempt", "0",
			"podlapse.error_seconds", "0.25", "podlapse.sources", "pod_watch"),
		span("3", "1", "phase", "pull", 1, 9, "podlapse.cause", "registry", "podlapse.attempt", "0",
			"podlapse.error_seconds", "0", "podlapse.merged_with", "unpack", "k8s.container.name", "main"),
		span("4", "1", "container", "container main", 6, 9, "k8s.container.name", "main", "k8s.container.restart_count",
			"0", "container.image.name", "r/main", "container.image.tags", "1"),
		span("5", "1", "pull", "image pull of main", 1, 5, "podlapse.image", "r/main:1", "podlapse.registry", "r",
			"podlapse.digest", "sha256:bb",
			"podlapse.outcome", agent.Downloaded, "podlapse.attempt", "0", "podlapse.error_seconds", "0.011",
			"podlapse.sources", "event_watch",
			"podlapse.size_bytes", "7", "k8s.container.name", "main", "container.image.name", "r/main",
			"container.image.tags", "1"),
		span("6", "5", "queue", "queue", 1, 2, "podlapse.blocked_by", "n/q c i", "podlapse.blocked_seconds", "0.5"),
		span("7", "5", "download", "download", 2, 4, "podlapse.size_bytes", "5"),
		span("8", "5", "unpack", "unpack", 4, 5, "podlapse.busy_seconds", "0.75"),
		layer,
		span("a", "1", "container", "container init", 1, 1, "k8s.container.name", "init", "k8s.container.restart_count",
			"0"),
	}}
}

// Indexes in the trace.
const (
	rootAt = iota
	schedulingAt
	pullPhaseAt
	mainAt
	pullAt
	queueAt
	downloadAt
	unpackAt
	layerAt
	initAt
)

func TestTraceVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*agent.Timeline, []otlp.Span)
		want string // in the output; empty if it passes
	}{
		"all right":                   {func(*agent.Timeline, []otlp.Span) {}, ""},
		"a container in its interval": {func(_ *agent.Timeline, s []otlp.Span) { s[mainAt].StartAt = s[mainAt].StartAt.Add(time.Second / 2) }, ""},
		"another creation": {func(_ *agent.Timeline, s []otlp.Span) { s[0].StartAt = s[0].StartAt.Add(-1) },
			"startup pod startup n/p is from"},
		"another state": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.state"] = "failed"
		}, `podlapse.state="failed"`},
		"another verdict": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.verdict"] = "1 s"
		}, "podlapse.verdict"},
		"another owner": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.owner.name"] = "e"
		}, "podlapse.owner.name"},
		"another rollout": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.owner.revision"] = "2"
		}, "podlapse.rollout.trace_id"},
		"no link": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Links = nil }, "links are"},
		"an owner of a bare pod": {func(t *agent.Timeline, s []otlp.Span) {
			t.Owner, s[0].Links = agent.Owner{}, nil
		}, "podlapse.owner.kind"},
		"nothing missing": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[0].Attributes, "podlapse.missing")
		}, "podlapse.missing"},
		"a conflict of nobody": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.conflicts"] = "1"
		}, "podlapse.conflicts"},
		"an error of a ready pod": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Failed = true },
			"error status"},
		"no error of a failed pod": {func(t *agent.Timeline, s []otlp.Span) {
			t.State, s[0].Attributes["podlapse.state"] = agent.Failed, agent.Failed
		}, "error status"},
		"two traces": {func(_ *agent.Timeline, s []otlp.Span) { s[1].TraceID = "other" },
			"is in trace other"},
		"one ID twice": {func(_ *agent.Timeline, s []otlp.Span) { s[1].SpanID = "3" }, "two spans have the ID 3"},
		"no root": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Attributes["podlapse.kind"] = "phase"
		}, "0 roots"},
		"a phase without parent": {func(_ *agent.Timeline, s []otlp.Span) { s[1].Parent = "" },
			`phase scheduling is under ""`},
		"a layer under the root": {func(_ *agent.Timeline, s []otlp.Span) { s[layerAt].Parent = "1" },
			"layer is under"},
		"a layer too few": {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls[0].Layers = nil },
			"unexpected span layer of kind layer"},
		"a layer too many": {func(t *agent.Timeline, _ []otlp.Span) {
			t.Pulls[0].Layers = append(t.Pulls[0].Layers, t.Pulls[0].Layers[0])
		}, "no span for layer"},
		"no pod's name": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[layerAt].Attributes, "k8s.pod.name")
		}, "k8s.pod.name"},
		"no service": {func(_ *agent.Timeline, s []otlp.Span) { delete(s[1].Resource, "service.name") },
			"service.name"},
		"no version": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[1].Resource, "service.version")
		}, "service.version"},
		"no image": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[pullAt].Attributes, "container.image.name")
		}, "container.image.name"},
		"another tag": {func(_ *agent.Timeline, s []otlp.Span) {
			s[mainAt].Attributes["container.image.tags"] = "2"
		}, "container.image.tags"},
		"a phase too few": {func(t *agent.Timeline, _ []otlp.Span) { t.Phases = t.Phases[:1] },
			"unexpected span pull of kind phase"},
		"phases in another order": {func(t *agent.Timeline, _ []otlp.Span) { slices.Reverse(t.Phases) },
			"in the record"},
		"a phase that ends later": {func(_ *agent.Timeline, s []otlp.Span) { s[1].EndAt = s[1].EndAt.Add(1) },
			"phase scheduling is from"},
		"another cause": {func(_ *agent.Timeline, s []otlp.Span) {
			s[1].Attributes["podlapse.cause"] = "kubelet"
		}, `podlapse.cause="kubelet"`},
		"a phase that is open": {func(_ *agent.Timeline, s []otlp.Span) {
			s[1].Attributes["podlapse.open"] = "true"
		}, "podlapse.open"},
		"merged with nothing": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[pullPhaseAt].Attributes, "podlapse.merged_with")
		}, "podlapse.merged_with"},
		"another attempt": {func(_ *agent.Timeline, s []otlp.Span) {
			s[pullAt].Attributes["podlapse.attempt"] = "1"
		}, "podlapse.attempt"},
		"another end of the pull": {func(_ *agent.Timeline, s []otlp.Span) {
			s[pullAt].EndAt = s[pullAt].EndAt.Add(1)
		}, "pull image pull of main is from"},
		"a pull that failed": {func(_ *agent.Timeline, s []otlp.Span) { s[pullAt].Failed = true },
			"error status"},
		"a pull too many": {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls = nil },
			"unexpected span image pull of main of kind pull"},
		"a pull too few": {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls = append(t.Pulls, t.Pulls[0]) },
			"no span for pull"},
		"a container too few": {func(_ *agent.Timeline, s []otlp.Span) {
			s[initAt] = s[mainAt]
			s[initAt].SpanID = "b"
		}, "no span for container container init"},
		"a container that is open": {func(t *agent.Timeline, _ []otlp.Span) { t.Milestones = t.Milestones[:7] },
			"podlapse.open"},
		"another run": {func(_ *agent.Timeline, s []otlp.Span) {
			s[mainAt].Attributes["k8s.container.restart_count"] = "1"
		}, "k8s.container.restart_count"},
		"another blocker": {func(_ *agent.Timeline, s []otlp.Span) {
			s[queueAt].Attributes["podlapse.blocked_by"] = "n/r c i"
		}, "podlapse.blocked_by"},
		"blocked for longer": {func(_ *agent.Timeline, s []otlp.Span) {
			s[queueAt].Attributes["podlapse.blocked_seconds"] = "0.6"
		}, "podlapse.blocked_seconds"},
		"busy for longer": {func(_ *agent.Timeline, s []otlp.Span) {
			s[unpackAt].Attributes["podlapse.busy_seconds"] = "1"
		}, "podlapse.busy_seconds"},
		"more bytes": {func(_ *agent.Timeline, s []otlp.Span) {
			s[downloadAt].Attributes["podlapse.size_bytes"] = "6"
		}, "podlapse.size_bytes"},
		"another layer": {func(_ *agent.Timeline, s []otlp.Span) {
			s[layerAt].Attributes["podlapse.digest"] = "sha256:cc"
		}, "podlapse.digest"},
		"what nobody documents": {func(_ *agent.Timeline, s []otlp.Span) {
			s[layerAt].Attributes["podlapse.more"] = "1"
		}, "podlapse.more"},
		"a layer without event": {func(_ *agent.Timeline, s []otlp.Span) { s[layerAt].Events = nil },
			"has the events"},
		"a layer's event later": {func(_ *agent.Timeline, s []otlp.Span) { s[layerAt].Events[0].At = s[layerAt].Events[0].At.Add(1) }, "has the events"},
		"no Pulling":            {func(_ *agent.Timeline, s []otlp.Span) { s[0].Events = slices.Delete(s[0].Events, 2, 3) }, "no Event Pulling"},
		"no Pulled": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Events = s[0].Events[:3] },
			"no Event Pulled"},
		"no Created": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Events = s[0].Events[1:] },
			"no Event Created"},
		"no Started": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Events = slices.Delete(s[0].Events, 1, 2) },
			"no Event Started"},
		"a Pulled that was lost": {func(t *agent.Timeline, s []otlp.Span) {
			s[0].Events = s[0].Events[:3]
			t.LostEvents, s[0].Attributes["podlapse.lost_events"] = []string{"Pulled/main"}, "Pulled/main"
		}, ""},
		"Pulled in one with others": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[3].Attributes["podlapse.message"],
				s[0].Events[3].Attributes["k8s.container.name"] = combined+": words", "other"
		}, ""},
		"an ephemeral container": {func(t *agent.Timeline, _ []otlp.Span) {
			t.Milestones = append(t.Milestones, agent.Milestone{Milestone: "pull_requested", Container: "debug",
				Earliest: t.SettledAt, Sources: []string{"event_watch"}})
		}, ""},
		"a container after the end": {func(t *agent.Timeline, _ []otlp.Span) {
			after := t.SettledAt.Add(1)
			t.Milestones = append(t.Milestones, agent.Milestone{Milestone: "running", Container: "late",
				Earliest: after, Latest: after})
		}, ""},
		"a Pulled of another time": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[3].At = s[0].EndAt.Add(-time.Second)
		}, "no Event Pulled"},
		"an Event of last year": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[0].At = s[0].StartAt.AddDate(-1, 0, 0)
		}, "outside the start-up"},
		"an Event after it": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[3].At = s[0].EndAt.Add(1)
		}, "outside the start-up"},
		"Events out of order": {func(_ *agent.Timeline, s []otlp.Span) { slices.Reverse(s[0].Events) },
			"out of order"},
		"an Event without reason": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[0].Events[0].Attributes, "k8s.event.reason")
		}, "has invalid attributes"},
		"an Event without words": {func(_ *agent.Timeline, s []otlp.Span) {
			delete(s[0].Events[0].Attributes, "podlapse.message")
		}, "has invalid attributes"},
		"Events of another container": {func(_ *agent.Timeline, s []otlp.Span) {
			s[0].Events[2].Attributes["k8s.container.name"] = "init"
		}, "no Event Pulling"},
	} {
		timeline, report := sent()
		test.edit(&timeline, report.Spans)
		verdict := &Verdict{}
		verdict.trace(report, timeline)
		var out bytes.Buffer
		verdict.Print(&out)
		if verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, verdict.Failed(), out.String())
		}
	}
}

// Every span of the tree has its time, and its error bound if any, from the record.
func TestNoSpanIsElsewhere(t *testing.T) {
	_, all := sent()
	for i, s := range all.Spans {
		for name, edit := range map[string]func(*otlp.Span){
			"five years off": func(s *otlp.Span) {
				s.StartAt, s.EndAt = s.StartAt.AddDate(-5, 0, 0), s.EndAt.AddDate(-5, 0, 0)
			},
			"begun a second ago": func(s *otlp.Span) { s.StartAt = s.StartAt.Add(-time.Second) },
			"ended a second on":  func(s *otlp.Span) { s.EndAt = s.EndAt.Add(time.Second) },
			"of another name":    func(s *otlp.Span) { s.Name = "other" },
			"without its error":  func(s *otlp.Span) { delete(s.Attributes, "podlapse.error_seconds") },
			"of another error":   func(s *otlp.Span) { s.Attributes["podlapse.error_seconds"] = "0.125" },
		} {
			if _, bounded := s.Attributes["podlapse.error_seconds"]; !bounded && name == "without its error" {
				continue
			}
			timeline, report := sent()
			edit(&report.Spans[i])
			verdict := &Verdict{}
			verdict.trace(report, timeline)
			if !verdict.Failed() {
				t.Errorf("%s %s passes", s.Name, name)
			}
		}
	}
}

func TestSameSpans(t *testing.T) {
	_, first := sent()
	for name, test := range map[string]struct {
		edit func(*otlp.Report)
		want string
	}{
		"all right":    {func(*otlp.Report) {}, ""},
		"another span": {func(r *otlp.Report) { r.Spans[1].SpanID = "9" }, "was sent with the IDs t 2 and t 9"},
		"another trace": {func(r *otlp.Report) { r.Spans[0].TraceID = "other" },
			"was sent with the IDs t 1 and other 1"},
		"most are missing": {func(r *otlp.Report) { r.Spans = r.Spans[:2] }, "only 2 of 10"},
	} {
		second := first
		second.Spans = slices.Clone(first.Spans)
		for i := range second.Spans {
			second.Spans[i].Attributes = maps.Clone(first.Spans[i].Attributes)
		}
		test.edit(&second)
		verdict := &Verdict{}
		verdict.sameSpans(first, second)
		var out bytes.Buffer
		verdict.Print(&out)
		if verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, verdict.Failed(), out.String())
		}
	}
}

func TestDocumentedIDs(t *testing.T) {
	// printf 'podlapse trace %s/0' 0b1c | sha256sum | cut -c1-32
	if got := ownTrace("0b1c"); got != "a028d47a27cc320a333d3229096621ed" {
		t.Errorf("trace %q", got)
	}
}

func TestRecordsVerdict(t *testing.T) {
	schemas, err := agent.ReadSchemas("../../..")
	if err != nil {
		t.Fatal(err)
	}
	verdict := &Verdict{}
	verdict.records(agent.Records{Timelines: []agent.Timeline{{Name: "p", Raw: []byte(`{"id":"u/0"}`)}}, Strays: 2},
		schemas)
	var out bytes.Buffer
	verdict.Print(&out)
	for _, want := range []string{"timeline record of p:", "the records of p contradict each other",
		"2 transition records do not follow", "1 timeline records"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
