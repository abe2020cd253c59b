package fleetmetrics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/podlapse/podlapse/internal/fleetmetrics/fleetmetricstest"
	"github.com/podlapse/podlapse/internal/report"
)

const secret = "s3cret"

func read(t *testing.T, address, token string) (report.Measured, error) {
	t.Helper()
	server, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(server, token)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	return s.Read(ctx, fleetmetricstest.Until(), fleetmetricstest.Length)
}

func TestRead(t *testing.T) {
	m, err := read(t, fleetmetricstest.Serve(t, fleetmetricstest.Fleet(true)).URL, "")
	if err != nil {
		t.Fatal(err)
	}
	if m.Hours != 2 || m.RuleHours != 2 || m.NodeCount != 2 || m.StartUps != 41 || m.Failures != 1.25 ||
		m.InProgress != 1 || m.WorkloadSeries != 2 || m.WorkloadHours != 2 || m.OtherStartUps != 10 ||
		m.Until.Sub(m.Since) != 2*time.Hour {
		t.Errorf("%+v", m)
	}
	for _, row := range []struct {
		rows report.MeasuredRows
		name string
		want report.MeasuredRow
	}{
		{m.Causes, "network", report.MeasuredRow{Seconds: 126, Lost: 120, Most: "node worker-2", MostLost: 120}},
		{m.Nodes, "worker-2", report.MeasuredRow{Lost: 120, Expected: 30, StartUps: 19.9, Most: "network",
			MostLost: 121}},
		{m.Registries, "quay.example", report.MeasuredRow{Lost: 108, Expected: 14, Pulls: 20, Bytes: 200 << 20,
			Failures: 1}},
		{m.Workloads, "deployment shop/web", report.MeasuredRow{Seconds: 160, Lost: 120, StartUps: 30, Failures: 1,
			Most: "network", MostLost: 100}},
	} {
		if got := row.rows[row.name]; got == nil || !reflect.DeepEqual(*got, row.want) {
			t.Errorf("%s: %+v, want %+v", row.name, got, row.want)
		}
	}
	if !m.Compared || !m.ComparedWorkloads {
		t.Errorf("compared: %t, workloads: %t", m.Compared, m.ComparedWorkloads)
	}
	if len(m.Registries) != 2 || len(m.Workloads) != 1 {
		t.Errorf("rows that stand for several registries or workloads: %v, %v", m.Registries, m.Workloads)
	}
}

// TestClusters checks that nodes of different clusters with the same name have different rows.
func TestClusters(t *testing.T) {
	responses := fleetmetricstest.Fleet(false)
	responses["node_lost"] = []fleetmetricstest.Sample{fleetmetricstest.Of(1, "node", "a", "cluster", "east"),
		fleetmetricstest.Of(2, "node", "a", "cluster", "west")}
	m, err := read(t, fleetmetricstest.Serve(t, responses).URL, "")
	if err != nil || m.Nodes["a in cluster east"].Lost != 1 || m.Nodes["a in cluster west"].Lost != 2 {
		t.Errorf("%v, %v", m.Nodes, err)
	}
}

// TestPodsWithoutOwner checks the name of the workload that contains all pods of a namespace without an owner. In
// Prometheus, an empty label is an absent label.
func TestPodsWithoutOwner(t *testing.T) {
	responses := fleetmetricstest.Fleet(true)
	responses["workload_lost"] = append(responses["workload_lost"],
		fleetmetricstest.Of(7, "namespace", "shop", "workload_kind", "Pod"))
	m, err := read(t, fleetmetricstest.Serve(t, responses).URL, "")
	if row := m.Workloads["pods without an owner in shop"]; err != nil || row == nil || row.Lost != 7 {
		t.Errorf("%v, %v", m.Workloads, err)
	}
}

// TestFailuresNameRemedies uses servers that cannot respond. Each error names a remedy, and no error contains
// credentials.
func TestFailuresNameRemedies(t *testing.T) {
	withoutData := func(names ...string) fleetmetricstest.Responses {
		responses := fleetmetricstest.Fleet(false)
		for _, name := range names {
			delete(responses, name)
		}
		return responses
	}
	response := func(status int, text string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, text)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	problem := func(kind string) string {
		return `{"status":"error","errorType":"` + kind + `","error":"reason"}`
	}
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	for _, test := range []struct{ name, address, want string }{
		{"unreachable", closed.URL, "port-forward"},
		{"web page", response(200, "<html>hello</html>"), "/api/v1/query"},
		{"not found", response(404, "no such page"), "/api/v1/query"},
		{"redirect", response(302, ""), "/api/v1/query"},
		{"other JSON", response(200, `{"status":"success","data":{"resultType":"scalar","result":[1,"1"]}}`),
			"the result is not a vector"},
		{"null", response(200, `{"status":"success","data":{"resultType":"vector","result":[null]}}`), "/api/v1/query"},
		{"no credentials", response(401, ""), "--prometheus-token-file"},
		{"no permission", response(403, ""), "--prometheus-token-file"},
		{"too many samples", response(422, problem("execution")), "a shorter --since"},
		{"replicas", response(422, strings.Replace(problem("execution"), "reason", "found duplicate series for the "+
			"match group {} on the right hand-side of the operation", 1)), "a single replica"},
		{"slow", response(503, problem("timeout")), "a shorter --since"},
		{"starting", response(503, "Service Unavailable"), "/-/ready"},
		{"proxy without server", response(502, ""), "/-/ready"},
		{"old", response(400, problem("bad_data")), "2.42"},
		{"broken", response(500, "sorry"), "healthy"},
		{"no agents", fleetmetricstest.Serve(t, withoutData("nodes", "rule_hours")).URL, "count(podlapse_build_info)"},
		{"no rules", fleetmetricstest.Serve(t, withoutData("rule_hours")).URL, "rules.yaml"},
	} {
		_, err := read(t, strings.Replace(test.address, "://", "://user:"+secret+"@", 1), "")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		} else if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "user") {
			t.Errorf("%s: the error contains credentials: %v", test.name, err)
		}
		if refused := strings.HasPrefix(test.name, "no c") || strings.HasPrefix(test.name, "no p"); err != nil &&
			errors.Is(err, ErrRefused) != refused {
			t.Errorf("%s: ErrRefused: %t", test.name, !refused)
		}
	}
}

// TestLongTexts uses a server with endless errors and warnings.
func TestLongTexts(t *testing.T) {
	endless := strings.Repeat("é", 100_000)
	for name, response := range map[string]string{
		"error": `{"status":"error","errorType":"execution","error":"` + endless + `"}`,
		"warning": `{"status":"success","warnings":["` + endless + `"],"data":{"resultType":"vector","result":[` +
			`{"metric":{},"value":[1,"2"]}]}}`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if name == "error" {
				w.WriteHeader(http.StatusUnprocessableEntity)
			}
			fmt.Fprint(w, response)
		}))
		defer server.Close()
		m, err := read(t, server.URL, "")
		text := strings.Join(m.Warnings, "")
		if name == "error" {
			text = fmt.Sprint(err)
		}
		if len(text) > maxText+300 || !strings.Contains(text, "é…") || !utf8.ValidString(text) {
			t.Errorf("%s: %d bytes: %.700s", name, len(text), text)
		}
	}
}

// TestCredentials checks the credentials in requests, and that a proxy that allows only GET gets GET.
func TestCredentials(t *testing.T) {
	inner := fleetmetricstest.Serve(t, fleetmetricstest.Fleet(false))
	serve := func(want string) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != want {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			if r.Method == http.MethodPost {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			inner.Config.Handler.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	if _, err := read(t, serve("Bearer "+secret), secret); err != nil {
		t.Errorf("token: %v", err)
	}
	basic := serve("Basic dXNlcjpzM2NyZXQ=") // user:s3cret in base64
	if _, err := read(t, strings.Replace(basic, "://", "://user:"+secret+"@", 1), ""); err != nil {
		t.Errorf("password: %v", err)
	}
	if _, err := read(t, strings.Replace(serve("Basic dXNlcjo="), "://", "://user@", 1), ""); err != nil {
		t.Errorf("user without a password: %v", err)
	}
}

// TestBrokenNumbers checks that the numbers of a broken server do not overflow.
func TestBrokenNumbers(t *testing.T) {
	for number, want := range map[float64]int{1e300: math.MaxInt32, 2.9: 2} {
		responses := fleetmetricstest.Fleet(true)
		for _, name := range []string{"rule_hours", "nodes", "workload_series"} {
			responses[name] = []fleetmetricstest.Sample{fleetmetricstest.Of(number)}
		}
		m, err := read(t, fleetmetricstest.Serve(t, responses).URL, "")
		if err != nil || m.RuleHours != want || m.NodeCount != want || m.WorkloadSeries != want {
			t.Errorf("%g: %d, %d, %d, %v", number, m.RuleHours, m.NodeCount, m.WorkloadSeries, err)
		}
	}
}

func TestLargeResponse(t *testing.T) {
	address, err := url.Parse(fleetmetricstest.Serve(t, fleetmetricstest.Fleet(false)).URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := openLimited(address, "", 50)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Read(t.Context(), fleetmetricstest.Until(), fleetmetricstest.Length)
	if err == nil || !strings.Contains(err.Error(), "too large") {
		t.Errorf("got %v", err)
	}
}

// TestTime checks that a server that does not respond ends the report in time, with a remedy.
func TestTime(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // the server notices that the client is gone only after it has read the body
		<-r.Context().Done()
	}))
	defer server.Close()
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(address, "")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer stop()
	if _, err = s.Read(ctx, fleetmetricstest.Until(), time.Hour); !errors.Is(err, context.DeadlineExceeded) ||
		!strings.Contains(err.Error(), "--timeout") {
		t.Errorf("got %v", err)
	}
}
