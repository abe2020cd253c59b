package web

import (
	"compress/gzip"
	"io"
	"strings"
	"testing"
)

func TestMetricsAreCompressedInEveryFormat(t *testing.T) {
	handler := handlerOf((&fake{}).config())
	for _, format := range []string{"text/plain", "application/openmetrics-text;version=1.0.0",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"} {
		plain := shownTo(t, handler, "/metrics", "Accept", format)
		packed := shownTo(t, handler, "/metrics", "Accept", format, "Accept-Encoding", "gzip")
		kind, _, _ := strings.Cut(format, ";")
		if got := plain.Header().Get("Content-Type"); !strings.HasPrefix(got, kind) ||
			plain.Header().Get("Content-Encoding") != "" || packed.Header().Get("Content-Type") != got ||
			packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > plain.Body.Len()/2 {
			t.Errorf("%s: %v, compressed %v", format, plain.Header(), packed.Header())
			continue
		}
		reader, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(reader); err != nil || string(text) != plain.Body.String() {
			t.Errorf("%s: %v, the compressed response differs", format, err)
		}
	}
}
