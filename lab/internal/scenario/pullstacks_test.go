package scenario

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

func currentStack(t *testing.T) stack.Stack { return stackNamed(t, stack.Current) }

func stackNamed(t *testing.T, name string) stack.Stack {
	t.Helper()
	s, err := stack.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expect requires that the problems contain the wanted text, or that there are no problems if the text is empty.
func expect(t *testing.T, name string, problems []string, want string) {
	t.Helper()
	if got := strings.Join(problems, "; "); (got != "") != (want != "") || !strings.Contains(got, want) {
		t.Errorf("%s: got %q, want %q", name, got, want)
	}
}

// TestBytesByStack checks the reported bytes of one pull. The stack decides whether the agent can know the bytes.
func TestBytesByStack(t *testing.T) {
	const missing = "does not report the download"
	whole, part, more := &agent.Download{Bytes: 598_000}, &agent.Download{Bytes: 70_000},
		&agent.Download{Bytes: 600_001}
	for name, test := range map[string]struct {
		stack    string
		sources  agentSources
		download *agent.Download
		want     string // part of the expected output; empty if the verdict passes
	}{
		"all bytes":                           {stack.Current, allSources, whole, ""},
		"no bytes":                            {stack.Current, allSources, nil, missing},
		"no bytes, with parallel pulls":       {"gke", allSources, nil, missing},
		"no bytes, containerd 1":              {"containerd-1.7", allSources, nil, missing},
		"no bytes, without Events":            {stack.Current, withoutEvents, nil, ""},
		"too few bytes":                       {stack.Current, allSources, part, "reports 70000"},
		"all bytes, layers discarded":         {"eks", allSources, whole, ""},
		"no bytes, layers discarded":          {"eks", allSources, nil, ""},
		"too few bytes, layers discarded":     {"eks", allSources, part, "reports 70000"},
		"too many bytes, layers discarded":    {"eks", allSources, more, "reports 600001"},
		"too few, discarded, without Events":  {"eks", withoutEvents, part, "reports 70000"},
		"too many, discarded, without Events": {"eks", withoutEvents, more, "reports 600001"},
		"none, discarded, without Events":     {"eks", withoutEvents, nil, ""},
	} {
		c, truth, timeline := retriedPod()
		timeline.Pulls[1].Download = test.download
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: test.sources}
		j.judgeBytes(name, c, truth[1], timeline.Pulls[1])
		expect(t, name, j.verdict.Problems, test.want)
	}
	for layers, want := range map[int]string{1: missing, 2: ""} {
		c, truth, timeline := retriedPod()
		truth[1].Blobs, timeline.Pulls[1].Download = 1+layers, nil
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, "stargz"), sources: allSources}
		j.judgeBytes("stargz", c, truth[1], timeline.Pulls[1])
		expect(t, "stargz", j.verdict.Problems, want)
	}
	for name, want := range map[string]string{stack.Current: missing, "k8s-1.30": ""} {
		c, truth, timeline := retriedPod()
		c.storedBefore, timeline.Pulls[1].Download = true, nil
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, name), sources: allSources}
		j.judgeBytes(name, c, truth[1], timeline.Pulls[1])
		expect(t, name, j.verdict.Problems, want)
	}
}

// TestSharedBytesByStack checks the reported bytes of two pulls that share a layer of 512 KiB. The registry sent this
// layer to the first pull, as a real run on the stack "eks" showed.
func TestSharedBytesByStack(t *testing.T) {
	const first, second = 594_400, 66_542 // bytes of configuration and layers
	type reports [2]*agent.Download
	bytes := func(count int64) *agent.Download { return &agent.Download{Bytes: count} }
	for name, test := range map[string]struct {
		stack   string
		sources agentSources
		reports reports
		want    string
	}{
		"each its own":         {stack.Current, allSources, reports{bytes(592_896), bytes(66_000)}, ""},
		"shared in the second": {stack.Current, allSources, reports{bytes(68_096), bytes(590_800)}, ""},
		"shared in none": {stack.Current, allSources, reports{bytes(68_096), bytes(66_000)},
			"reports 134096"},
		"shared in both": {stack.Current, allSources, reports{bytes(592_896), bytes(590_800)},
			"1183696"},
		"one not reported":               {stack.Current, allSources, reports{bytes(592_896), nil}, "reports 592896"},
		"one not reported, some sources": {stack.Current, withoutEvents, reports{bytes(592_896), nil}, ""},
		"discarded, second absent":       {"eks", allSources, reports{bytes(592_896), nil}, ""},
		"discarded, first absent":        {"eks", allSources, reports{nil, bytes(66_000)}, ""},
		"discarded, both absent":         {"eks", allSources, reports{}, ""},
		"discarded, shared in none": {"eks", allSources, reports{bytes(68_096), bytes(66_000)},
			"reports 134096"},
		"discarded, shared in both": {"eks", allSources, reports{bytes(592_896), bytes(590_800)},
			"1183696"},
		"discarded, a part of one":        {"eks", allSources, reports{bytes(68_096), nil}, "reports only 68096"},
		"discarded, a part, some sources": {"eks", withoutEvents, reports{bytes(68_096), nil}, "only 68096"},
		"discarded, too many":             {"eks", allSources, reports{nil, bytes(662_349)}, "reports 662349"},
	} {
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: test.sources}
		hidden := !j.showsDownload(bench.Attempt{Blobs: 3})
		j.judgeSharedBytes([]sharingPull{
			{pod: "shares-3", sent: first + 703, blobs: first, hidden: hidden, reported: test.reports[0]},
			{pod: "shares-4", sent: second + 703, blobs: second, hidden: hidden, reported: test.reports[1]},
		})
		expect(t, name, j.verdict.Problems, test.want)
	}
}

// TestMirrorMustBeUsed checks that pulls from elsewhere are not conclusive on a stack with a mirror.
func TestMirrorMustBeUsed(t *testing.T) {
	for name, test := range map[string]struct {
		stack  string
		direct bool
		want   string
	}{
		"no mirror":         {stack.Current, true, ""},
		"from the mirror":   {"mirror", false, ""},
		"from the registry": {"mirror", true, "did not use the mirror"},
	} {
		c, truth, timeline := retriedPod()
		c.repair = func(context.Context) error { return nil }
		truth[1].Direct = test.direct
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: allSources}
		j.judgeImage(c, c.wants[0], truth, nearPulls, timeline)
		expect(t, name, j.verdict.Problems, test.want)
	}
}

// TestPluginTimeByStack checks the error bound of a pull of 1.022 s, with the values of a real run on Kubernetes 1.30.
// The kubelet's Event does not show whether a credential plugin used a part of this time.
func TestPluginTimeByStack(t *testing.T) {
	const ms = time.Millisecond
	truth := bench.Attempt{Pod: "pod", Container: "c1", RequestedAt: after(0), ReportedAt: after(1035 * ms),
		Call: bench.PullCall{Span: span(2*ms, 1033*ms)}, RegistryTime: span(4*ms, 1026*ms), ResolvedAt: after(12 * ms)}
	const tooLarge = "its evidence allows at most"
	for name, test := range map[string]struct {
		stack        string
		sources      agentSources
		reported     string // duration of the pull in seconds
		stated, want string // error bound, and part of the expected output
	}{
		"1.36, small error bound":           {stack.Current, withoutRuntime, "1.031", "0.3", ""},
		"1.36, whole pull":                  {stack.Current, withoutRuntime, "1.031", "1.031", tooLarge},
		"1.34, whole pull":                  {"k8s-1.34", withoutRuntime, "1.031", "1.031", tooLarge},
		"1.30, whole pull":                  {"k8s-1.30", withoutRuntime, "1.031", "1.031", ""},
		"1.30, small error bound":           {"k8s-1.30", withoutRuntime, "1.031", "0.3", ""},
		"1.30, more than the pull":          {"k8s-1.30", withoutRuntime, "1.031", "1.1", tooLarge},
		"1.30, wrong, small error bound":    {"k8s-1.30", withoutRuntime, "1.4", "0.3", "c1 pull"},
		"1.30, wrong, whole pull":           {"k8s-1.30", withoutRuntime, "1.6", "1.031", "c1 pull"},
		"1.30, whole pull, without Events":  {"k8s-1.30", withoutEvents, "1.031", "1.031", tooLarge},
		"1.30, all sources":                 {"k8s-1.30", allSources, "1.031", "1.031", ""},
		"1.30, all sources, wrong duration": {"k8s-1.30", allSources, "1.1", "1.031", "c1 pull"},
	} {
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: test.sources}
		pull := retriedPull(test.reported, test.stated)
		j.judgeLengths("c1", truth, neighborInstants{after(-20 * ms), after(1080 * ms)}, pull)
		expect(t, name, j.verdict.Wrong(), test.want)
	}
}

func retriedPull(duration, stated string) (pull agent.Pull) {
	_, _, timeline := retriedPod()
	pull = timeline.Pulls[1]
	pull.QueueSeconds, pull.DownloadedAt = "0.001", time.Time{}
	pull.PullSeconds, pull.Error = json.Number(duration), json.Number(stated)
	return pull
}

// Debian's containerd writes each image twice. If both Events about a pull are lost, the agent may report the outcome
// unknown, and it then cannot prove the loss of the Pulling Event.
func TestJudgeLostEventsOfDebian(t *testing.T) {
	const debian, newer = "containerd-1.6-debian", "containerd-1.6"
	lost := []string{"Pulled/c1", "Pulling/c1"}
	unknown := agent.Pull{Container: "c1", Outcome: agent.Unknown}
	joined := agent.Pull{Container: "c1", Outcome: agent.Joined}
	known := agent.Pull{Container: "c1", Outcome: agent.Downloaded, PullSeconds: "1"}
	for name, test := range map[string]struct {
		stack    string
		pull     agent.Pull
		reported []string
		want     string
	}{
		"unknown":                          {debian, unknown, lost[:1], ""},
		"unknown, with an unproven loss":   {debian, unknown, lost, "must report the lost Events"},
		"downloaded":                       {debian, known, lost, ""},
		"downloaded, without a loss":       {debian, known, lost[:1], "must report the lost Events"},
		"unknown, with a newer containerd": {newer, unknown, lost[:1], "must report the lost Events"},
	} {
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: allSources}
		j.judgeLosses(lost, nil, agent.Timeline{LostEvents: test.reported, Pulls: []agent.Pull{test.pull}},
			float64(len(test.reported)))
		expect(t, name, j.verdict.Problems, test.want)
	}
	for name, test := range map[string]struct {
		stack   string
		sources agentSources
		pull    agent.Pull
		want    string
	}{
		"unknown":                          {debian, withoutEvents, unknown, ""},
		"downloaded":                       {debian, withoutEvents, known, ""},
		"joined":                           {debian, withoutEvents, joined, "was downloaded"},
		"unknown, with the Event":          {debian, allSources, unknown, "was downloaded"},
		"unknown, with a newer containerd": {newer, withoutEvents, unknown, "was downloaded"},
	} {
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: test.sources}
		j.requireDownload("c1", test.pull)
		expect(t, name, j.verdict.Problems, test.want)
	}
}
