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

// sent is a start-up of two phases, of which the second is a pull, as a record and as a trace.
func sent() (agent.Timeline, otlp.Report) {
	at := func(seconds int) time.Time { return start().Add(time.Duration(seconds) * time.Second) }
	timeline := agent.Timeline{ID: "u/0", Namespace: "n", Name: "p", UID: "u", State: agent.Ready, CreatedAt: at(0), SettledAt: at(3),
		Phases: []agent.Phase{{Phase: "scheduling", Cause: "scheduler", StartAt: at(0), EndAt: at(1)},
			{Phase: "pull", Cause: "registry", Container: "main", StartAt: at(1), EndAt: at(3)}},
		Pulls: []agent.Pull{{Container: "main", Image: "r/main:1", Outcome: agent.Downloaded, RequestedAt: at(1), FinishedAt: at(3),
			Layers: []agent.Layer{{Digest: "sha256:aa"}}}}}
	span := func(id, parent, kind, name string, from, to int, pairs ...string) otlp.Span {
		s := otlp.Span{TraceID: "t", SpanID: id, Parent: parent, Name: name, StartAt: at(from), EndAt: at(to),
			Attributes: map[string]string{"podlapse.kind": kind, "k8s.namespace.name": "n", "k8s.pod.name": "p", "k8s.pod.uid": "u",
				"k8s.node.name": layout.NodeName},
			Resource: map[string]string{"service.name": "podlapse-agent", "service.instance.id": layout.NodeName, "k8s.node.name": layout.NodeName}}
		for i := 0; i < len(pairs); i += 2 {
			s.Attributes[pairs[i]] = pairs[i+1]
		}
		return s
	}
	return timeline, otlp.Report{Namespace: "n", Pod: "p", UID: "u", Spans: []otlp.Span{
		span("1", "", "startup", "pod startup n/p", 0, 3, "podlapse.state", "ready", "podlapse.startup.id", "u/0"),
		span("2", "1", "phase", "scheduling", 0, 1, "podlapse.cause", "scheduler"),
		span("3", "1", "phase", "pull", 1, 3, "podlapse.cause", "registry", "k8s.container.name", "main"),
		span("4", "1", "pull", "image pull of main", 1, 3, "podlapse.image", "r/main:1", "podlapse.outcome", agent.Downloaded,
			"k8s.container.name", "main", "container.image.name", "r/main"),
		span("5", "4", "layer", "layer", 1, 3, "podlapse.digest", "sha256:aa"),
	}}
}

func TestTraceVerdict(t *testing.T) {
	for name, test := range map[string]struct {
		edit func(*agent.Timeline, []otlp.Span)
		want string // in what is printed; empty: it passes
	}{
		"all right":               {func(*agent.Timeline, []otlp.Span) {}, ""},
		"another creation":        {func(_ *agent.Timeline, s []otlp.Span) { s[0].StartAt = s[0].StartAt.Add(-1) }, "the record says from"},
		"another state":           {func(_ *agent.Timeline, s []otlp.Span) { s[0].Attributes["podlapse.state"] = "failed" }, "the record says u/0"},
		"an error of a ready pod": {func(_ *agent.Timeline, s []otlp.Span) { s[0].Failed = true }, "its status is error"},
		"no error of a failed pod": {func(t *agent.Timeline, s []otlp.Span) {
			t.State, s[0].Attributes["podlapse.state"] = agent.Failed, agent.Failed
		}, "its status is error"},
		"two traces":              {func(_ *agent.Timeline, s []otlp.Span) { s[1].TraceID = "other" }, "is in trace other"},
		"one ID twice":            {func(_ *agent.Timeline, s []otlp.Span) { s[1].SpanID = "3" }, "two spans 3"},
		"no root":                 {func(_ *agent.Timeline, s []otlp.Span) { s[0].Attributes["podlapse.kind"] = "phase" }, "0 roots"},
		"a phase without parent":  {func(_ *agent.Timeline, s []otlp.Span) { s[1].Parent = "" }, `phase scheduling is under ""`},
		"a layer under the root":  {func(_ *agent.Timeline, s []otlp.Span) { s[4].Parent = "1" }, "layer is under"},
		"a layer too few":         {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls[0].Layers = nil }, "1 layers of"},
		"no pod's name":           {func(_ *agent.Timeline, s []otlp.Span) { delete(s[4].Attributes, "k8s.pod.name") }, "k8s.pod.name"},
		"no service":              {func(_ *agent.Timeline, s []otlp.Span) { delete(s[1].Resource, "service.name") }, "service.name"},
		"no image":                {func(_ *agent.Timeline, s []otlp.Span) { delete(s[3].Attributes, "container.image.name") }, "has no container.image.name"},
		"a phase too few":         {func(t *agent.Timeline, _ []otlp.Span) { t.Phases = t.Phases[:1] }, "2 phases"},
		"a phase that ends later": {func(_ *agent.Timeline, s []otlp.Span) { s[1].EndAt = s[1].EndAt.Add(1) }, "phase 0"},
		"another cause":           {func(_ *agent.Timeline, s []otlp.Span) { s[1].Attributes["podlapse.cause"] = "kubelet" }, "of kubelet"},
		"another end of the pull": {func(_ *agent.Timeline, s []otlp.Span) { s[3].EndAt = s[3].EndAt.Add(1) }, "a pull of"},
		"a pull that failed":      {func(_ *agent.Timeline, s []otlp.Span) { s[3].Failed = true }, "a pull of"},
		"a pull too many":         {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls = nil }, "1 more pulls"},
		"a pull too few":          {func(t *agent.Timeline, _ []otlp.Span) { t.Pulls = append(t.Pulls, t.Pulls[0]) }, "no span for the pull"},
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

func TestSameSpans(t *testing.T) {
	_, first := sent()
	for name, test := range map[string]struct {
		edit func(*otlp.Report)
		want string
	}{
		"all right":        {func(*otlp.Report) {}, ""},
		"another span":     {func(r *otlp.Report) { r.Spans[1].SpanID = "9" }, "was sent as t 2 and as t 9"},
		"another trace":    {func(r *otlp.Report) { r.Spans[0].TraceID = "other" }, "was sent as t 1 and as other 1"},
		"most are missing": {func(r *otlp.Report) { r.Spans = r.Spans[:2] }, "only 2 of 5"},
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

func TestBucketOf(t *testing.T) {
	for seconds, want := range map[float64][2]float64{0.01: {0, 0.025}, 2.5: {1, 2.5}, 2.6: {2.5, 5}, 7: {5, 10}, 15: {10, 20}} {
		if low, high := bucketOf(seconds); low != want[0] || high != want[1] {
			t.Errorf("%v is in the bucket from %v to %v, want %v", seconds, low, high, want)
		}
	}
}

func TestRecordsVerdict(t *testing.T) {
	schemas, err := agent.ReadSchemas("../../..", func(string) (string, bool) { return "", false })
	if err != nil {
		t.Fatal(err)
	}
	verdict := &Verdict{}
	verdict.records(agent.Records{Timelines: []agent.Timeline{{Name: "p", Raw: []byte(`{"id":"u/0"}`)}}, Strays: 2}, schemas)
	var out bytes.Buffer
	verdict.Print(&out)
	for _, want := range []string{"timeline record of p:", "the records of p disagree", "2 transition records do not follow", "1 timeline records"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
