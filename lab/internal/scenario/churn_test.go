package scenario

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

func TestChurnMinutes(t *testing.T) {
	for text, want := range map[string]int{"": 30, "25": 25, "50": 50} {
		if got, err := churnMinutes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"24", "51", "-30", "30m", "half an hour"} {
		if _, err := churnMinutes(text); err == nil || !strings.Contains(err.Error(), churnVariable) {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

// fakePrometheus responds to all queries of judgeChurn.
type fakePrometheus struct {
	health string // health of all rules
	alerts string // result of the query for alerts of podlapse
	fails  string // part of a query; matching queries have no result
}

func (f fakePrometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api/v1/rules" {
		var rules []string
		for _, name := range []string{nodeSlow, registrySlow, registryFailing, agentDown, controlAlert} {
			rules = append(rules, fmt.Sprintf(
				`{"type":"alerting","name":%q,"health":%q,"lastEvaluation":"2026-01-01T00:00:00Z"}`, name, f.health))
		}
		fmt.Fprintf(w, `{"status":"success","data":{"groups":[{"rules":[%s]}]}}`, strings.Join(rules, ","))
		return
	}
	result, query := `{"metric":{},"value":[1,"1"]}`, r.URL.Query().Get("query")
	switch {
	case strings.Contains(query, "Podlapse.*"):
		result = f.alerts
	case f.fails != "" && strings.Contains(query, f.fails):
		result = ""
	}
	fmt.Fprintf(w, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
}

func TestJudgeChurn(t *testing.T) {
	alert := func(state string) string {
		return fmt.Sprintf(`{"metric":{"alertname":%q,"alertstate":%q},"value":[1,"1"]}`, agentDown, state)
	}
	enough := map[churnKind]int{}
	for kind := range usualChanges() {
		enough[kind] = 100
	}
	for name, test := range map[string]struct {
		server fakePrometheus
		done   map[churnKind]int
		want   string // part of the problems in the verdict; empty if the verdict passes
	}{
		"silent":        {fakePrometheus{health: "ok"}, enough, ""},
		"pending":       {fakePrometheus{health: "ok", alerts: alert("pending")}, enough, ""},
		"firing":        {fakePrometheus{health: "ok", alerts: alert("firing")}, enough, agentDown + " fired"},
		"failing rules": {fakePrometheus{health: "err"}, enough, `health "err"`},
		"no rules":      {fakePrometheus{health: "ok", fails: controlAlert}, enough, "LabControl fires"},
		"no scrapes":    {fakePrometheus{health: "ok", fails: "count_over_time(up"}, enough, "scrapes both agents"},
		"no start-ups":  {fakePrometheus{health: "ok", fails: "startups_total"}, enough, "two start-ups"},
		"no crash":      {fakePrometheus{health: "ok", fails: "crash_backoff"}, enough, "pods that crash"},
		"no changes":    {fakePrometheus{health: "ok"}, nil, `0 changes of kind "rollout"`},
	} {
		server := httptest.NewServer(test.server)
		v := &Verdict{}
		err := judgeChurn(t.Context(), prometheus.Client{Server: server.URL}, v, 30*time.Minute, test.done)
		server.Close()
		wrong := strings.Join(v.Wrong(), "\n")
		if err != nil || v.Failed() != (test.want != "") || !strings.Contains(wrong, test.want) {
			t.Errorf("%s: %v, problems %s", name, err, wrong)
		}
	}
}
