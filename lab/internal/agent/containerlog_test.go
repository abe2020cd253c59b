package agent

import (
	"testing"
	"time"
)

func TestPrinted(t *testing.T) {
	const log = `2026-01-02T03:04:05.123456789Z stdout F {"a": 1}
2026-01-02T03:04:05.2Z stderr F {"level":"info"}
2026-01-02T03:04:06Z stdout P {"b":
2026-01-02T03:04:06Z stderr P half of a
2026-01-02T03:04:06Z stdout P  "two  spaces
2026-01-02T03:04:06Z stderr F  log line
2026-01-02T03:04:06Z stdout F "}
2026-01-02T03:04:07Z stdout F 
2026-01-02T03:04:08Z stdout P {"c": "its end
2026-01-02T03:04:08Z stdout F is not there`
	const want = `{"a": 1}
{"b": "two  spaces"}

`
	if got := string(Printed([]byte(log), Stdout)); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := string(Printed([]byte(log), Stderr)); got != "{\"level\":\"info\"}\nhalf of a log line\n" {
		t.Errorf("logged %q", got)
	}
	if got := begunAt([]byte(log)); !got.Equal(time.Date(2026, 1, 2, 3, 4, 5, 123456789, time.UTC)) {
		t.Errorf("the log begins at %s", got)
	}
	if got := begunAt(nil); !got.IsZero() {
		t.Errorf("an empty log begins at %s", got)
	}
}
