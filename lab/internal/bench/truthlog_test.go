package bench

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

func TestPullLogged(t *testing.T) {
	log := `time="2026-01-01T00:00:00Z" level=info msg="PullImage \"registry/n/other:1\""
time="2026-01-01T00:00:01.5Z" level=info msg="PullImage \"registry/n/pod-1:1\""
time="2026-01-01T00:00:02Z" level=info msg="ImageCreate event name:\"registry/n/pod-1:1\""
time="2026-01-01T00:00:02.25Z" level=info msg="PullImage \"registry/n/pod-1:1\" returns image reference \"sha256:0\""
`
	span, err := pullLogged(strings.NewReader(log), "registry/n/pod-1:")
	if err != nil || span.Length() != 750*time.Millisecond {
		t.Errorf("got %v, %v", span, err)
	}
	if _, err := pullLogged(strings.NewReader(log), "registry/n/other:"); err == nil {
		t.Error("a pull that goes on has an end")
	}
}

func TestSaidFirst(t *testing.T) {
	log := `2026-01-01T00:00:00.1Z stdout F started at 2026-01-01T00:00:00Z
2026-01-01T00:00:02.1Z stdout F readiness-probe-passes at 2026-01-01T00:00:02Z
2026-01-01T00:00:03.1Z stdout F readiness-probe-passes at 2026-01-01T00:00:03Z
2026-01-01T00:00:03.1Z stderr F workload: something else
`
	happened := saidFirst(log)
	if len(happened) != 2 || happened[workload.WordReady].Sub(happened[workload.WordStarted]) != 2*time.Second {
		t.Errorf("got %v", happened)
	}
}
