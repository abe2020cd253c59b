package scenario

import (
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// TestUnpackVerdict checks reports about a pull whose unpacking took 85 ms after the last byte. The container was
// created 30 ms after the end of the pull, and ran 70 ms later.
func TestUnpackVerdict(t *testing.T) {
	const ms = time.Millisecond
	truth := bench.Attempt{Pod: "overlap", Container: mainName, RequestedAt: after(0), ReportedAt: after(12087 * ms),
		Call: bench.PullCall{Span: span(0, 12085*ms), NamedAt: after(12017 * ms)}, RegistryTime: span(4*ms, 12000*ms),
		ResolvedAt: after(30 * ms)}
	near := neighborInstants{after(-10 * ms), after(12185 * ms)}
	for name, test := range map[string]struct {
		sources      agentSources
		pull, unpack time.Duration
		stated       time.Duration // error bound of the phase "unpack"
		storing      time.Duration // time in which the runtime stored the content after the last byte
		want         string
	}{
		"right":                                {allSources, 12 * time.Second, 85 * ms, 0, 0, ""},
		"all sources, unpack too short":        {allSources, 12 * time.Second, 17 * ms, 0, 0, "unpack"},
		"all sources, large error bound":       {allSources, 12 * time.Second, 17 * ms, 83 * ms, 0, "unpack"},
		"all sources, pull too short":          {allSources, 11900 * ms, 85 * ms, 0, 0, "pull"},
		"no Events, within error bound":        {withoutEvents, 12 * time.Second, 17 * ms, 83 * ms, 0, ""},
		"no Events, no error bound":            {withoutEvents, 12 * time.Second, 17 * ms, 0, 0, "unpack"},
		"no Events, beyond the evidence":       {withoutEvents, 12 * time.Second, 240 * ms, time.Second, 0, "unpack"},
		"no Events, pull beyond the evidence":  {withoutEvents, 12100 * ms, 85 * ms, 0, 0, "pull"},
		"no Events, pull within the evidence":  {withoutEvents, 12020 * ms, 85 * ms, 0, 0, ""},
		"no Events, longer within the bound":   {withoutEvents, 12 * time.Second, 150 * ms, 83 * ms, 0, ""},
		"no Events, unpack longer than stated": {withoutEvents, 12 * time.Second, 150 * ms, 5 * ms, 0, "unpack"},
		"stored late":                          {allSources, 12070 * ms, 15 * ms, 0, 60 * ms, ""},
		"later than stored":                    {allSources, 12120 * ms, 15 * ms, 0, 60 * ms, "pull"},
	} {
		truth := truth
		truth.StoredAt = truth.RegistryTime.EndAt.Add(test.storing)
		pull := reported("pull", 0, test.pull, 100*ms)
		unpack := reported("unpack", test.pull, test.pull+test.unpack, test.stated)
		pull.Container, pull.Cause, unpack.Container, unpack.Cause = mainName, registryCause, mainName, diskCause
		j := &pullJudge{verdict: &Verdict{}, sources: test.sources}
		timeline := agent.Timeline{Phases: []agent.Phase{pull, unpack}}
		if err := j.judgeParts(plainCase("overlap", "r/a:1", agent.Downloaded), truth, near, false,
			timeline); err != nil {
			t.Fatal(err)
		}
		expect(t, name, j.verdict.Wrong(), test.want)
	}
}
