package node

import (
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/stack"
)

func TestPauseImage(t *testing.T) {
	const base, cold = "127.0.0.1:25000/podlapse-lab/workload:1", "127.0.0.1:25000/podlapse-lab/pause:1"
	for name, want := range map[string]string{stack.Current: base, "eks": base, "coldpause": cold} {
		n := testNode(t)
		var err error
		if n.Stack, err = stack.Load(name); err != nil {
			t.Fatal(err)
		}
		got := n.pauseImage(base)
		if got != want || !strings.Contains(n.containerdConfig(got), `"`+want+`"`) {
			t.Errorf("%s: %s", name, got)
		}
		isCold := want == cold
		for image, is := range map[string]bool{cold: isCold, "127.0.0.1/podlapse-lab/pause": isCold, base: false,
			"docker.io/podlapse-lab/pause": false, "127.0.0.1/podlapse-lab/paused": false} {
			if n.IsColdPause(image) != is {
				t.Errorf("%s: IsColdPause(%s) is %t", name, image, !is)
			}
		}
		if isCold {
			continue // without a running node, there is no runtime to ask
		}
		if err := n.ForgetPauseImage(t.Context()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
