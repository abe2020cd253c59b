package otlp

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
)

var update = flag.Bool("update", false, "write the trees in testdata anew")

// tree returns the received spans as text, without IDs. Times are in seconds since the creation of the pod.
// Attributes that every span has appear only in the first span.
func tree(spans []*tracepb.Span) string {
	var out strings.Builder
	ids := map[string]bool{}
	for _, s := range spans {
		ids[string(s.SpanId)] = true
	}
	var print func(s *tracepb.Span, depth int)
	print = func(s *tracepb.Span, depth int) {
		indent := strings.Repeat("  ", depth)
		fmt.Fprintf(&out, "%s%s  %s-%s", indent, s.Name, since(s.StartTimeUnixNano), since(s.EndTimeUnixNano))
		if s.Status.GetCode() != tracepb.Status_STATUS_CODE_UNSET {
			fmt.Fprintf(&out, "  %s: %s", strings.ToLower(strings.TrimPrefix(s.Status.Code.String(), "STATUS_CODE_")),
				s.Status.Message)
		}
		out.WriteByte('\n')
		printAttributes(&out, indent+"    ", s.Attributes, depth > 0)
		for _, e := range s.Events {
			fmt.Fprintf(&out, "%s  ! %s  %s\n", indent, e.Name, since(e.TimeUnixNano))
			printAttributes(&out, indent+"    ", e.Attributes, false)
		}
		for _, l := range s.Links {
			fmt.Fprintf(&out, "%s  -> %x\n", indent, l.TraceId)
		}
		for _, child := range spans {
			if slices.Equal(child.ParentSpanId, s.SpanId) {
				print(child, depth+1)
			}
		}
	}
	for _, s := range spans {
		if !ids[string(s.ParentSpanId)] {
			print(s, 0)
		}
	}
	return out.String()
}

func since(nanos uint64) string {
	return strconv.FormatFloat(time.Unix(0, int64(nanos)).Sub(createdAt).Seconds(), 'f', -1, 64)
}

func printAttributes(out *strings.Builder, indent string, attributes []*commonpb.KeyValue, brief bool) {
	for _, a := range attributes {
		if brief && slices.Contains([]string{"k8s.namespace.name", "k8s.pod.name", "k8s.pod.uid", "k8s.node.name"},
			a.Key) {
			continue
		}
		fmt.Fprintf(out, "%s%s = %s\n", indent, a.Key, valueText(a.Value))
	}
}

func valueText(v *commonpb.AnyValue) string {
	switch v := v.Value.(type) {
	case *commonpb.AnyValue_StringValue:
		return v.StringValue
	case *commonpb.AnyValue_IntValue:
		return strconv.FormatInt(v.IntValue, 10)
	case *commonpb.AnyValue_DoubleValue:
		return strconv.FormatFloat(v.DoubleValue, 'f', -1, 64)
	case *commonpb.AnyValue_BoolValue:
		return strconv.FormatBool(v.BoolValue)
	case *commonpb.AnyValue_ArrayValue:
		var texts []string
		for _, item := range v.ArrayValue.Values {
			texts = append(texts, valueText(item))
		}
		return "[" + strings.Join(texts, " ") + "]"
	}
	return "?"
}

// mustBe compares the text in the argument "got" with a file.
func mustBe(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%s\nwant\n%s", file, got, want)
	}
}

// idsOf returns the IDs of the spans, in order.
func idsOf(spans []*tracepb.Span) (ids []string) {
	for _, s := range spans {
		ids = append(ids, hex.EncodeToString(s.TraceId)+"/"+hex.EncodeToString(s.SpanId)+" in "+
			hex.EncodeToString(s.ParentSpanId))
	}
	return ids
}
