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
)

// retried is a pod whose pull failed once, and the report of a correct agent about it.
func retried() (pullCase, []bench.Attempt, agent.Timeline) {
	const image = "127.0.0.1:25000/ns/retried:1"
	c := plain("retried", image, agent.Downloaded).failsFirst(1, nil, "not_found")
	c.mend = nil
	c.failures = 1
	truth := []bench.Attempt{
		{Pod: "retried", Container: mainName, RequestedAt: after(0), ReportedAt: after(10 * time.Millisecond),
			Call: bench.PullCall{Span: span(0, 10*time.Millisecond), Failed: "not found"}},
		{Pod: "retried", Container: mainName, RequestedAt: after(10 * time.Second), ReportedAt: after(13 * time.Second),
			Call:  bench.PullCall{Span: span(11*time.Second, 13*time.Second)},
			Asked: span(11*time.Second, 12990*time.Millisecond), Number: 1, ResolvedAt: after(11500 * time.Millisecond),
			Bytes: 600_000, BlobBytes: 599_000},
	}
	timeline := agent.Timeline{Name: "retried", State: agent.Ready, CreatedAt: after(0),
		SettledAt: after(13 * time.Second), TotalSeconds: "13",
		Phases: []agent.Phase{
			reported("kubelet_sync", 0, 10*time.Millisecond, 0),
			{Phase: "image_backoff", Container: mainName, StartAt: after(10 * time.Millisecond), EndAt: after(10 * time.Second), Seconds: "9.99", Error: "0.1"},
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

func TestPullVerdict(t *testing.T) {
	full, blind, deaf := view{events: true, runtime: true}, view{events: true}, view{runtime: true}
	near := neighbors{after(-100 * time.Millisecond), after(13400 * time.Millisecond)}
	for name, test := range map[string]struct {
		view view
		edit func(*agent.Timeline)
		want string // in the output; empty if it passes
	}{
		"an error too large to be true, without runtime": {blind,
			func(t *agent.Timeline) { t.Pulls[1].Error = "5"; t.Pulls[1].PullSeconds = "6" },
			"but its evidence allows at most"},
		"an error too large to be true, without Events": {deaf,
			func(t *agent.Timeline) { t.Pulls[1].Error = "13"; t.Pulls[1].PullSeconds = "6" },
			"but its evidence allows at most"},
		"an error as large as evidence leaves": {deaf,
			func(t *agent.Timeline) { t.Pulls[1].Error = "1.9"; t.Pulls[1].PullSeconds = "3.8" }, ""},
		"beyond it": {deaf,
			func(t *agent.Timeline) { t.Pulls[1].Error = "1.9"; t.Pulls[1].PullSeconds = "3.96" }, "WRONG"},
		"a back-off of any length": {blind, func(t *agent.Timeline) { t.Phases[1].Error = "9" },
			"back-off: the agent states"},
		"all right":              {full, func(*agent.Timeline) {}, ""},
		"all right, seeing less": {blind, func(*agent.Timeline) {}, ""},
		"an attempt missing": {full, func(t *agent.Timeline) { t.Pulls = t.Pulls[1:] },
			"reports 1"},
		"an attempt not seen": {blind, func(t *agent.Timeline) { t.Pulls = t.Pulls[1:] },
			""},
		"nothing told": {blind, func(t *agent.Timeline) { t.Pulls = nil },
			"reports 0"},
		"an attempt invented": {blind, func(t *agent.Timeline) { t.Pulls = append(t.Pulls, t.Pulls[1]) }, "reports 3"},
		"a wrong outcome":     {full, func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Joined }, `"joined"`},
		"a wrong outcome, blind": {blind,
			func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Present }, `"present"`},
		"unknown": {full, func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Unknown }, `"unknown"`},
		"unknown, without runtime": {blind,
			func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Unknown }, "there is evidence of it"},
		// An attempt before had failed.
		"unknown, without Events": {deaf, func(t *agent.Timeline) { t.Pulls[1].Outcome = agent.Unknown }, ""},
		"a wrong class": {blind,
			func(t *agent.Timeline) { t.Pulls[0].Failure = "dns" }, `"dns"`},
		"no class": {full, func(t *agent.Timeline) { t.Pulls[0].Failure = "" },
			"the failure is not_found"},
		"a class of a success": {full, func(t *agent.Timeline) { t.Pulls[1].Failure = "dns" },
			"did not fail"},
		"a queue too long": {full,
			func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "1.051" }, "WRONG"},
		"a pull too long": {full,
			func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "2.051" }, "WRONG"},
		"a pull too short": {full,
			func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "1.935" }, "WRONG"},
		"a queue within error": {blind,
			func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "1.25" }, ""},
		"a queue beyond error": {blind,
			func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "1.251" }, "WRONG"},
		"no pull time": {full,
			func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "" }, "nothing"},
		"no pull time, without runtime": {blind,
			func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "" }, "evidence of the pull's duration"},
		"no pull time, without Events": {deaf,
			func(t *agent.Timeline) { t.Pulls[1].PullSeconds = "" }, ""},
		"no queue, without runtime": {blind,
			func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "" }, "reported the wait in the queue"},
		"no queue, without Events": {deaf,
			func(t *agent.Timeline) { t.Pulls[1].QueueSeconds = "" }, ""},
		"no class, without runtime": {blind, func(t *agent.Timeline) { t.Pulls[0].Failure = "" },
			"the failure is not_found"},
		"no class, without Events": {deaf, func(t *agent.Timeline) { t.Pulls[0].Failure = "" },
			""},
		"a class that says nothing, without Events": {deaf,
			func(t *agent.Timeline) { t.Pulls[0].Failure = "other" }, "the failure is not_found"},
		"too many bytes": {blind, func(t *agent.Timeline) { t.Pulls[1].Download.Bytes = 600_001 }, "600001"},
		"too few bytes":  {full, func(t *agent.Timeline) { t.Pulls[1].Download.Bytes = 500_000 }, "500000"},
		"no bytes":       {full, func(t *agent.Timeline) { t.Pulls[1].Download = nil }, "download"},
		"another registry": {full,
			func(t *agent.Timeline) { t.Pulls[1].Registry = "docker.io" }, "docker.io"},
		"another container": {full, func(t *agent.Timeline) { t.Pulls = append(t.Pulls, agent.Pull{Container: "x"}) },
			"that did not happen"},
		"a loss": {full,
			func(t *agent.Timeline) { t.LostEvents = []string{"Pulled/main"} }, "no Event was lost"},
		"back-off told as pull": {full, func(t *agent.Timeline) { t.Phases[1].Phase = "pull" },
			"WRONG"},
		"the last byte late": {full, func(t *agent.Timeline) {
			t.Pulls[1].DownloadedAt = after(13100 * time.Millisecond)
		}, "last byte"},
	} {
		c, truth, timeline := retried()
		c.mend = func(context.Context) error { return nil }
		test.edit(&timeline)
		j := &pullJudge{verdict: &Verdict{}, view: test.view}
		j.judgeImage(c, c.wants[0], truth, near, timeline)
		j.judgeWholes(c, [][]bench.Attempt{truth}, near, timeline)
		var out bytes.Buffer
		j.verdict.Print(&out)
		if j.verdict.Failed() != (test.want != "") || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: failed %v\n%s", name, j.verdict.Failed(), out.String())
		}
	}
}

// TestWhatStoresTellIsWanted judges an image that the only attempt pulled, for a pod with one container.
func TestWhatStoresTellIsWanted(t *testing.T) {
	for name, test := range map[string]struct {
		atLeast time.Duration
		edit    func(*agent.Timeline)
		want    string
	}{
		"all of it": {time.Second, func(*agent.Timeline) {}, ""},
		"unknown": {time.Second, func(t *agent.Timeline) { t.Pulls[0].Outcome = agent.Unknown },
			"there is evidence of it"},
		"no queue": {time.Second, func(t *agent.Timeline) { t.Pulls[0].QueueSeconds = "" }, ""},
		"no length": {time.Second, func(t *agent.Timeline) { t.Pulls[0].PullSeconds = "" },
			"evidence of the pull's duration"},
		"no length of a short one": {0, func(t *agent.Timeline) { t.Pulls[0].PullSeconds = "" }, ""},
	} {
		_, truth, timeline := retried()
		truth, timeline.Pulls = truth[1:], timeline.Pulls[1:]
		c := plain("cold", timeline.Pulls[0].Image, agent.Downloaded)
		c.atLeast = test.atLeast
		test.edit(&timeline)
		j := &pullJudge{verdict: &Verdict{}, view: view{runtime: true}}
		j.judgeImage(c, c.wants[0], truth, neighbors{after(-100 * time.Millisecond), after(13400 * time.Millisecond)},
			timeline)
		if got := strings.Join(j.verdict.Problems, "\n"); (got != "") != (test.want != "") ||
			!strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestFaultsThatDidNotHappenProveNothing(t *testing.T) {
	for name, edit := range map[string]func(*pullCase, *[]bench.Attempt){
		"no failure":   func(_ *pullCase, truth *[]bench.Attempt) { *truth = (*truth)[1:] },
		"no success":   func(_ *pullCase, truth *[]bench.Attempt) { *truth = (*truth)[:1] },
		"no fault hit": func(c *pullCase, _ *[]bench.Attempt) { c.cutOff = true },
		"too fast":     func(c *pullCase, _ *[]bench.Attempt) { c.atLeast = time.Minute },
		"was there":    func(c *pullCase, _ *[]bench.Attempt) { c.wants[0].outcome = agent.Present },
	} {
		c, truth, _ := retried()
		if c.wants[0].proves(c, truth) != "" {
			t.Fatal("the example proves nothing")
		}
		if edit(&c, &truth); c.wants[0].proves(c, truth) == "" {
			t.Errorf("%s passes", name)
		}
	}
}

func TestLossesAreCountedExactly(t *testing.T) {
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
	judge := func(of view, lost []string, text string, counted float64) *Verdict {
		v := &Verdict{Compared: 1}
		j := pullJudge{verdict: v, view: of}
		j.judgeLosses(lost, stored, agent.Timeline{LostEvents: strings.Fields(text)}, counted)
		return v
	}
	full := view{events: true, runtime: true}
	for text, want := range map[string]bool{
		"Pulled/c2 Pulling/c3 Pulled/c3": false,
		"":                               true,
		"Pulled/c2 Pulled/c3":            true, // Pulled proves Pulling
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
	if v := judge(view{events: true}, lost, "Pulled/c2 Pulled/c3", 2); v.Failed() {
		t.Errorf("what proves Pulling is lost, too: %q", v.Problems)
	}
	if !judge(view{events: true}, lost, "Pulled/c2 Pulling/c3 Pulled/c3", 3).Failed() {
		t.Error("a loss that nothing proves passes")
	}
	if v := judge(view{runtime: true}, lost, "", 0); v.Failed() {
		t.Errorf("who asks for no Events misses none: %q", v.Problems)
	}
	if !judge(view{runtime: true}, lost, "Pulled/c2", 1).Failed() {
		t.Error("a loss of what nobody waited for passes")
	}
}

func TestLivePulls(t *testing.T) {
	const image = "r/a:1"
	pulling := agent.Live{Namespace: "ns", Pod: "a", Container: mainName, Image: image, Outcome: agent.Pulling}
	for name, test := range map[string]struct {
		items []agent.Live
		at    time.Duration
		want  string
	}{
		"told":          {[]agent.Live{pulling}, 2 * time.Second, ""},
		"not told":      {nil, 2 * time.Second, "never reported"},
		"told too late": {[]agent.Live{pulling}, time.Minute, "that was not in progress"},
		"invented": {[]agent.Live{pulling, {Namespace: "ns", Pod: "b", Image: image, Outcome: agent.Pulling}},
			2 * time.Second, "that was not in progress"},
		"too many bytes": {[]agent.Live{pulling,
			{Namespace: "ns", Pod: "a", Container: mainName, Image: image, Outcome: agent.Pulling,
				DoneBytes: 2, TotalBytes: 1}}, 2 * time.Second, "2 of 1 bytes"},
	} {
		j := &pullJudge{bench: &bench.Bench{Namespace: "ns"}, verdict: &Verdict{},
			view: view{events: true, runtime: true}}
		j.going = []goingOn{{pod: "a", container: mainName, image: image, outcome: agent.Pulling,
			span: span(time.Second, 5*time.Second)}}
		j.verdict.Compared = 1
		j.judgeLive(&liveWatch{answers: []liveAnswer{{asked: span(test.at, test.at), items: test.items}}})
		if got := strings.Join(j.verdict.Problems, "\n"); j.verdict.Failed() != (test.want != "") ||
			!strings.Contains(got, test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}
