package scenario

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// wantedSpan is a span that the trace must contain, according to the start-up's record.
type wantedSpan struct {
	kind, name string
	start, end stretch
	failed     bool
	// additional attributes of the span; an attribute with an empty value must be absent
	texts map[string]string
	// attributes that are durations; an attribute with an empty value must be absent
	seconds    map[string]json.Number
	downloaded time.Time    // time of the span event "downloaded"; zero if the span has no such event
	parts      []wantedSpan // the child spans
	// true if the start of the span might be later than its end; the trace may omit such a span
	doubtful bool
}

// stretch is an interval that contains an instant. The value of an unknown boundary is the zero time.
type stretch struct{ from, to time.Time }

func exactly(at time.Time) stretch { return stretch{at, at} }

func (s stretch) holds(at time.Time) bool {
	return !at.Before(s.from) && (s.to.IsZero() || !at.After(s.to))
}

// commonAttributes lists the attributes that all spans have.
var commonAttributes = []string{"k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid", "k8s.node.name", "podlapse.kind"}

// requireSpans requires that a parent span has exactly the given child spans. Only a doubtful span is allowed to be
// missing. Except for the spans of containers, child spans of the same kind must be in the given order.
func (v *Verdict) requireSpans(r otlp.Report, parent string, all ...wantedSpan) {
	there := slices.DeleteFunc(slices.Clone(r.Spans), func(s otlp.Span) bool {
		if parent == "" {
			return s.Attributes["podlapse.kind"] != "startup"
		}
		return s.Parent != parent
	})
	for _, w := range all {
		at := slices.IndexFunc(there, func(s otlp.Span) bool {
			return s.Attributes["podlapse.kind"] == w.kind && (s.Name == w.name || w.kind != "container")
		})
		if at < 0 && w.doubtful {
			continue
		}
		if at < 0 {
			v.Problem("trace of %s: no span for %s %s, want one", r.Pod, w.kind, w.name)
			continue
		}
		v.span(r.Pod, there[at], w)
		v.requireSpans(r, there[at].SpanID, w.parts...)
		there = slices.Delete(there, at, at+1)
	}
	for _, s := range there {
		v.Problem("trace of %s: the trace has span %s of kind %s, but the record does not require this span", r.Pod,
			s.Name, s.Attributes["podlapse.kind"])
	}
}

func (v *Verdict) span(pod string, s otlp.Span, w wantedSpan) {
	if s.Name != w.name || !w.start.holds(s.StartAt) || !w.end.holds(s.EndAt) {
		v.Problem("trace of %s: %s %s is from %s to %s, but in the record %s starts between %s and %s and ends "+
			"between %s and "+
			"%s", pod, w.kind, s.Name, s.StartAt, s.EndAt,
			w.name, w.start.from, w.start.to, w.end.from, w.end.to)
	}
	if s.Failed != w.failed || s.Failed && (s.Message == "" || s.Attributes["error.type"] == "") {
		v.Problem("trace of %s: %s: error status %t, message %q, want error status %t", pod, s.Name, s.Failed,
			s.Message, w.failed)
	}
	for key, want := range w.texts {
		if s.Attributes[key] != want {
			v.Problem("trace of %s: span %s has %s=%q, want %q", pod, s.Name, key, s.Attributes[key], want)
		}
	}
	for key, want := range w.seconds {
		if reported := s.Attributes[key]; !sameSeconds(reported, want) {
			v.Problem("trace of %s: span %s has %s=%q, want %q", pod, s.Name, key, reported, want)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.Attributes)) {
		_, text := w.texts[key]
		_, length := w.seconds[key]
		if !text && !length && !slices.Contains(commonAttributes, key) {
			v.Problem("trace of %s: span %s has %s=%q, which is not documented for a %s", pod, s.Name, key,
				s.Attributes[key], w.kind)
		}
	}
	if w.kind == "startup" {
		return // judgeEvents checks the Events of this span
	}
	var events []otlp.Event
	if !w.downloaded.IsZero() {
		events = []otlp.Event{{Name: "downloaded", At: w.downloaded}}
	}
	if !slices.EqualFunc(s.Events, events, func(a, b otlp.Event) bool { return a.Name == b.Name && a.At.Equal(b.At) }) {
		v.Problem("trace of %s: span %s has the events %v, want %v", pod, s.Name, s.Events, events)
	}
}

// sameSeconds compares a float64 with an exact decimal number.
func sameSeconds(reported string, want json.Number) bool {
	if reported == "" || want == "" {
		return reported == want.String()
	}
	length, err := agent.Nanoseconds(want)
	double, otherErr := strconv.ParseFloat(reported, 64)
	return err == nil && otherErr == nil && double == length.Seconds()
}

// imageTexts adds the attributes of an image according to the OpenTelemetry semantic conventions.
func imageTexts(texts map[string]string, ref string) {
	name, _, _ := strings.Cut(ref, "@")
	texts["container.image.tags"] = ""
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, texts["container.image.tags"] = name[:at], name[at+1:]
	}
	texts["container.image.name"] = name
}
