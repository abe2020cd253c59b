package scenario

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// TestPluginRun checks reports about a credential provider plugin that ran from second 2 to second 6.
func TestPluginRun(t *testing.T) {
	const s = time.Second
	group := func(from, to time.Duration, candidates ...string) agent.Phase {
		phase := reported(agent.Unattributed, from, to, 0)
		phase.MergedWith = candidates
		return phase
	}
	sandbox := func(to, stated time.Duration) agent.Phase { return reported("sandbox", 0, to, stated) }
	for name, test := range map[string]struct {
		sources agentSources
		phases  []agent.Phase
		want    string
	}{
		"kubelet": {allSources, []agent.Phase{sandbox(2*s, 0), reported("kubelet_sync", 2*s, 6*s, 0)}, ""},
		"unattributed after a hook": {allSources,
			[]agent.Phase{sandbox(s, 0), group(s, 6*s, "post_start_hook", "kubelet_sync")}, ""},
		"without the kubelet as candidate": {allSources,
			[]agent.Phase{sandbox(s, 0), group(s, 6*s, "post_start_hook", "pull")}, "plugin-slow plugin"},
		"pull": {allSources,
			[]agent.Phase{sandbox(2*s, 0), reported("pull", 2*s, 6*s, 4*s)}, "plugin-slow plugin"},
		"hook": {withoutRuntime,
			[]agent.Phase{sandbox(s, 0), reported("post_start_hook", s, 6*s, 4*s)}, "plugin-slow plugin"},
		"late end of the sandbox": {allSources,
			[]agent.Phase{sandbox(2900*time.Millisecond, s), reported("kubelet_sync", 2900*time.Millisecond, 6*s, s)},
			"plugin-slow plugin"},
		"late end of the sandbox, without the runtime": {withoutRuntime,
			[]agent.Phase{sandbox(2900*time.Millisecond, s), reported("kubelet_sync", 2900*time.Millisecond, 6*s, s)},
			""},
		"late end without an error bound": {withoutRuntime,
			[]agent.Phase{sandbox(2900*time.Millisecond, 0), reported("kubelet_sync", 2900*time.Millisecond, 6*s, 0)},
			"plugin-slow plugin"},
		"nothing": {withoutEvents, nil, "plugin-slow plugin"},
	} {
		j := &pullJudge{verdict: &Verdict{}, sources: test.sources}
		j.judgePluginRun("plugin-slow", span(2*s, 6*s), agent.Timeline{Phases: test.phases})
		expect(t, name, j.verdict.Wrong(), test.want)
	}
}
