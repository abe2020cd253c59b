package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPullLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	const before = `time="2026-01-01T00:00:00Z" level=info msg="PullImage \"r/before:1\""` + "\n"
	if err := os.WriteFile(path, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &PullLog{file: tail{path, int64(len(before))}, calls: make(map[string][]PullCall)}
	grow := func(text string) {
		file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := file.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	of := func(reference string) []PullCall {
		calls, err := log.Of(reference)
		if err != nil {
			t.Fatal(err)
		}
		return calls
	}
	grow(`time="2026-01-01T00:00:01Z" level=info msg="PullImage \"r/a:1\""
time="2026-01-01T00:00:01.5Z" level=info msg="PullImage \"r/b:1\""
time="2026-01-01T00:00:02Z" level=error msg="PullImage \"r/a:1\" failed" error="rpc error: \"r/a:1\" not found"
time="2026-01-01T00:00:03Z" level=info msg="PullImage \"r/a:1\""
time="2026-01-01T00:00:03.5Z" level=info msg="ImageCreate event name:\"r/a:1\" labels:{key:\"k\" value:\"v\"}"
time="2026-01-01T00:00:03.6Z" level=info msg="ImageUpdate event name:\"r/a:1\" labels:{key:\"k\" value:\"v\"}"
time="2026-01-01T00:00:04Z" level=info msg="PullImage \"r/a:1\" returns image refe`)
	if calls := of("r/a:1"); len(calls) != 2 || Failures(calls) != 1 || calls[0].Length() != time.Second ||
		len(Ended(calls)) != 1 {
		t.Errorf("got %+v", calls)
	}
	if calls := of("r/a:1"); calls[0].Failed != `"rpc error: \"r/a:1\" not found"` {
		t.Errorf("got %+v", calls[0])
	}
	grow("rence \\\"sha256:1\\\"\"\n")
	if calls := of("r/a:1"); len(calls) != 2 || len(Ended(calls)) != 2 || calls[1].Length() != time.Second ||
		calls[1].Failed != "" || !calls[0].NamedAt.IsZero() ||
		!calls[1].NamedAt.Equal(calls[1].StartAt.Add(time.Second/2)) {
		t.Errorf("got %+v", calls)
	}
	if calls := of("r/b:1"); len(calls) != 1 || len(Ended(calls)) != 0 {
		t.Errorf("got %+v", calls)
	}
	if calls := of("r/before:1"); len(calls) != 0 {
		t.Errorf("got %+v", calls)
	}
}
