package otlp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestTraceOfStartUp(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.cluster.name=north")
	sink := run(t)
	sink.Offer(coldStart())
	eventually(t, "the trace arrives", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	sink.mustCount(t, 1, 0)

	mustBe(t, "testdata/cold-start.trace", tree(collector.spans()))
	var resource strings.Builder
	printAttributes(&resource, "", collector.traces[0].Resource.Attributes, false)
	for _, want := range []string{"service.name = podlapse-agent\n", "service.version = v1.2.3\n",
		"k8s.node.name = node-a\n",
		"service.instance.id = node-a\n", "k8s.cluster.name = north\n", "telemetry.sdk.language = go\n"} {
		if !strings.Contains(resource.String(), want) {
			t.Errorf("no %q in\n%s", want, resource.String())
		}
	}
	if got := collector.header.Get("Authorization"); got != "Bearer secret" {
		t.Errorf("authorization %q", got)
	}
	if up, detail := sink.health(); !up || !strings.HasPrefix(detail, "sending to http://127.0.0.1:") {
		t.Errorf("%v %s", up, detail)
	}
}

func TestTraceOfGivenUpStartUp(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sendAll(t, stuck())
	mustBe(t, "testdata/given-up.trace", tree(collector.spans()))
}

// The IDs follow the definition, and are the same on another day and in another agent.
func TestTraceIDsAreDeterministic(t *testing.T) {
	var collectors [2]receiver
	for i := range collectors {
		collectors[i].overHTTP(t)
		tl := coldStart()
		if i == 1 { // the next agent has less evidence
			tl.Phases = slices.Delete(tl.Phases, 0, 1)
			tl.EventMessage = nil
		}
		sendAll(t, tl)
	}
	first, second := collectors[0].spans(), collectors[1].spans()
	trace := sha256.Sum256([]byte("podlapse trace 0b1c/0"))
	own := hex.EncodeToString(trace[:16])
	root := sha256.Sum256([]byte("podlapse span " + own + " 0b1c/0 "))
	if got, want := idsOf(first)[0], own+"/"+hex.EncodeToString(root[:8])+" in "; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	without := slices.DeleteFunc(slices.Clone(first), func(s *tracepb.Span) bool { return s.Name == "volumes" })
	if !slices.Equal(idsOf(without), idsOf(second)) {
		t.Errorf("got\n%s\nthen\n%s", strings.Join(idsOf(without), "\n"), strings.Join(idsOf(second), "\n"))
	}
	seen := map[string]bool{}
	for _, s := range first {
		if seen[string(s.SpanId)] {
			t.Errorf("%s has the ID of another span", s.Name)
		}
		seen[string(s.SpanId)] = true
	}
}

// replica returns the start-up of another pod of coldStart's Deployment, in the given version.
func replica(uid, revision string) timeline.Timeline {
	t := coldStart()
	t.UID, t.Revision = uid, revision
	return t
}

func TestPodsOfRolloutAreLinked(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sendAll(t, replica("a", "7d4b"), replica("b", "7d4b"), replica("c", "other"), stuck())
	var links []string
	for _, s := range collector.spans() {
		if len(s.ParentSpanId) > 0 {
			continue
		}
		link := ""
		for _, l := range s.Links {
			link = hex.EncodeToString(l.TraceId)
		}
		links = append(links, link)
	}
	rollout := sha256.Sum256([]byte("podlapse owner shop/Deployment/web/7d4b"))
	if len(links) != 4 || links[0] != hex.EncodeToString(rollout[:16]) || links[1] != links[0] ||
		links[2] == links[0] || links[3] != "" {
		t.Errorf("links %q", links)
	}
}

func TestAnnotationIsParent(t *testing.T) {
	const foreign = "0af7651916cd43dd8448eb211c80319c"
	for name, test := range map[string]struct {
		parent string
		want   string // the trace's ID; empty for the start-up's own
		none   bool
	}{
		"parent":             {parent: "00-" + foreign + "-b7ad6b7169203331-01", want: foreign},
		"not sampled":        {parent: "00-" + foreign + "-b7ad6b7169203331-00", none: true},
		"no ID":              {parent: "00-00000000000000000000000000000000-b7ad6b7169203331-01"},
		"upper case":         {parent: "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01"},
		"words":              {parent: "my trace, please"},
		"an invalid version": {parent: "ff-" + foreign + "-b7ad6b7169203331-01"},
	} {
		t.Run(name, func(t *testing.T) {
			var collector receiver
			collector.overHTTP(t)
			one, other := coldStart(), coldStart()
			one.TraceParent, other.TraceParent, other.UID = test.parent, test.parent, "other"
			sendAll(t, one, other)
			spans := collector.spans()
			named := NewTraceOf(false)(one)
			if test.none {
				if len(spans) > 0 || named != "" {
					t.Errorf("%d spans of an unsampled trace %s", len(spans), named)
				}
				return
			}
			if got := hex.EncodeToString(spans[0].TraceId); got != named { // the first offered start-up
				t.Errorf("trace %s is named %s", got, named)
			}
			ids := map[string]bool{}
			for _, s := range spans {
				ids[string(s.SpanId)] = true
				if s.Name != "pod startup shop/web-7d4b-x" {
					continue
				}
				parent, trace := hex.EncodeToString(s.ParentSpanId), hex.EncodeToString(s.TraceId)
				if test.want == "" && (parent != "" || trace == foreign) || test.want != "" &&
					(parent != "b7ad6b7169203331" || trace != foreign) {
					t.Errorf("in trace %s under %q", trace, parent)
				}
			}
			if len(ids) != len(spans) || len(spans) == 0 {
				t.Errorf("%d spans have %d IDs", len(spans), len(ids))
			}
		})
	}
}

// TraceOf returns a trace only if the sampler keeps it.
func TestTraceOfMatchesSampler(t *testing.T) {
	for sampler, want := range map[string]string{"always_on": startUpTraceID(coldStart()).String(), "always_off": "",
		"traceidratio": ""} {
		t.Run(sampler, func(t *testing.T) {
			var collector receiver
			collector.overHTTP(t)
			t.Setenv("OTEL_TRACES_SAMPLER", sampler)
			t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0")
			sendAll(t, coldStart())
			if got := NewTraceOf(false)(coldStart()); got != want || len(collector.spans()) > 0 != (want != "") {
				t.Errorf("trace %q, want %q, of %d spans", got, want, len(collector.spans()))
			}
		})
	}
}

func TestTracesOverGRPC(t *testing.T) {
	var collector receiver
	collector.overGRPC(t)
	sink := run(t)
	sink.Offer(coldStart())
	eventually(t, "the trace arrives", func() bool { return len(collector.spans()) > 0 })
	sink.stop()
	mustBe(t, "testdata/cold-start.trace", tree(collector.spans()))
}

// A crash loop of many containers does not make a request too large for collectors.
func TestTraceIsBounded(t *testing.T) {
	tl := coldStart()
	for range 2 * maxSpans {
		tl.Phases = append(tl.Phases, tl.Phases[0])
	}
	spans := spansOf(tl)
	left := spans[0].attributes[len(spans[0].attributes)-1]
	if len(spans) != maxSpans || left.Key != keySpansLeftOut || left.Value.AsInt64() < maxSpans {
		t.Errorf("%d spans, %v", len(spans), left)
	}
}
