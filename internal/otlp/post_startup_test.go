package otlp

import (
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// Spans of events after a start-up are children of the start-up's root span. If the agent sends the spans again,
// their IDs are the same.
func TestPostStartupSpansJoinStartUpTrace(t *testing.T) {
	crash := timeline.PostStartup{Run: &timeline.CompletedRun{Container: "app", Attempt: 3, Signal: 9,
		Run: timeline.Run{StartedAt: after(time.Hour), FinishedAt: after(2 * time.Hour), ExitCode: 137,
			Reason: "OOMKilled"}}}
	fine := timeline.PostStartup{Run: &timeline.CompletedRun{Container: "app", Attempt: 4,
		Run: timeline.Run{StartedAt: after(3 * time.Hour), FinishedAt: after(4 * time.Hour)}}}
	unhealthy := timeline.PostStartup{Event: &timeline.EventMessage{At: after(5 * time.Hour), Container: "app",
		Reason: "Unhealthy", Message: "Liveness \xffprobe failed"}}
	var collector receiver
	collector.overHTTP(t)
	var done int
	sink := runWith(t, func(c *TracesConfig) { c.Done = func(timeline.Timeline) { done++ } })
	sink.Offer(coldStart())
	for _, event := range []timeline.PostStartup{crash, fine, unhealthy, crash} {
		sink.OfferPostStartup(coldStart(), event)
	}
	sink.wait(t, 5)
	spans, times := map[string]*tracepb.Span{}, map[string]int{}
	for _, s := range collector.spans() {
		spans[string(s.SpanId)] = s
		times[s.Name]++
		if s.Name == "pod startup shop/web-7d4b-x" {
			spans["root"] = s
		}
	}
	if times["run of app"] != 3 || times["event Unhealthy"] != 1 || done != 1 {
		t.Fatalf("spans %v, %d start-ups handled", times, done)
	}
	runs := 0
	for _, s := range spans {
		if s.Name != "run of app" && s.Name != "event Unhealthy" {
			continue
		}
		if string(s.ParentSpanId) != string(spans["root"].SpanId) ||
			string(s.TraceId) != string(spans["root"].TraceId) {
			t.Errorf("%s is not below the start-up", s.Name)
		}
		if s.Name == "run of app" {
			runs++
			long := time.Duration(s.EndTimeUnixNano - s.StartTimeUnixNano)
			failed := s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR
			if long != time.Hour || failed != (s.StartTimeUnixNano == uint64(after(time.Hour).UnixNano())) {
				t.Errorf("a run took %s, failed %v", long, failed)
			}
		} else if s.StartTimeUnixNano != s.EndTimeUnixNano {
			t.Errorf("the kubelet's message has a duration, from %d to %d", s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
	}
	if runs != 2 {
		t.Errorf("two runs, each sent twice, have %d IDs", runs)
	}
}
