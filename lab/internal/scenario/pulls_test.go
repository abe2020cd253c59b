package scenario

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/stack"
)

// retriedPod returns a pod whose pull failed once, and the correct report of an agent about this pod.
func retriedPod() (pullCase, []bench.Attempt, agent.Timeline) {
	const image = "127.0.0.1:25000/ns/retried:1"
	c := plainCase("retried", image, agent.Downloaded).failsFirst(1, nil, "not_found")
	c.repair = nil
	c.failures = 1
	truth := []bench.Attempt{
		{Pod: "retried", Container: mainName, RequestedAt: after(0), ReportedAt: after(10 * time.Millisecond),
			Call: bench.PullCall{Span: span(0, 10*time.Millisecond), Failed: "not found"}},
		{Pod: "retried", Container: mainName, RequestedAt: after(10 * time.Second), ReportedAt: after(13 * time.Second),
			Call:         bench.PullCall{Span: span(11*time.Second, 13*time.Second)},
			RegistryTime: span(11*time.Second, 12990*time.Millisecond), Number: 1,
			ResolvedAt: after(11500 * time.Millisecond),
			Bytes:      600_000, BlobBytes: 599_000},
	}
	timeline := agent.Timeline{Name: "retried", State: agent.Ready, CreatedAt: after(0),
		SettledAt: after(13 * time.Second), TotalSeconds: "13",
		Phases: []agent.Phase{
			reported("kubelet_sync", 0, 10*time.Millisecond, 0),
			{Phase: "image_backoff", Container: mainName, StartAt: after(10 * time.Millisecond),
				EndAt: after(10 * time.Second), Seconds: "9.99", Error: "0.1"},
			reported("pull", 10*time.Second, 13*time.Second, 0)},
		Pulls: []agent.Pull{
			{Container: mainName, Image: image, Registry: "127.0.0.1:25000", Outcome: agent.Failed,
				Failure:     "not_found",
				RequestedAt: after(0), FinishedAt: after(10 * time.Millisecond)},
			{Container: mainName, Image: image, Registry: "127.0.0.1:25000", Outcome: agent.Downloaded, Attempt: 1,
				QueueSeconds: "1",
				PullSeconds:  "2", Error: "0.2", DownloadedAt: after(12990 * time.Millisecond),
				Download: &agent.Download{Bytes: 598_000}},
		}}
	return c, truth, timeline
}

var (
	allSources     = agentSources{events: true, runtime: true}
	withoutRuntime = agentSources{events: true}
	withoutEvents  = agentSources{runtime: true}
)

var nearPulls = neighborInstants{after(-100 * time.Millisecond), after(13400 * time.Millisecond)}

// pullVerdicts contains the cases of TestPullVerdict.
var pullVerdicts = map[string]struct {
	sources agentSources
	edit    func(*agent.Timeline)
	want    string // part of the expected output; empty if the verdict passes
}{
	"error bound larger than the evidence allows, without runtime": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].Error = "5"; t.Pulls[1].PullSeconds = "6" },
		"but its evidence allows at most"},
	"error bound larger than the evidence allows, without Events": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[1].Error = "13"; t.Pulls[1].PullSeconds = "6" },
		"but its evidence allows at most"},
	"duration within an allowed error bound": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[1].Error = "1.9"; t.Pulls[1].PullSeconds = "3.8" }, ""},
	"duration beyond an allowed error bound": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[1].Error = "1.9"; t.Pulls[1].PullSeconds = "3.96" }, "WRONG"},
	"back-off with an error bound larger than the evidence allows": {withoutRuntime,
		func(t *agent.Timeline) { t.Phases[1].Error = "9" }, "back-off: the agent states"},
	"unchanged":                  {allSources, func(*agent.Timeline) {}, ""},
	"unchanged, without runtime": {withoutRuntime, func(*agent.Timeline) {}, ""},
	"missing attempt": {allSources, func(t *agent.Timeline) { t.Pulls = t.Pulls[1:] },
		"reports 1"},
	"missing attempt, without runtime": {withoutRuntime, func(t *agent.Timeline) { t.Pulls = t.Pulls[1:] },
		""},
	"no attempts": {withoutRuntime, func(t *agent.Timeline) { t.Pulls = nil },
		"reports 0"},
	"additional attempt": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls = append(t.Pulls, t.Pulls[1]) }, "reports 3"},
	"wrong outcome": {allSources, func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Joined }, `"joined"`},
	"wrong outcome, without runtime": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Present }, `"present"`},
	"unknown outcome": {allSources, func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Unknown }, `"unknown"`},
	"unknown outcome, without runtime": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Unknown }, "the evidence shows the outcome"},
	// After a failed attempt, the runtime does not show which attempt downloaded the image.
	"unknown outcome, without Events": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Unknown }, ""},
	"wrong failure": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[0].Failure = "dns" }, `"dns"`},
	"no failure": {allSources, func(t *agent.Timeline) { t.Pulls[0].Failure = "" },
		"want failure not_found"},
	"failure of a successful attempt": {allSources, func(t *agent.Timeline) { t.Pulls[1].Failure = "dns" },
		"did not fail"},
	"queue too long": {allSources,
		func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "1.051" }, "WRONG"},
	"pull too long": {allSources,
		func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "2.051" }, "WRONG"},
	"pull too short": {allSources,
		func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "1.935" }, "WRONG"},
	"queue within its error bound": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "1.25" }, ""},
	"queue beyond its error bound": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "1.251" }, "WRONG"},
	"no pull time": {allSources,
		func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "" }, "nothing"},
	"no pull time, without runtime": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "" }, "evidence shows the pull's duration"},
	"no pull time, without Events": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "" }, ""},
	"no queue, without runtime": {withoutRuntime,
		func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "" }, "reported the wait in the queue"},
	"no queue, without Events": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "" }, ""},
	"no failure, without runtime": {withoutRuntime, func(t *agent.Timeline) { t.Pulls[0].Failure = "" },
		"want failure not_found"},
	"no failure, without Events": {withoutEvents, func(t *agent.Timeline) { t.Pulls[0].Failure = "" },
		""},
	"failure other, without Events": {withoutEvents,
		func(t *agent.Timeline) { t.Pulls[0].Failure = "other" }, "want failure not_found"},
	"too many bytes": {withoutRuntime, func(t *agent.Timeline) { t.Pulls[1].Download.Bytes = 600_001 }, "600001"},
	"too few bytes":  {allSources, func(t *agent.Timeline) { t.Pulls[1].Download.Bytes = 500_000 }, "500000"},
	"no bytes":       {allSources, func(t *agent.Timeline) { t.Pulls[1].Download = nil }, "download"},
	"other registry": {allSources,
		func(t *agent.Timeline) { t.Pulls[1].Registry = "docker.io" }, "docker.io"},
	"other container": {allSources, func(t *agent.Timeline) { t.Pulls = append(t.Pulls, agent.Pull{Container: "x"}) },
		"that did not happen"},
	"lost Event": {allSources,
		func(t *agent.Timeline) { t.LostEvents = []string{"Pulled/main"} }, "no Event was lost"},
	"back-off reported as pull": {allSources, func(t *agent.Timeline) { t.Phases[1].Phase = "pull" },
		"WRONG"},
	"last byte too late": {allSources, func(t *agent.Timeline) {
		t.Pulls[1].DownloadedAt = after(13100 * time.Millisecond)
	}, "last byte"},
}

// TestDownloadedAt checks the reported time of the last byte. The registry sent the last byte at 12.99 s.
func TestDownloadedAt(t *testing.T) {
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		stored     time.Duration // when containerd stored the last layer; zero if unknown
		downloaded time.Duration // as reported by the agent
		want       string
	}{
		"unknown, on time":               {0, 13050 * ms, ""},
		"unknown, too late":              {0, 13100 * ms, "last byte"},
		"stored late, reported late":     {13600 * ms, 13610 * ms, ""},
		"stored late, reported on time":  {13600 * ms, 12995 * ms, ""},
		"stored late, reported too late": {13600 * ms, 13710 * ms, "needed 0.610 s to store the content"},
		"stored late, too early":         {13600 * ms, 12930 * ms, "last byte"},
		"stored at once, too late":       {12995 * ms, 13100 * ms, "last byte"},
	} {
		_, truth, timeline := retriedPod()
		a, pull := truth[1], timeline.Pulls[1]
		pull.DownloadedAt = after(test.downloaded)
		if test.stored > 0 {
			a.StoredAt = after(test.stored)
		}
		j := &pullJudge{verdict: &Verdict{}, stack: currentStack(t), sources: allSources}
		j.judgeLengths("retried", a, nearPulls, pull)
		expect(t, name, j.verdict.Wrong(), test.want)
	}
}

func TestPullVerdict(t *testing.T) {
	for name, test := range pullVerdicts {
		c, truth, timeline := retriedPod()
		c.repair = func(context.Context) error { return nil }
		test.edit(&timeline)
		j := &pullJudge{verdict: &Verdict{}, stack: currentStack(t), sources: test.sources}
		j.judgeImage(c, c.wants[0], truth, nearPulls, timeline)
		j.judgeStartUp(c, [][]bench.Attempt{truth}, nearPulls, timeline)
		var out bytes.Buffer
		j.verdict.Print(&out)
		if j.verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, j.verdict.Failed(), out.String())
		}
	}
}

// TestJudgePullWithoutEvents checks reports of an agent without Events. The pod has one container, and its image is
// pulled once. The runtime's stores therefore show more than after a failed attempt.
func TestJudgePullWithoutEvents(t *testing.T) {
	const debian = "containerd-1.6-debian"
	unknown := func(t *agent.Timeline) { t.Pulls[0].Outcome, t.Pulls[0].PullSeconds = agent.Unknown, "" }
	noDuration := func(t *agent.Timeline) { t.Pulls[0].PullSeconds = "" }
	for name, test := range map[string]struct {
		stack   string
		atLeast time.Duration
		edit    func(*agent.Timeline)
		want    string
	}{
		"unchanged":                   {stack.Current, time.Second, func(*agent.Timeline) {}, ""},
		"unknown outcome":             {stack.Current, time.Second, unknown, "the evidence shows the outcome"},
		"unknown outcome, two writes": {debian, time.Second, unknown, ""},
		"no queue": {stack.Current, time.Second, func(t *agent.Timeline) { t.Pulls[0].QueueSeconds = "" },
			""},
		"no duration":                 {stack.Current, time.Second, noDuration, "evidence shows the pull's duration"},
		"no duration, two writes":     {debian, time.Second, noDuration, "evidence shows the pull's duration"},
		"no duration of a short pull": {stack.Current, 0, noDuration, ""},
	} {
		_, truth, timeline := retriedPod()
		truth, timeline.Pulls = truth[1:], timeline.Pulls[1:]
		c := plainCase("cold", timeline.Pulls[0].Image, agent.Downloaded)
		c.atLeast = test.atLeast
		test.edit(&timeline)
		j := &pullJudge{verdict: &Verdict{}, stack: stackNamed(t, test.stack), sources: agentSources{runtime: true}}
		j.judgeImage(c, c.wants[0], truth, neighborInstants{after(-100 * time.Millisecond),
			after(13400 * time.Millisecond)},
			timeline)
		if got := strings.Join(j.verdict.Problems, "\n"); (got != "") != (test.want != "") ||
			!strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestPullCaseIsNotConclusive(t *testing.T) {
	for name, edit := range map[string]func(*pullCase, *[]bench.Attempt){
		"no failure":       func(_ *pullCase, truth *[]bench.Attempt) { *truth = (*truth)[1:] },
		"no success":       func(_ *pullCase, truth *[]bench.Attempt) { *truth = (*truth)[:1] },
		"no fault applied": func(c *pullCase, _ *[]bench.Attempt) { c.cutOff = true },
		"too fast":         func(c *pullCase, _ *[]bench.Attempt) { c.atLeast = time.Minute },
		"present":          func(c *pullCase, _ *[]bench.Attempt) { c.wants[0].outcome = agent.Present },
	} {
		c, truth, _ := retriedPod()
		if c.wants[0].whyInconclusive(c, truth) != "" {
			t.Fatal("the unchanged case is not conclusive")
		}
		if edit(&c, &truth); c.wants[0].whyInconclusive(c, truth) == "" {
			t.Errorf("%s: the case counts as conclusive", name)
		}
	}
}

func TestJudgeLosses(t *testing.T) {
	event := func(reason, container string) corev1.Event {
		return corev1.Event{Reason: reason,
			InvolvedObject: corev1.ObjectReference{FieldPath: "spec.containers{" + container + "}"}}
	}
	stored := []corev1.Event{event("Pulling", "c1"), event("Pulled", "c1"), event("Pulling", "c2")}
	made := []bench.KubeletEvent{
		{Container: "c1", Reason: "Pulling"}, {Container: "c1", Reason: "Pulled"}, {Container: "c1", Reason: "Created"},
		{Container: "c2", Reason: "Pulling"}, {Container: "c2", Reason: "Pulled"}, {Container: "c3", Reason: "Pulling"},
		{Container: "c3", Reason: "Pulled"},
	}
	lost := lostOf(made, stored)
	judge := func(of agentSources, lost []string, text string, counted float64) *Verdict {
		v := &Verdict{Compared: 1}
		j := pullJudge{verdict: v, stack: currentStack(t), sources: of}
		j.judgeLosses(lost, stored, agent.Timeline{LostEvents: strings.Fields(text)}, counted)
		return v
	}
	full := agentSources{events: true, runtime: true}
	for text, want := range map[string]bool{
		"Pulled/c2 Pulling/c3 Pulled/c3": false,
		"":                               true,
		"Pulled/c2 Pulled/c3":            true, // the report lacks the lost Event Pulling/c3
		"Pulled/c1 Pulled/c2 Pulling/c3 Pulled/c3":  true,
		"Pulled/c2 Pulling/c2 Pulling/c3 Pulled/c3": true,
		"Pulled/c2 Pulling/c3 Pulled/c3 Created/c2": true,
	} {
		if v := judge(full, lost, text, 3); v.Failed() != want {
			t.Errorf("%q: %q", text, v.Problems)
		}
	}
	if !judge(full, lost, "Pulled/c2 Pulling/c3 Pulled/c3", 2).Failed() {
		t.Error("a wrong count passes")
	}
	if !judge(full, nil, "", 0).Failed() {
		t.Error("a run without losses passes")
	}
	if v := judge(agentSources{events: true}, lost, "Pulled/c2 Pulled/c3", 2); v.Failed() {
		t.Errorf("the Event that proves Pulling is lost as well, but the verdict is %q", v.Problems)
	}
	if !judge(agentSources{events: true}, lost, "Pulled/c2 Pulling/c3 Pulled/c3", 3).Failed() {
		t.Error("a reported loss without evidence passes")
	}
	if v := judge(agentSources{runtime: true}, lost, "", 0); v.Failed() {
		t.Errorf("an agent without Events reports no losses, but the verdict is %q", v.Problems)
	}
	if !judge(agentSources{runtime: true}, lost, "Pulled/c2", 1).Failed() {
		t.Error("an agent without Events reports a loss, which passes")
	}
}

func TestLivePulls(t *testing.T) {
	const image = "r/a:1"
	pulling := agent.Live{Namespace: "ns", Pod: "a", Container: mainName, Image: image, Outcome: agent.Pulling}
	open := func(phase string, from time.Duration) []agent.Timeline {
		return []agent.Timeline{{Namespace: "ns", Name: "a", Phases: []agent.Phase{
			{Phase: phase, Container: mainName, StartAt: after(from), Open: true}}}}
	}
	inCall := open("pull", 2*time.Second)
	for name, test := range map[string]struct {
		items    []agent.Live
		starting []agent.Timeline
		at       time.Duration
		want     string
	}{
		"reported":          {[]agent.Live{pulling}, inCall, 2 * time.Second, ""},
		"not reported":      {nil, inCall, 2 * time.Second, "never did so"},
		"reported too late": {[]agent.Live{pulling}, inCall, time.Minute, "that was not in progress"},
		"invented": {[]agent.Live{pulling, {Namespace: "ns", Pod: "b", Image: image, Outcome: agent.Pulling}},
			inCall, 2 * time.Second, "that was not in progress"},
		"too many bytes": {[]agent.Live{pulling,
			{Namespace: "ns", Pod: "a", Container: mainName, Image: image, Outcome: agent.Pulling,
				DoneBytes: 2, TotalBytes: 1}}, inCall, 2 * time.Second, "2 of 1 bytes"},
		"no phase pull": {
			[]agent.Live{pulling}, open("unattributed", 0), 2 * time.Second, "never reported the phase",
		},
		"pull in the queue": {[]agent.Live{pulling}, open("pull", time.Second), 2 * time.Second,
			"without a running call"},
		"unpack in the queue": {[]agent.Live{pulling}, open("unpack", time.Second), 2 * time.Second,
			"without a running call"},
		"pull after the call": {[]agent.Live{pulling}, inCall, 12 * time.Second, "without a running call"},
	} {
		j := &pullJudge{bench: &bench.Bench{Namespace: "ns"}, verdict: &Verdict{}, stack: currentStack(t),
			sources: agentSources{events: true, runtime: true}}
		j.going = []realPull{{pod: "a", container: mainName, image: image, outcome: agent.Pulling,
			span: span(time.Second, 5*time.Second), called: span(1500*time.Millisecond, 5*time.Second)}}
		j.verdict.Compared = 1
		j.judgeLive(&liveWatch{responses: []liveResponse{{query: span(test.at, test.at), items: test.items,
			starting: test.starting, startingAt: span(test.at, test.at)}}})
		if got := strings.Join(j.verdict.Problems, "\n"); j.verdict.Failed() != (test.want != "") ||
			!strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
