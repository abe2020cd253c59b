// Package otlp reads files that an OTLP receiver wrote. Each line of such a file is OTLP JSON. The package depends only
// on the published OTLP format.
package otlp

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Span is a span from the receiver's file.
type Span struct {
	TraceID, SpanID, Parent string // IDs in hexadecimal; Parent is empty for a root span
	Name                    string
	StartAt, EndAt          time.Time
	Attributes              map[string]string // values as text; commas separate the elements of a list
	Resource                map[string]string
	Events                  []Event
	Links                   []string // trace IDs of the linked spans
	Failed                  bool     // true if the status code is "error"
	Message                 string   // message of the span's status
}

// Event is an event of a span.
type Event struct {
	Name       string
	At         time.Time
	Attributes map[string]string
}

// Report contains the spans of one pod from one request. The spans have the same order as in the request.
type Report struct {
	Namespace, Pod, UID string
	Spans               []Span
}

// ReadTraces reads the reports in the order of their arrival. If the file does not exist, ReadTraces returns no
// reports. ReadTraces ignores an incomplete last line, because the receiver is still writing this line. The next call
// can read the complete line.
func ReadTraces(path string) ([]Report, error) {
	var reports []Report
	err := eachLine(path, "resourceSpans", func(line []byte) error {
		spans, err := readSpans(line)
		if err != nil {
			return err
		}
		reports = append(reports, byPod(spans)...)
		return nil
	})
	return reports, err
}

// byPod groups the spans of a request by pod and returns one report for each pod.
func byPod(spans []Span) (reports []Report) {
	of := make(map[string]int)
	for _, span := range spans {
		uid := span.Attributes["k8s.pod.uid"]
		at, known := of[uid]
		if !known {
			at = len(reports)
			of[uid] = at
			reports = append(reports, Report{Namespace: span.Attributes["k8s.namespace.name"],
				Pod: span.Attributes["k8s.pod.name"], UID: uid})
		}
		reports[at].Spans = append(reports[at].Spans, span)
	}
	return reports
}

// Count returns the count in the last data point that the file contains for a histogram. Count requires that the data
// points have no attributes. If the file does not contain the histogram, ok is false.
func Count(path, histogram string) (count uint64, ok bool, err error) {
	err = eachLine(path, "resourceMetrics", func(line []byte) error {
		var request metricsRequest
		if err := json.Unmarshal(line, &request); err != nil {
			return err
		}
		for _, resource := range request.ResourceMetrics {
			for _, scope := range resource.ScopeMetrics {
				for _, metric := range scope.Metrics {
					if metric.Name != histogram {
						continue
					}
					for _, point := range append(metric.Histogram.DataPoints,
						metric.ExponentialHistogram.DataPoints...) {
						ok = true
						if count = 0; point.Count == "" { // OTLP JSON omits fields whose value is zero
							continue
						}
						if count, err = strconv.ParseUint(point.Count, 10, 64); err != nil {
							return err
						}
					}
				}
			}
		}
		return nil
	})
	return count, ok, err
}

func eachLine(path, kind string, read func([]byte) error) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the OTLP data: %w", err)
	}
	for line := range bytes.Lines(data) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if !bytes.HasPrefix(line, []byte(`{"`+kind+`"`)) {
			continue
		}
		if err := read(line); err != nil {
			return fmt.Errorf("parse the OTLP data: %w", err)
		}
	}
	return nil
}

type metricsRequest struct {
	ResourceMetrics []struct {
		ScopeMetrics []struct {
			Metrics []struct {
				Name                 string `json:"name"`
				Histogram            points `json:"histogram"`
				ExponentialHistogram points `json:"exponentialHistogram"`
			} `json:"metrics"`
		} `json:"scopeMetrics"`
	} `json:"resourceMetrics"`
}

type points struct {
	DataPoints []struct {
		Count string `json:"count"` // a string, because OTLP JSON writes 64-bit numbers as strings
	} `json:"dataPoints"`
}

type tracesRequest struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []attribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Spans []wireSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

type wireSpan struct {
	TraceID      string      `json:"traceId"`
	SpanID       string      `json:"spanId"`
	ParentSpanID string      `json:"parentSpanId"`
	Name         string      `json:"name"`
	Start        string      `json:"startTimeUnixNano"`
	End          string      `json:"endTimeUnixNano"`
	Attributes   []attribute `json:"attributes"`
	Events       []struct {
		Name       string      `json:"name"`
		At         string      `json:"timeUnixNano"`
		Attributes []attribute `json:"attributes"`
	} `json:"events"`
	Links []struct {
		TraceID string `json:"traceId"`
	} `json:"links"`
	Status struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"status"`
}

type attribute struct {
	Key   string `json:"key"`
	Value value  `json:"value"`
}

// value is an attribute's value. Exactly one field of the value is set.
type value struct {
	String *string      `json:"stringValue"`
	Int    *string      `json:"intValue"`
	Double *json.Number `json:"doubleValue"`
	Bool   *bool        `json:"boolValue"`
	Array  *struct {
		Values []value `json:"values"`
	} `json:"arrayValue"`
}

func (v value) text() string {
	switch {
	case v.String != nil:
		return *v.String
	case v.Int != nil:
		return *v.Int
	case v.Double != nil:
		return v.Double.String()
	case v.Bool != nil:
		return strconv.FormatBool(*v.Bool)
	case v.Array != nil:
		var parts []string
		for _, part := range v.Array.Values {
			parts = append(parts, part.text())
		}
		return strings.Join(parts, ",")
	}
	return ""
}

func read(attributes []attribute) map[string]string {
	texts := make(map[string]string, len(attributes))
	for _, a := range attributes {
		texts[a.Key] = a.Value.text()
	}
	return texts
}

func readSpans(line []byte) (spans []Span, err error) {
	var request tracesRequest
	if err := json.Unmarshal(line, &request); err != nil {
		return nil, err
	}
	for _, resource := range request.ResourceSpans {
		about := read(resource.Resource.Attributes)
		for _, scope := range resource.ScopeSpans {
			for _, wire := range scope.Spans {
				span, err := wire.span()
				if err != nil {
					return nil, err
				}
				span.Resource = about
				spans = append(spans, span)
			}
		}
	}
	return spans, nil
}

// statusError is the status code for "error".
const statusError = 2

func (w wireSpan) span() (Span, error) {
	s := Span{TraceID: w.TraceID, SpanID: w.SpanID, Parent: w.ParentSpanID, Name: w.Name,
		Attributes: read(w.Attributes),
		Failed:     w.Status.Code == statusError, Message: w.Status.Message}
	for _, id := range []struct {
		text  string
		bytes int
	}{{w.TraceID, 16}, {w.SpanID, 8}} {
		if raw, err := hex.DecodeString(id.text); err != nil || len(raw) != id.bytes {
			return Span{}, fmt.Errorf("span %q: invalid ID %q: must be %d bytes in hexadecimal", w.Name, id.text,
				id.bytes)
		}
	}
	for _, e := range w.Events {
		at, err := instant(e.At)
		if err != nil {
			return Span{}, fmt.Errorf("span %q: event %q: %w", w.Name, e.Name, err)
		}
		s.Events = append(s.Events, Event{Name: e.Name, At: at, Attributes: read(e.Attributes)})
	}
	for _, l := range w.Links {
		s.Links = append(s.Links, l.TraceID)
	}
	var err error
	if s.StartAt, err = instant(w.Start); err == nil {
		s.EndAt, err = instant(w.End)
	}
	if err != nil {
		return Span{}, fmt.Errorf("span %q: %w", w.Name, err)
	}
	return s, nil
}

func instant(nanoseconds string) (time.Time, error) {
	n, err := strconv.ParseInt(nanoseconds, 10, 64)
	return time.Unix(0, n), err
}

// Kind returns the report's spans of one kind. The attribute podlapse.kind of a span contains the span's kind.
func (r Report) Kind(kind string) (spans []Span) {
	for _, s := range r.Spans {
		if s.Attributes["podlapse.kind"] == kind {
			spans = append(spans, s)
		}
	}
	return spans
}
