package scenario

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// TestJudgeChangedImage checks reports about a pod whose image changed after a failed pull. Only an agent without
// Events is allowed to report an unknown image for the failed pull.
func TestJudgeChangedImage(t *testing.T) {
	const before = "127.0.0.1:1/changed:1"
	unknown := func(p *agent.Pull) { p.Image, p.Registry = agent.Unknown, agent.Unknown }
	for name, test := range map[string]struct {
		sources agentSources
		edit    func(p *agent.Pull)
		want    string // part of the expected output; empty if the verdict passes
	}{
		"right": {allSources,
			func(p *agent.Pull) { p.Image, p.Registry = before, "127.0.0.1:1" }, ""},
		"new image":               {allSources, func(*agent.Pull) {}, "want image " + before},
		"new registry":            {allSources, func(p *agent.Pull) { p.Image = before }, "want registry 127.0.0.1:1"},
		"unknown":                 {withoutRuntime, unknown, "want image " + before},
		"unknown, without Events": {withoutEvents, unknown, ""},
	} {
		c, truth, timeline := retriedPod()
		c.repair = func(context.Context) error { return nil }
		c.wants[0].before = before
		test.edit(&timeline.Pulls[0])
		j := &pullJudge{verdict: &Verdict{}, stack: currentStack(t), sources: test.sources}
		j.judgeImage(c, c.wants[0], truth, nearPulls, timeline)
		var out bytes.Buffer
		j.verdict.Print(&out)
		if j.verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, j.verdict.Failed(), out.String())
		}
	}
}
