package prometheus

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T, response string) Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(response))
	}))
	t.Cleanup(server.Close)
	return Client{Server: server.URL}
}

func TestQuery(t *testing.T) {
	client := serve(
		t,
		`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"job":"a"},"value":[1.5,"+Inf"]},`+
			`{"metric":{},"value":[1.5,"3"]}]}}`,
	)
	samples, err := client.Query(t.Context(), "up")
	if err != nil || len(samples) != 2 || samples[0].Labels["job"] != "a" || samples[1].Value != 3 {
		t.Errorf("%+v, %v", samples, err)
	}
	for response, want := range map[string]string{
		`{"status":"error","error":"bad expression"}`:                        "bad expression",
		`{"status":"success","data":{"resultType":"scalar","result":[1,2]}}`: "",
		`none`: "",
	} {
		if _, err := serve(t, response).Query(t.Context(), "up"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v", response, err)
		}
	}
}

func TestRules(t *testing.T) {
	client := serve(t, `{"status":"success","data":{"groups":[{"rules":[{"type":"alerting","name":"A","health":"ok",`+
		`"lastEvaluation":"2026-01-01T00:00:00Z"}]},{"rules":[{"type":"recording","name":"b","health":"err",`+
		`"lastError":"duplicate series"}]}]}}`)
	rules, err := client.Rules(t.Context())
	if err != nil || len(rules) != 2 || rules[0].Name != "A" || rules[0].LastEvaluation.IsZero() ||
		rules[1].LastError != "duplicate series" {
		t.Errorf("%+v, %v", rules, err)
	}
	if _, err := serve(t, `{"status":"error","error":"no rules"}`).Rules(t.Context()); err == nil {
		t.Error("an error of the server is ignored")
	}
}

func TestExemplars(t *testing.T) {
	client := serve(
		t,
		`{"status":"success","data":[{"seriesLabels":{},"exemplars":[{"labels":{"trace_id":"ab"},"value":"2.5",`+
			`"timestamp":1}]},{"exemplars":[]}]}`,
	)
	exemplars, err := client.Exemplars(t.Context(), "x", time.Minute)
	if err != nil || len(exemplars) != 1 || exemplars[0].Labels["trace_id"] != "ab" || exemplars[0].Value != "2.5" {
		t.Errorf("%+v, %v", exemplars, err)
	}
}
