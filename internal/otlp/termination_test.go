package otlp

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/zap"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// killedStartUp returns coldStart with a termination: the pod was deleted after an hour, and killed at the end of the
// grace period of 30 s.
func killedStartUp() timeline.Timeline {
	t := coldStart()
	from := after(time.Hour)
	stopped, gone := from.Add(30*time.Second), from.Add(31*time.Second)
	t.Termination = &timeline.Termination{
		RequestedAt: from, GoneAt: gone, Grace: 30 * time.Second, Total: 31 * time.Second, TotalError: 400 * ms,
		Phases: []timeline.Span{
			{Phase: timeline.PhaseGrace, Cause: timeline.CauseApp, Container: "app", StartAt: from, EndAt: stopped},
			{Phase: timeline.PhaseObjectDeletion, Cause: timeline.CauseKubelet, StartAt: stopped, EndAt: gone},
		},
		Stops: []timeline.Stop{
			{Container: "setup", Kind: timeline.KindInit, How: timeline.StopBefore, StoppedAt: after(time.Second),
				Exited: true},
			{Container: "app", Kind: timeline.KindMain, How: timeline.StopKilled, StoppedAt: stopped, Exited: true,
				ExitCode: 137, Signal: 9},
		},
	}
	return t
}

// The spans of a termination are in the trace of the start-up, below the start-up's root span, although the agent
// sends them in another request.
func TestTerminationJoinsStartUpTrace(t *testing.T) {
	for name, parent := range map[string]string{"own trace": "",
		"parent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		t.Run(name, func(t *testing.T) {
			var collector receiver
			collector.overHTTP(t)
			one, end := coldStart(), killedStartUp()
			one.TraceParent, end.TraceParent = parent, parent
			var done int
			sink := runWith(t, func(c *TracesConfig) { c.Done = func(timeline.Timeline) { done++ } })
			sink.Offer(one)
			sink.OfferTermination(end)
			sink.wait(t, 2)
			spans := map[string]*tracepb.Span{}
			for _, s := range collector.spans() {
				spans[s.Name] = s
			}
			root, termination := spans["pod startup shop/web-7d4b-x"], spans["pod termination shop/web-7d4b-x"]
			if root == nil || termination == nil || string(termination.ParentSpanId) != string(root.SpanId) ||
				string(termination.TraceId) != string(root.TraceId) {
				t.Fatalf("root %v, end %v", root, termination)
			}
			for _, child := range []string{"grace", "object_deletion", "stop of app"} {
				if s := spans[child]; s == nil || string(s.ParentSpanId) != string(termination.SpanId) {
					t.Errorf("%s is not below the termination: %v", child, s)
				}
			}
			stop := spans["stop of app"]
			if stop.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_ERROR || spans["stop of setup"] != nil {
				t.Errorf("stop of app %v, of setup %v", stop, spans["stop of setup"])
			}
			if done != 1 {
				t.Errorf("%d start-ups handled, want only the start-up, not the termination", done)
			}
		})
	}
}

// The tracer sends a lost rollout span again, and limits the number of remembered rollouts.
func TestSentRolloutSpansAreRemembered(t *testing.T) {
	tracer := newTracer(resource.Empty(), "", true)
	rootsOf := func(tl timeline.Timeline) (roots []sdktrace.ReadOnlySpan) {
		spans, _ := tracer.spansOf(item{Timeline: tl})
		for _, s := range spans {
			if !s.Parent().IsValid() {
				roots = append(roots, s)
			}
		}
		return roots
	}
	one := coldStart()
	first := rootsOf(one)
	if len(first) != 1 || len(rootsOf(one)) != 0 {
		t.Fatalf("first roots %v, or the second start-up has a root again", first)
	}
	tracer.rollouts.forget(first)
	if again := rootsOf(one); len(again) != 1 || again[0].SpanContext().SpanID() != first[0].SpanContext().SpanID() {
		t.Errorf("after the loss: %v", again)
	}
	for n := range 2 * maxRollouts {
		tracer.rollouts.isNew(traceID(fmt.Sprint(n)))
	}
	if len(tracer.rollouts.sent) != maxRollouts || len(tracer.rollouts.order) != maxRollouts {
		t.Errorf("remembered %d rollouts, in an order of %d", len(tracer.rollouts.sent), len(tracer.rollouts.order))
	}
}

// With rollout traces, the pods of one version form one tree with one root.
func TestRolloutIsOneTrace(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	gone := killedStartUp()
	gone.UID, gone.Revision = "a", "7d4b"
	sink := runWith(t, func(c *TracesConfig) { c.Rollouts = true })
	for _, tl := range []timeline.Timeline{replica("a", "7d4b"), replica("b", "7d4b"), replica("c", "7d4b"),
		replica("d", "other"), stuck()} {
		sink.Offer(tl)
	}
	sink.OfferTermination(gone)
	sink.wait(t, 6)
	byID, roots := map[string]*tracepb.Span{}, map[string]int{}
	for _, s := range collector.spans() {
		if byID[string(s.SpanId)] != nil {
			t.Errorf("%s has the ID of another span", s.Name)
		}
		byID[string(s.SpanId)] = s
	}
	startups := map[string]int{}
	for _, s := range byID {
		trace := hex.EncodeToString(s.TraceId)
		if s.Name == "pod startup shop/web-7d4b-x" {
			startups[trace]++
		}
		if len(s.ParentSpanId) == 0 {
			roots[trace]++
			continue
		}
		if parent := byID[string(s.ParentSpanId)]; parent == nil || string(parent.TraceId) != string(s.TraceId) {
			t.Errorf("%s has no parent in its trace", s.Name)
		}
	}
	rollout := rolloutOf(replica("a", "7d4b")).TraceID().String()
	if len(roots) != 3 || roots[rollout] != 1 || startups[rollout] != 3 {
		t.Errorf("roots of traces %v, start-ups in them %v, rollout %s", roots, startups, rollout)
	}
	if got := NewTraceOf(true)(replica("b", "7d4b")); got != rollout {
		t.Errorf("the trace is named %s, want %s", got, rollout)
	}
}

// If the collector accepts nothing, the rollout span is lost too, and the next start-up sends the span again. If
// only other spans are lost, the sink does not send the rollout span again.
func TestRolloutSpanIsResentUntilAccepted(t *testing.T) {
	collector := receiver{response: http.StatusBadRequest}
	collector.overHTTP(t)
	sink := runWith(t, func(c *TracesConfig) { c.Rollouts = true })
	response := func(startups float64, next int) {
		t.Helper()
		eventually(t, "it is counted", func() bool {
			got := sink.counts(t)
			return got["podlapse_sink_sent_total otlp"]+got["podlapse_sink_dropped_total otlp"] == startups
		})
		collector.mu.Lock()
		collector.response = next
		collector.mu.Unlock()
	}
	sink.Offer(replica("a", "7d4b"))
	response(1, 0)
	sink.Offer(replica("b", "7d4b"))
	response(2, http.StatusBadRequest)
	sink.Offer(replica("c", "7d4b"))
	response(3, 0)
	sink.Offer(replica("d", "7d4b"))
	sink.wait(t, 4)
	var rollouts []string
	for _, s := range collector.spans() {
		if strings.HasPrefix(s.Name, "rollout ") {
			rollouts = append(rollouts, s.Name)
		}
	}
	if len(rollouts) != 1 {
		t.Errorf("the rollout span was sent as %q, want it once, with the second start-up", rollouts)
	}
}

// An annotation with a trace parent takes precedence over the rollout.
func TestAnnotationTakesPrecedenceOverRollout(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sink := runWith(t, func(c *TracesConfig) { c.Rollouts = true })
	one := replica("a", "7d4b")
	one.TraceParent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	sink.Offer(one)
	sink.wait(t, 1)
	for _, s := range collector.spans() {
		if hex.EncodeToString(s.TraceId) != "0af7651916cd43dd8448eb211c80319c" ||
			strings.HasPrefix(s.Name, "rollout ") {
			t.Errorf("%s is in trace %x", s.Name, s.TraceId)
		}
		if s.Name == "pod startup shop/web-7d4b-x" && hex.EncodeToString(s.ParentSpanId) != "b7ad6b7169203331" {
			t.Errorf("%s is under %x", s.Name, s.ParentSpanId)
		}
	}
}

// The static pods of a node are not a rollout, although all their mirrors have the same owner.
func TestStaticPodsHaveNoRollout(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	sink := runWith(t, func(c *TracesConfig) { c.Rollouts = true })
	for _, uid := range []string{"a", "b"} {
		static := replica(uid, "")
		static.Owner = timeline.Owner{Kind: "Node", Name: "node-a"}
		sink.Offer(static)
	}
	sink.wait(t, 2)
	traces := map[string]bool{}
	for _, s := range collector.spans() {
		traces[string(s.TraceId)] = true
		if strings.HasPrefix(s.Name, "rollout ") || len(s.Links) > 0 {
			t.Errorf("%s, links %v", s.Name, s.Links)
		}
	}
	if len(traces) != 2 {
		t.Errorf("got %d traces, want one for each pod", len(traces))
	}
}

// If the sink drops a termination, it does not report the start-up of the pod as handled.
func TestDroppedTerminationReportsNoStartUp(t *testing.T) {
	var collector receiver
	collector.overHTTP(t)
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		t.Fatal(err)
	}
	var done int
	sink, err := NewTraces(t.Context(), TracesConfig{
		Signal: settings.Traces, Node: "node-a", Registerer: prometheus.NewRegistry(), Logger: zap.NewNop(),
		Report: func(bool, string) {}, Done: func(timeline.Timeline) { done++ },
	})
	if err != nil {
		t.Fatal(err)
	}
	for range tracesQueue + 5 {
		sink.OfferTermination(killedStartUp())
	}
	if done != 0 {
		t.Errorf("%d dropped terminations are reported as start-ups", done)
	}
	if sink.Offer(coldStart()); done != 1 {
		t.Errorf("%d dropped start-ups are reported, want 1", done)
	}
}
