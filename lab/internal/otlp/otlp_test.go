package otlp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// received contains two requests with traces and one request with metrics. The first request with traces is about two
// pods. The last line is incomplete.
const received = `{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"a"}}]},` +
	`"scopeSpans":[{"scope":{},"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708",` +
	`"name":"root","startTimeUnixNano":"1","endTimeUnixNano":"2000000003","attributes":[{"key":"k8s.pod.uid",` +
	`"value":{"stringValue":"u"}},{"key":"podlapse.kind","value":{"stringValue":"startup"}},{"key":"list",` +
	`"value":{"arrayValue":{"values":[{"stringValue":"b"},{"intValue":"5"},{"doubleValue":1.5},` +
	`{"boolValue":true}]}}}],"events":[{"timeUnixNano":"7","name":"Pulled","attributes":[{"key":"k8s.event.reason",` +
	`"value":{"stringValue":"Pulled"}}]}],"links":[{"traceId":"ff"}],"status":{"message":"m",` +
	`"code":2}},{"traceId":"0102030405060708090a0b0c0d0e0f11","spanId":"0102030405060709","name":"root",` +
	`"startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"k8s.pod.uid",` +
	`"value":{"stringValue":"w"}}],"status":{}},{"traceId":"0102030405060708090a0b0c0d0e0f10",` +
	`"spanId":"010203040506070a","parentSpanId":"0102030405060708","name":"part","startTimeUnixNano":"1",` +
	`"endTimeUnixNano":"2","attributes":[{"key":"k8s.pod.uid","value":{"stringValue":"u"}}],"status":{}}]}]}]}
{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"other","sum":{"dataPoints":[{"asInt":"7"}]}},` +
	`{"name":"lengths","histogram":{"dataPoints":[{"count":"3"}]}}]}]}]}
{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708",` +
	`"name":"root","startTimeUnixNano":"1","endTimeUnixNano":"2","attributes":[{"key":"k8s.pod.uid",` +
	`"value":{"stringValue":"u"}}]}]}]}]}
{"resourceSpans":[`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "otlp.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadTraces(t *testing.T) {
	reports, err := ReadTraces(write(t, received))
	if err != nil {
		t.Fatal(err)
	}
	if len(reports) != 3 || reports[0].UID != "u" || len(reports[0].Spans) != 2 || reports[1].UID != "w" ||
		reports[2].UID != "u" {
		t.Fatalf("reports %+v", reports)
	}
	root := reports[0].Kind("startup")
	if len(root) != 1 || root[0].EndAt.Sub(root[0].StartAt) != 2*time.Second+2 || !root[0].Failed ||
		root[0].Message != "m" ||
		root[0].Attributes["list"] != "b,5,1.5,true" || root[0].Resource["service.name"] != "a" ||
		root[0].Events[0].Name != "Pulled" || root[0].Events[0].At.UnixNano() != 7 ||
		root[0].Events[0].Attributes["k8s.event.reason"] != "Pulled" ||
		root[0].Links[0] != "ff" || reports[0].Spans[1].Parent != root[0].SpanID || reports[0].Spans[1].Failed {
		t.Errorf("root %+v", root)
	}
	if none, err := ReadTraces(filepath.Join(t.TempDir(), "none")); err != nil || len(none) != 0 {
		t.Errorf("no file: %v, %v", none, err)
	}
}

func TestInvalidSpans(t *testing.T) {
	for name, line := range map[string]string{
		"short ID": `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"01",` +
			`"spanId":"0102030405060708","startTimeUnixNano":"1","endTimeUnixNano":"2"}]}]}]}`,
		"no time": `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"0102030405060708090a0b0c0d0e0f10",` +
			`"spanId":"0102030405060708"}]}]}]}`,
		"event without time": `{"resourceSpans":[{"scopeSpans":[{"spans":[{` +
			`"traceId":"0102030405060708090a0b0c0d0e0f10","spanId":"0102030405060708",` +
			`"startTimeUnixNano":"1","endTimeUnixNano":"2","events":[{"name":"Pulled"}]}]}]}]}`,
		"not JSON": `{"resourceSpans":[`,
	} {
		if _, err := ReadTraces(write(t, line+"\n")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestCount(t *testing.T) {
	path := write(t, received)
	if count, ok, err := Count(path, "lengths"); count != 3 || !ok || err != nil {
		t.Errorf("%d, %v, %v", count, ok, err)
	}
	zero := write(
		t,
		received[:strings.LastIndex(received, "\n")+1]+
			`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[`+
			`{"name":"lengths","exponentialHistogram":{"dataPoints":[{}]}}]}]}]}`+"\n",
	)
	if count, ok, err := Count(zero, "lengths"); count != 0 || !ok || err != nil {
		t.Errorf("none: %d, %v, %v", count, ok, err)
	}
	if _, ok, err := Count(path, "other"); ok || err != nil {
		t.Errorf("a counter is read as a histogram: %v, %v", ok, err)
	}
}
