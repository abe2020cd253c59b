package bench

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestCallLog(t *testing.T) {
	text := `time="2026-01-01T00:00:01Z" level=info msg="RunPodSandbox for name:\"pod\"  uid:\"u1\"  namespace:\"n\""
time="2026-01-01T00:00:02Z" level=error msg="RunPodSandbox for name:\"pod\"  uid:\"u1\"  namespace:\"n\" failed, ` +
		`error" error="no network"
time="2026-01-01T00:00:03Z" level=info msg="RunPodSandbox for name:\"pod\" uid:\"u1\" namespace:\"n\" attempt:1"
time="2026-01-01T00:00:04Z" level=info msg="RunPodSandbox for name:\"pod\" uid:\"u1\" namespace:\"n\" attempt:1 ` +
		`returns sandbox id \"s1\""
time="2026-01-01T00:00:05Z" level=info msg="CreateContainer within sandbox \"s1\" for container name:\"main\""
time="2026-01-01T00:00:06Z" level=info msg="CreateContainer within sandbox \"s1\" for name:\"main\" returns ` +
		`container id \"c1\""
time="2026-01-01T00:00:07Z" level=info msg="StartContainer for \"c1\""
time="2026-01-01T00:00:08Z" level=info msg="StartContainer for \"c1\" returns successfully"
time="2026-01-01T00:00:12Z" level=info msg="received container exit event container_id:\"c1\" id:\"c1\" pid:7 ` +
		`exited_at:{seconds:1767225610 nanos:500000000}"
time="2026-01-01T00:00:13Z" level=info msg="CreateContainer within sandbox \"s1\" for container name:\"main\" attempt:1"
time="2026-01-01T00:00:14Z" level=info msg="stopping"
time="2026-01-01T00:00:19Z" level=info msg="starting containerd" version=v2
`
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &CallLog{
		file:  tail{path: path},
		calls: make(map[string][]*RuntimeCall),
		pod:   make(map[string]string),
		named: make(map[string]*RuntimeCall),
	}
	calls, err := log.Of("u1")
	if err != nil {
		t.Fatal(err)
	}
	second := func(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }
	want := []RuntimeCall{
		{Span: Span{second(1), second(2)}, Kind: CallSandbox, Failed: true},
		{Span: Span{second(3), second(4)}, Kind: CallSandbox},
		{Span: Span{second(5), second(6)}, Kind: CallCreate, Container: "main"},
		{
			Span:       Span{second(7), second(8)},
			Kind:       CallStart,
			Container:  "main",
			ExitedAt:   second(10).Add(time.Second / 2),
			ExitSeenAt: second(12),
		},
		{Span: Span{second(13), second(14)}, Kind: CallCreate, Container: "main", Attempt: 1, Failed: true},
	}
	if len(calls) != len(want) {
		t.Fatalf("%d calls: %+v", len(calls), calls)
	}
	for i, got := range calls {
		got.sandbox, got.container = "", ""
		w := want[i]
		if !got.StartAt.Equal(w.StartAt) || !got.EndAt.Equal(w.EndAt) || got.Kind != w.Kind ||
			got.Container != w.Container ||
			got.Attempt != w.Attempt || got.Failed != w.Failed || !got.ExitedAt.Equal(w.ExitedAt) ||
			!got.ExitSeenAt.Equal(w.ExitSeenAt) {
			t.Errorf("call %d is %+v, want %+v", i, got, w)
		}
	}
}
