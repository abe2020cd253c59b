package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// TestJudgeLazyPull changes one part of a correct report at a time.
func TestJudgeLazyPull(t *testing.T) {
	const ms = time.Millisecond
	fetched := int64(1_200_000) // bytes of the mounted layer that arrive during the pull
	for name, test := range map[string]struct {
		mounted  bool
		ordinary int
		change   func(*lazyCase, *agent.Pull)
		want     string // part of the expected problem; empty if the verdict passes
	}{
		"lazy":  {true, 0, func(*lazyCase, *agent.Pull) {}, ""},
		"mixed": {true, ordinarySize, func(*lazyCase, *agent.Pull) {}, ""},
		"plain": {false, ordinarySize, func(*lazyCase, *agent.Pull) {}, ""},
		"size of the image as bytes": {true, 0, func(_ *lazyCase, p *agent.Pull) {
			p.Download = &agent.Download{Bytes: lazySize}
		}, "the agent reports 67108864 bytes"},
		"size of the image counted": {true, 0, func(c *lazyCase, _ *agent.Pull) { c.countedBytes = lazySize },
			"counts 6.7108864e+07"},
		"rate": {true, ordinarySize, func(_ *lazyCase, p *agent.Pull) { p.Download.Rate = 1 }, "rate 1,"},
		"sized": {true, 0, func(_ *lazyCase, p *agent.Pull) { p.Sized = true },
			"compares 0 bytes with the duration"},
		"counted as sized":  {true, 0, func(c *lazyCase, _ *agent.Pull) { c.countedSized = 1 }, "counted 1"},
		"not lazy":          {true, 0, func(_ *lazyCase, p *agent.Pull) { p.Lazy = false }, "the agent reports false"},
		"ordinary, lazy":    {false, ordinarySize, func(_ *lazyCase, p *agent.Pull) { p.Lazy = true }, "reports true"},
		"ordinary, no rate": {false, ordinarySize, func(_ *lazyCase, p *agent.Pull) { p.Download.Rate = 0 }, "no rate"},
		"bytes missing": {true, ordinarySize, func(_ *lazyCase, p *agent.Pull) { p.Download = nil },
			"but the agent reports 0 bytes"},
		"bytes unknown, below": {true, ordinarySize, func(c *lazyCase, p *agent.Pull) {
			c.below, p.Download, c.countedBytes = true, nil, 0
		}, ""},
		"too few bytes, below": {true, ordinarySize, func(c *lazyCase, p *agent.Pull) {
			c.below, p.Download.Bytes = true, 1
		}, "but the agent reports 1 bytes"},
		"unpacked": {true, 0, func(_ *lazyCase, p *agent.Pull) { p.Unpack = &agent.Unpack{} },
			"in the phase unpack"},
		"phase unpack": {true, 0, func(c *lazyCase, _ *agent.Pull) {
			c.timeline.Phases[0].Phase, c.timeline.Phases[0].Container = "unpack", mainName
		}, "the agent reports 0.050 s in the phase unpack"},
		"nothing loads": {true, 0, func(c *lazyCase, _ *agent.Pull) { c.timeline.Phases[0].ImageLoading = false },
			"image_loading false"},
		"verdict": {true, 0, func(c *lazyCase, _ *agent.Pull) { c.timeline.Verdict = "pulled" }, `verdict "pulled"`},
		"phase unpack too long": {true, ordinarySize, func(c *lazyCase, _ *agent.Pull) {
			c.timeline.Phases[0].Phase, c.timeline.Phases[0].Container = "unpack", mainName
			c.timeline.Phases[0].Seconds = "0.1"
		}, "at most 0.067 s"},
		"whole layer fetched, below": {true, ordinarySize, func(c *lazyCase, _ *agent.Pull) {
			c.attempt.BlobBytes, c.below = lazySize+ordinarySize, true
		}, ""},
		"whole layer fetched": {true, 0, func(c *lazyCase, _ *agent.Pull) { c.attempt.BlobBytes = lazySize },
			"the scenario is not conclusive"},
	} {
		c := lazyCase{pod: "pod", mounted: test.mounted, ordinary: test.ordinary,
			attempt: bench.Attempt{Call: bench.PullCall{Span: span(0, 117*ms)}, RegistryTime: span(0, 100*ms),
				BlobBytes: int64(test.ordinary) + fetched},
			timeline: agent.Timeline{Phases: []agent.Phase{{Phase: "container_start", Seconds: "0.05",
				ImageLoading: test.mounted}}}}
		pull := agent.Pull{Container: mainName, Outcome: agent.Downloaded, Lazy: test.mounted, Sized: !test.mounted}
		if test.mounted {
			c.timeline.Verdict = "1.1 s until main was ready while its image may still be loading"
		}
		if test.ordinary > 0 {
			pull.Download = &agent.Download{Bytes: int64(test.ordinary)}
			c.countedBytes = float64(test.ordinary)
		}
		if !test.mounted {
			pull.Download.Rate, c.countedSized = 1000, 1
		}
		test.change(&c, &pull)
		v := &Verdict{}
		c.judgeReport(pull, v)
		expect(t, name, []string{strings.Join(v.Problems, "; ")}, test.want)
	}
}
