package client

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"
)

func TestReport(t *testing.T) {
	var requested []string
	responses := []string{
		`{"node":"a","totals":{"ended":3},"items":[{"kind":"image"}],"continue":"x","remaining":1}`,
		`{"node":"a","items":[{"kind":"workload"}]}`,
	}
	c := startAgent(t, func(w http.ResponseWriter, r *http.Request) {
		requested = append(requested, r.URL.RawQuery)
		fmt.Fprint(w, responses[len(requested)-1])
	})
	got, err := c.Report(t.Context(), time.Unix(5, 0).UTC())
	if err != nil || len(got.Items) != 2 || got.Totals == nil || got.Totals.Ended != 3 || got.Continue != "" ||
		got.Remaining != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	const first = "limit=500&since=1970-01-01T00%3A00%3A05Z"
	if len(requested) != 2 || requested[0] != first || requested[1] != "continue=x&"+first {
		t.Errorf("%q", requested)
	}
}

func TestInvalidReports(t *testing.T) {
	for name, response := range map[string]string{
		"no agent":      `{}`,
		"no totals":     `{"items":[]}`,
		"no last page":  `{"totals":{},"items":[{}],"continue":"x"}`,
		"an empty page": `{"totals":{},"items":[],"continue":"x"}`,
	} {
		c := startAgent(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, response) })
		if _, err := c.Report(t.Context(), time.Time{}); !errors.Is(err, ErrNotAnAgent) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
