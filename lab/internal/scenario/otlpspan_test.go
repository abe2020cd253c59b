package scenario

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/otlp"
)

// TestSpansMatchRecord edits the times, the name and the error bound of each span. The verdict must fail after each
// edit.
func TestSpansMatchRecord(t *testing.T) {
	_, all := sentStartUp()
	for i, s := range all.Spans {
		for name, edit := range map[string]func(*otlp.Span){
			"five years earlier": func(s *otlp.Span) {
				s.StartAt, s.EndAt = s.StartAt.AddDate(-5, 0, 0), s.EndAt.AddDate(-5, 0, 0)
			},
			"start a second earlier": func(s *otlp.Span) { s.StartAt = s.StartAt.Add(-time.Second) },
			"end a second later":     func(s *otlp.Span) { s.EndAt = s.EndAt.Add(time.Second) },
			"other name":             func(s *otlp.Span) { s.Name = "other" },
			"no error bound":         func(s *otlp.Span) { delete(s.Attributes, "podlapse.error_seconds") },
			"other error bound":      func(s *otlp.Span) { s.Attributes["podlapse.error_seconds"] = "0.125" },
		} {
			if _, bounded := s.Attributes["podlapse.error_seconds"]; !bounded && name == "no error bound" {
				continue
			}
			timeline, report := sentStartUp()
			edit(&report.Spans[i])
			verdict := &Verdict{}
			verdict.checkTrace(report, timeline)
			if !verdict.Failed() {
				t.Errorf("span %s: %s passes", s.Name, name)
			}
		}
	}
}

func TestSameSpans(t *testing.T) {
	_, first := sentStartUp()
	for name, test := range map[string]struct {
		edit func(*otlp.Report)
		want string
	}{
		"equal":         {func(*otlp.Report) {}, ""},
		"other span ID": {func(r *otlp.Report) { r.Spans[1].SpanID = "9" }, "was sent with the IDs t 2 and t 9"},
		"other trace": {func(r *otlp.Report) { r.Spans[0].TraceID = "other" },
			"was sent with the IDs t 1 and other 1"},
		"most spans are missing": {func(r *otlp.Report) { r.Spans = r.Spans[:2] }, "only 2 of 10"},
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
