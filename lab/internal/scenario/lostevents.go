package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// lostEvents starts one pod with ten containers. The node must pull a different image for each container. The kubelet
// creates four Events for each container. After the first 25 Events about one pod, the kubelet's client drops most
// Events. So the Events about the pulls of the last containers are lost.
func lostEvents(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	const count = 10
	p, err := watchPulls(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.checkAgents(v)) }()
	c := pullCase{pod: "pod"}
	for i := range count {
		name := fmt.Sprintf("c%d", i+1)
		image, err := p.pushColdImage(ctx, name)
		if err != nil {
			return err
		}
		if err := b.Break(ctx, name, registry.Rule{BytesPerSecond: 2 * slowPull}); err != nil {
			return err
		}
		c.spec.Containers = append(c.spec.Containers, corev1.Container{Name: name, Image: image})
		c.wants = append(c.wants, wantedPull{container: name, image: image, outcome: agent.Downloaded})
	}
	if err := p.awaitAgents(ctx); err != nil {
		return err
	}
	before := make([]float64, len(p.judges))
	for i, j := range p.judges {
		if before[i], err = j.lossesCounted(ctx); err != nil {
			return err
		}
	}
	if err := p.start(ctx, c); err != nil {
		return err
	}
	for i, j := range p.judges {
		if err := j.judgeLost(ctx, c, before[i]); err != nil {
			return err
		}
	}
	return nil
}

// judgeLost checks the agent's report about the pod. judgeLost also checks by how much the agent's counter of lost
// Events has grown.
func (j *pullJudge) judgeLost(ctx context.Context, c pullCase, before float64) error {
	timeline, err := j.settledTimeline(ctx, c.pod)
	if err != nil {
		return err
	}
	after, err := j.lossesCounted(ctx)
	if err != nil {
		return err
	}
	made, err := j.collector.Events()
	if err != nil {
		return err
	}
	stored, err := j.bench.Kube.Events(ctx, j.bench.Namespace)
	if err != nil {
		return err
	}
	lost := lostOf(made, stored)
	j.judgeLosses(lost, stored, timeline, after-before)
	return j.judgeLossy(ctx, c, lost, timeline)
}

// lossesCounted returns the agent's own counter of lost Events.
func (j *pullJudge) lossesCounted(ctx context.Context) (float64, error) {
	text, err := j.agent.Agent.Metrics(ctx)
	if err != nil {
		return 0, err
	}
	return metrics.Sum(text, "podlapse_events_lost_total")
}

const (
	pullingReason = "Pulling"
	pulledReason  = "Pulled"
)

// lostOf returns the lost Events about pulls. The kubelet created these Events, but the API server has not stored them.
// Each result has the form reason/container.
func lostOf(made []bench.KubeletEvent, stored []corev1.Event) (events []string) {
	for _, event := range made {
		if (event.Reason == pullingReason || event.Reason == pulledReason) &&
			!has(stored, event.Reason, event.Container) {
			events = append(events, event.Reason+"/"+event.Container)
		}
	}
	slices.Sort(events)
	return slices.Compact(events)
}

func has(stored []corev1.Event, reason, container string) bool {
	return slices.ContainsFunc(stored, func(e corev1.Event) bool {
		return e.Reason == reason && e.InvolvedObject.FieldPath == "spec.containers{"+container+"}"
	})
}

// judgeLosses checks which Events about pulls the agent reports as lost. If the agent can prove that an Event is lost,
// the agent must report this Event. The agent must not report any other Event as lost.
func (j *pullJudge) judgeLosses(lost []string, stored []corev1.Event, timeline agent.Timeline, counted float64) {
	v := j.verdict
	for _, reason := range [...]string{pullingReason, pulledReason} {
		if !slices.ContainsFunc(lost, func(event string) bool { return strings.HasPrefix(event, reason+"/") }) {
			v.Problem("the kubelet dropped no %s Event, want at least one: the scenario is not conclusive", reason)
		}
	}
	for _, text := range timeline.LostEvents {
		v.Compared++
		reason, container, _ := strings.Cut(text, "/")
		if has(stored, reason, container) {
			v.Problem("the agent reports the Event %s as lost, but the API server has this Event", text)
		}
	}
	// If the image may have been pulled more than once, the agent cannot prove that the kubelet pulled the image.
	provable := slices.DeleteFunc(j.sources.provableLosses(lost), func(event string) bool {
		reason, container, _ := strings.Cut(event, "/")
		return reason == pullingReason && slices.Contains(lost, pulledReason+"/"+container) &&
			slices.ContainsFunc(timeline.PullsOf(container), j.mayBePulledTwice)
	})
	if reported := slices.Sorted(slices.Values(timeline.LostEvents)); !slices.Equal(provable, reported) {
		v.Problem("the agent must report the lost Events %q, but reports %q", provable, reported)
	}
	if counted != float64(len(provable)) {
		v.Problem("podlapse_events_lost_total must grow by %d, but grew by %v", len(provable), counted)
	}
	v.Note("for the pulls of %d containers, %d Events are lost; the agent's evidence proves the loss of %d of "+
		"them: %s", len(timeline.Pulls), len(lost),
		len(provable), strings.Join(lost, ", "))
}

// provableLosses returns the lost Events whose loss an agent can prove. An agent that does not watch Events cannot
// prove any loss. For an agent that does not read the runtime, only the Pulled Event shows that the kubelet pulled an
// image. If the Pulled Event is also lost, this agent cannot prove the loss of the Pulling Event.
func (s agentSources) provableLosses(lost []string) (known []string) {
	for _, event := range lost {
		reason, container, _ := strings.Cut(event, "/")
		if s.events && (s.runtime || reason == pulledReason || !slices.Contains(lost, pulledReason+"/"+container)) {
			known = append(known, event)
		}
	}
	return known
}

// judgeLossy requires that the agent reports each pull. If the Pulled Event of a pull is lost, judgeLossy judges this
// pull as if the agent did not watch Events.
func (j *pullJudge) judgeLossy(ctx context.Context, c pullCase, lost []string, timeline agent.Timeline) error {
	j.verdict.Contract(timeline)
	of := j.sources
	defer func() { j.sources = of }()
	for _, want := range c.wants {
		truth, err := j.attemptsOf(ctx, c.pod, want)
		if err != nil {
			return err
		}
		pulls := timeline.PullsOf(want.container)
		if len(truth) != 1 || len(pulls) != 1 {
			j.verdict.Problem("%s: the logs show %d pulls, and the agent reports %d, want one pull in both",
				want.container, len(truth), len(pulls))
			continue
		}
		j.sources = agentSources{events: of.events && !slices.Contains(lost, pulledReason+"/"+want.container),
			runtime: of.runtime}
		log, err := j.runtimeLog(timeline)
		if err != nil {
			return err
		}
		j.requireDownload(want.container, pulls[0])
		j.judgeWords(want.container, want, want.outcome, pulls[0])
		j.judgeBlame(want.container, want.container, truth, timeline)
		j.judgeLengths(want.container, truth[0], neighborsIn(log, c.spec, want.container), pulls[0])
	}
	j.noteUnseen()
	return nil
}

// requireDownload requires that the agent reports a download and its duration, if the agent has evidence. The runtime's
// data proves the download, unless mayBePulledTwice returns true.
func (j *pullJudge) requireDownload(container string, pull agent.Pull) {
	if j.sources == (agentSources{runtime: true}) && j.mayBePulledTwice(pull) {
		j.verdict.Note("%s: the agent does not know whether the runtime pulled the image once or twice", container)
		return
	}
	if j.sources.runtime && pull.Outcome != agent.Downloaded {
		j.verdict.Problem("%s: the image was downloaded, but the agent reports %q", container, pull.Outcome)
	}
	if j.sources != (agentSources{}) && pull.PullSeconds == "" {
		j.verdict.Problem("%s: the agent does not report the duration of the pull", container)
	}
}
