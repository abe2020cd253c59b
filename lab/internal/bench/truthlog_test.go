package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

func TestRuntimeLog(t *testing.T) {
	text := `time="2026-01-01T00:00:00Z" level=info msg="RunPodSandbox for name:\"other\" uid:\"u2\" namespace:\"n\""
time="2026-01-01T00:00:01Z" level=info msg="RunPodSandbox for name:\"pod\" uid:\"u1\" namespace:\"n\""
time="2026-01-01T00:00:02Z" level=info msg="RunPodSandbox for name:\"pod\" uid:\"u1\" namespace:\"n\" returns ` +
		`sandbox id \"s1\""
time="2026-01-01T00:00:03Z" level=info msg="PullImage \"registry/n/pod:1\""
time="2026-01-01T00:00:04Z" level=info msg="ImageCreate event name:\"registry/n/pod:1\""
time="2026-01-01T00:00:05Z" level=info msg="PullImage \"registry/n/pod:1\" returns image reference \"sha256:0\""
time="2026-01-01T00:00:06Z" level=info msg="CreateContainer within sandbox \"s1\" for container name:\"main\""
time="2026-01-01T00:00:07Z" level=info msg="CreateContainer within sandbox \"s1\" for name:\"main\" returns ` +
		`container id \"c1\""
time="2026-01-01T00:00:08Z" level=info msg="StartContainer for \"c1\""
time="2026-01-01T00:00:09Z" level=info msg="StartContainer for \"c1\" returns successfully"
time="2026-01-01T00:00:10Z" level=info msg="received container exit event container_id:\"c1\" id:\"c1\" pid:7"
time="2026-01-01T00:00:11Z" level=info msg="StopPodSandbox for \"s1\""
time="2026-01-01T00:00:12Z" level=info msg="received sandbox container exit event sandbox_id:\"s1\" exit_status:137"
time="2026-01-01T00:00:13Z" level=info msg="received sandbox container exit event sandbox_id:\"s1\" exit_status:137"
not a line of it
`
	log, err := readRuntimeLog(strings.NewReader(text), "u1", "registry/n/pod:")
	if err != nil {
		t.Fatal(err)
	}
	second := func(n int) time.Time { return time.Date(2026, 1, 1, 0, 0, n, 0, time.UTC) }
	if !log.SandboxRequestedAt.Equal(second(1)) || log.Pull != (Span{second(3), second(5)}) ||
		!log.StartRequestedAt["main"].Equal(second(8)) || len(log.RunningAt) != 1 ||
		!log.RunningAt["main"].Equal(second(9)) ||
		!log.SandboxReadyAt.Equal(second(2)) || !log.ExitedAt["main"].Equal(second(10)) ||
		!log.SandboxStoppedAt.Equal(second(12)) {
		t.Errorf("got %+v", log)
	}
	if _, err := readRuntimeLog(strings.NewReader(text), "u3", ""); err == nil {
		t.Error("found a sandbox of an unknown pod")
	}
}

func TestKubeletLog(t *testing.T) {
	text := `I1231 23:59:58.000001    7 kubelet.go:2709] "SyncLoop ADD" source="file" pods=["n/pod-1"]
I1231 23:59:58.500001    7 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["n/pod-12","n/pod-2"]
I1231 23:59:59.250001    7 kubelet.go:2709] "SyncLoop ADD" source="api" pods=["n/pod-3","n/pod-1"]
I1231 23:59:59.300001    7 kubelet.go:2826] "SyncLoop (probe)" probe="readiness" status="ready" pod="n/pod-1"
I1231 23:59:59.350001    7 kubelet.go:2826] "SyncLoop (probe)" probe="readiness" status="not ready" pod="n/pod-1"
I1231 23:59:59.400001    7 kubelet.go:2826] "SyncLoop (probe)" probe="readiness" status="ready" pod="n/pod-12"
I1231 23:59:59.450001    7 kubelet.go:2826] "SyncLoop (probe)" probe="startup" status="ready" pod="n/pod-1"
I1231 23:59:59.500001    7 kubelet.go:2826] "SyncLoop (probe)" probe="readiness" status="ready" pod="n/pod-1"
`
	now := time.Date(2026, 1, 1, 0, 0, 1, 0, time.Local)
	at, err := firstLineAbout(strings.NewReader(text), syncLoopAdd, "n/pod-1", time.Time{}, now)
	if want := time.Date(2025, 12, 31, 23, 59, 59, 250001000, time.Local); err != nil || !at.Equal(want) {
		t.Errorf("got %s, %v, want %s", at, err, want)
	}
	if _, err := firstLineAbout(strings.NewReader(text), syncLoopAdd, "n/pod-4", time.Time{}, now); err == nil {
		t.Error("found a line about an unknown pod")
	}
	at, err = firstLineAbout(strings.NewReader(text), syncLoopReady, "n/pod-1", at.Add(60*time.Millisecond), now)
	if want := time.Date(2025, 12, 31, 23, 59, 59, 500001000, time.Local); err != nil || !at.Equal(want) {
		t.Errorf("ready at %s, %v, want %s", at, err, want)
	}
}

func TestFirstLogged(t *testing.T) {
	log := `2026-01-01T00:00:00.1Z stdout F started at 2026-01-01T00:00:00Z
2026-01-01T00:00:02.1Z stdout F readiness-probe-passes at 2026-01-01T00:00:02Z
2026-01-01T00:00:03.1Z stdout F readiness-probe-passes at 2026-01-01T00:00:03Z
2026-01-01T00:00:03.1Z stderr F workload: something else
`
	happened := firstLogged(log)
	if len(happened) != 2 || happened[workload.WordReady].Sub(happened[workload.WordStarted]) != 2*time.Second {
		t.Errorf("got %v", happened)
	}
}

func TestKubeletStarting(t *testing.T) {
	log := `I0301 12:00:01.000001    7 event.go:389] "Event occurred" object="node-1" fieldPath="" kind="Node" ` +
		`apiVersion="" type="Normal" reason="NodeHasSufficientMemory" message="x"` + "\n" +
		`I0301 12:00:02.500000    7 event.go:389] "Event occurred" object="node-1" fieldPath="" kind="Node" ` +
		`apiVersion="" type="Normal" reason="Starting" message="Starting kubelet."` + "\n"
	now := time.Date(2026, 3, 1, 13, 0, 0, 0, time.Local)
	at, err := firstLineAbout(strings.NewReader(log), kubeletStarting, "node-1", time.Time{}, now)
	if want := time.Date(2026, 3, 1, 12, 0, 2, 500_000_000, time.Local); err != nil || !at.Equal(want) {
		t.Errorf("%s, %v", at, err)
	}
}
