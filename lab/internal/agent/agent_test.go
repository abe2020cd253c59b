package agent

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestNanoseconds(t *testing.T) {
	for text, want := range map[json.Number]time.Duration{"0": 0, "1.5": 1500 * time.Millisecond, "0.000000001": 1,
		"5.277123456": 5277123456, "1e-9": 1, "-0.25": -250 * time.Millisecond} {
		if got, err := Nanoseconds(text); err != nil || got != want {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []json.Number{"", "0.0000000001", "1e300", "9223372037", "soon", "NaN"} {
		if got, err := Nanoseconds(text); err == nil {
			t.Errorf("%q: got %d, want an error", text, got)
		}
	}
}

// whole is a valid timeline.
const whole = `{"namespace":"n","name":"p","state":"ready",
 "created_at":"2026-01-01T00:00:00Z","settled_at":"2026-01-01T00:00:03.000000001Z","total_seconds":3.000000001,
 "phases":[
  {"phase":"scheduling","start_at":"2026-01-01T00:00:00Z","end_at":"2026-01-01T00:00:01Z","seconds":1},
  {"phase":"pull","container":"main","start_at":"2026-01-01T00:00:01Z","end_at":"2026-01-01T00:00:02.5Z","seconds":1.5},
  {"phase":"pull","container":"other","start_at":"2026-01-01T00:00:02.5Z",` +
	`"end_at":"2026-01-01T00:00:03.000000001Z","seconds":0.500000001}],
 "pulls":[{"container":"main","outcome":"downloaded","queue_seconds":0.25,"pull_seconds":1.25}]}`

func read(t *testing.T, text string) Timeline {
	t.Helper()
	var timeline Timeline
	if err := decode([]byte(text), &timeline); err != nil {
		t.Fatal(err)
	}
	return timeline
}

func TestTimelineProblems(t *testing.T) {
	if problems := read(t, whole).Problems(); len(problems) != 0 {
		t.Errorf("a valid timeline has problems: %v", problems)
	}
	for name, edit := range map[string][2]string{
		"the sum is wrong by a nanosecond": {`"total_seconds":3.000000001`, `"total_seconds":3`},
		"gap": {`"end_at":"2026-01-01T00:00:01Z","seconds":1`,
			`"end_at":"2026-01-01T00:00:00.9Z","seconds":0.9`},
		"overlap": {
			`"start_at":"2026-01-01T00:00:01Z","end_at":"2026-01-01T00:00:02.5Z","seconds":1.5`,
			`"start_at":"2026-01-01T00:00:00.5Z","end_at":"2026-01-01T00:00:02.5Z","seconds":2`},
		"a phase longer than the time from its start to its end": {`"seconds":1.5`, `"seconds":1.4`},
		"rounded duration": {`"seconds":0.500000001`, `"seconds":0.5000000012`},
		"first phase too late": {`"created_at":"2026-01-01T00:00:00Z"`,
			`"created_at":"2025-12-31T23:59:59Z"`},
		"last phase too early": {`"settled_at":"2026-01-01T00:00:03.000000001Z"`,
			`"settled_at":"2026-01-01T00:00:04Z"`},
		"no phases": {`"phases":[`, `"was":[`},
	} {
		broken := strings.Replace(whole, edit[0], edit[1], 1)
		if broken == whole {
			t.Fatalf("%s: the edit changes nothing", name)
		}
		if len(read(t, broken).Problems()) == 0 {
			t.Errorf("%s: no problem reported", name)
		}
	}
}

func TestPhasesAndPulls(t *testing.T) {
	timeline := read(t, whole)
	if sum, ok, err := timeline.In("pull", "main"); sum != 1500*time.Millisecond || !ok || err != nil {
		t.Errorf("pull of main: %s, %v, %v", sum, ok, err)
	}
	if sum, ok, _ := timeline.In("pull", ""); sum != 2000000001 || !ok {
		t.Errorf("all pulls: %s, %v", sum, ok)
	}
	if _, ok, _ := timeline.In("network", ""); ok {
		t.Error("found a phase that the timeline lacks")
	}
	if pull, ok := timeline.PullOf("main"); !ok || pull.QueueSeconds != "0.25" {
		t.Errorf("pull %+v, %v", pull, ok)
	}
	if _, ok := timeline.PullOf("other"); ok {
		t.Error("found a pull that the timeline lacks")
	}
}

func TestClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		switch request.URL.Path {
		case "/api/v1/pods":
			_, _ = response.Write([]byte(`{"items":[` + whole + `]}`))
		case "/api/v1/pods/n/p":
			_, _ = response.Write([]byte(whole))
		default:
			http.Error(response, "no such pod", http.StatusNotFound)
		}
	}))
	t.Cleanup(server.Close)
	client := Client{Server: server.URL}
	if list, err := client.Timelines(t.Context()); err != nil || len(list) != 1 || list[0].Name != "p" {
		t.Errorf("list %v, %v", list, err)
	}
	if one, err := client.Timeline(t.Context(), "n", "p"); err != nil || string(one.Raw) != whole {
		t.Errorf("one %v, %v", one, err)
	}
	if _, err := client.Timeline(t.Context(), "n", "q"); err == nil || !strings.Contains(err.Error(), "no such pod") {
		t.Errorf("error %v", err)
	}
}
