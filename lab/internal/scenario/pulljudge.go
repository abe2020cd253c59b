package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// unseenPull is a pull whose true duration is from the runtime's log, because the registry's log shows less time.
type unseenPull struct {
	what string
	took time.Duration // duration of the pull in the runtime's log minus its duration in the registry's log
}

// seenByRegistry helps to decide which log contains the true duration of a pull. containerd's log is the truth in two
// cases: the registry received no request, or the pull is longer in containerd's log by more than seenByRegistry. Only
// containerd's log includes the resolution of the name and the unpacking. In all other cases, the registry's log is the
// truth. But if the two logs differ by at most seenByRegistry, a duration that agrees with containerd's log must also
// be accepted. Therefore, seenByRegistry is only half of the largest accepted difference.
const seenByRegistry = exact / 2

// judgePulls compares the agent's report about a pod's pulls with the logs of the kubelet, containerd and the registry.
func (j *pullJudge) judgePulls(ctx context.Context, c pullCase, timeline agent.Timeline) error {
	truths := make([][]bench.Attempt, len(c.wants))
	for i, want := range c.wants {
		var err error
		if truths[i], err = j.attemptsOf(ctx, c.pod, want); err != nil {
			return err
		}
	}
	log, err := j.runtimeLog(timeline)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for i, want := range c.wants {
		j.judgeImage(c, want, truths[i], neighborsIn(log, c.spec, want.container), timeline)
	}
	j.judgeStartUp(c, truths, neighborsIn(log, c.spec, c.wants[0].container), timeline)
	return j.judgePlugin(c, timeline)
}

// attemptsOf returns the attempts to pull one image for one pod. The kubelet and containerd do not write their logs at
// the same instant, so attemptsOf waits until both logs contain the attempts.
func (j *pullJudge) attemptsOf(ctx context.Context, pod string, want wantedPull) (mine []bench.Attempt, err error) {
	err = j.bench.Node.Report.Wait(ctx, "the logs about "+want.image, 5*time.Second, 50*time.Millisecond,
		func(ctx context.Context) error {
			all, err := j.collector.Attempts(ctx, want.image)
			if err == nil && want.before != "" {
				var earlier []bench.Attempt
				earlier, err = j.collector.Attempts(ctx, want.before)
				all = slices.Concat(earlier, all)
			}
			mine = bench.Of(all, pod, want.kubeletsName())
			return err
		})
	return mine, err
}

// judgeImage checks the agent's entire report about one image of a pod.
func (j *pullJudge) judgeImage(c pullCase, want wantedPull, truth []bench.Attempt, near neighborInstants,
	timeline agent.Timeline) {
	v, what := j.verdict, c.pod
	if want.container != mainName {
		what += " " + want.container
	}
	problem := want.whyInconclusive(c, truth)
	if problem == "" && j.stack.Containerd.Mirror && slices.ContainsFunc(truth,
		func(a bench.Attempt) bool { return a.Direct }) {
		problem = "the node did not use the mirror"
	}
	if problem != "" {
		v.Problem("%s: %s: the scenario is not conclusive", what, problem)
		return
	}
	j.judgeBlame(what, want.container, truth, timeline)
	pulls := timeline.PullsOf(want.container)
	count := max(len(truth), 1) // the agent reports one pull even if the image was present
	if len(pulls) == 0 || len(pulls) > count || j.sources.isFull() && len(pulls) < count {
		v.Problem("%s: the agent must report %d attempts, but reports %d", what, count, len(pulls))
	}
	for i, pull := range pulls {
		last := i == len(pulls)-1 && !c.endless()
		at := i
		if last {
			at = count - 1 // the last attempt, because the agent might have missed earlier attempts
		}
		if at >= count {
			return
		}
		name := what
		if count > 1 {
			name = fmt.Sprintf("%s, attempt %d", what, at+1)
		}
		if j.sources.isFull() && pull.Attempt != at {
			v.Problem("%s: the agent reports the wrong number of the attempt, counted from 0: %d", name, pull.Attempt)
		}
		outcome := agent.Failed
		if last {
			outcome = want.outcome
		}
		attempted := want
		if !last {
			attempted.image = want.firstImage()
		}
		j.judgeWords(name, attempted, outcome, pull)
		if last {
			j.judgeReported(name, c, want, count, pull)
		}
		if at < len(truth) {
			near := near
			if at > 0 {
				near.before = truth[at-1].ReportedAt
			}
			j.judgeLengths(name, truth[at], near, pull)
			j.judgeBytes(name, c, truth[at], pull)
			j.going = append(j.going, realPull{pod: c.pod, container: want.container, image: attempted.image,
				outcome: agent.Pulling,
				span:    bench.Span{StartAt: truth[at].RequestedAt, EndAt: truth[at].ReportedAt},
				called:  truth[at].Call.Span})
		} else {
			j.judgeNoPull(name, pull)
		}
	}
}

// whyInconclusive returns the reason why the case is not conclusive, or an empty string if the case is conclusive.
func (w wantedPull) whyInconclusive(c pullCase, truth []bench.Attempt) string {
	failures, hit := 0, false
	for _, a := range truth {
		hit = hit || a.Hit
		if a.Failed() {
			failures++
		}
	}
	switch pulled := len(truth) - failures; {
	case w.outcome == agent.Present && len(truth) > 0:
		return "the image must be present, but was pulled"
	case w.outcome == agent.Present:
		return ""
	case c.cutOff && !hit:
		return "the injected fault did not occur"
	case len(truth) > 0 && truth[len(truth)-1].Call.Length() < c.atLeast:
		return "the pull was faster than the injected fault allows"
	case w.outcome == agent.Failed && pulled > 0, w.outcome != agent.Failed && pulled != 1:
		return fmt.Sprintf("%d pulls succeeded, which differs from the plan", pulled)
	case failures < c.failures && len(w.failures) > 0:
		return fmt.Sprintf("only %d pulls failed, fewer than planned", failures)
	}
	return ""
}

// judgeWords checks all values of the report that are not numbers.
func (j *pullJudge) judgeWords(what string, want wantedPull, outcome string, pull agent.Pull) {
	v := j.verdict
	v.Compared++
	unknown := !j.sources.isFull() && pull.Outcome == agent.Unknown
	if pull.Outcome != outcome && !unknown {
		v.Problem("%s: want outcome %s, but the agent reports %q", what, outcome, pull.Outcome)
	}
	// Only Events show which image the kubelet pulled before the scenario changed the image.
	unnamed := want.before != "" && !j.sources.events && pull.Image == agent.Unknown && pull.Registry == agent.Unknown
	if pull.Image != want.image && !unnamed {
		v.Problem("%s: want image %s, but the agent reports %q", what, want.image, pull.Image)
	}
	if host, _, _ := strings.Cut(want.image, "/"); pull.Registry != host && !unnamed {
		v.Problem("%s: want registry %s, but the agent reports %q", what, host, pull.Registry)
	}
	if _, digest, named := strings.Cut(want.image, "@"); named && pull.Digest != "" && pull.Digest != digest {
		v.Problem("%s: want digest %s, but the agent reports %q", what, digest, pull.Digest)
	}
	allowed := want.failures
	if !j.sources.events { // the agent might have missed the container status that stated the reason
		allowed = append(slices.Clone(allowed), "")
	}
	switch failed := pull.Outcome == agent.Failed; {
	case failed && !slices.Contains(allowed, pull.Failure):
		v.Problem("%s: want failure %s, but the agent reports %q", what, strings.Join(want.failures, " or "),
			pull.Failure)
	case !failed && pull.Failure != "":
		v.Problem("%s: the pull did not fail, but the agent reports failure %q", what, pull.Failure)
	}
}

// judgeLengths checks two durations of an attempt: the wait in the queue and the pull. For a failed attempt, no
// evidence separates the wait from the pull.
func (j *pullJudge) judgeLengths(what string, truth bench.Attempt, near neighborInstants, pull agent.Pull) {
	happened, byRegistry := truth.Pull(seenByRegistry)
	if !byRegistry && !truth.Failed() {
		j.unseen = append(j.unseen, unseenPull{what, truth.Call.Length() - truth.RegistryTime.Length()})
	}
	limit := j.tolerance(what, pull.Error, truth, j.sources.largestLengthError(truth, near))
	if truth.Failed() {
		j.judgeFailed(what, truth, pull, limit)
		return
	}
	// When the kubelet calls the runtime, it stops its timer for the queue and starts its timer for the pull. On a busy
	// machine, the call can wait for a CPU before containerd logs it. The response can also wait for a CPU.
	limit += j.waits.waitedNear(happened)
	j.compareLength(what+" queue", happened.StartAt.Sub(truth.RequestedAt), pull.QueueSeconds, limit)
	j.compareLength(what+" pull", happened.Length(), pull.PullSeconds, limit)
	if pull.DownloadedAt.IsZero() || truth.RegistryTime.EndAt.IsZero() || pull.Outcome != agent.Downloaded {
		return
	}
	// After the last byte, the runtime must still verify and store the content. This work takes longer if many layers
	// arrive at the same time or if the machine is busy. If the runtime did not keep the content, the time when it
	// stored the content is unknown. In this case, the scenario assumes 5 ms for each layer.
	storing := truth.Storing()
	if truth.StoredAt.IsZero() {
		storing = time.Duration(len(pull.Layers)) * 5 * time.Millisecond
	}
	if off := pull.DownloadedAt.Sub(truth.RegistryTime.EndAt); off < -exact || off > exact+limit+storing {
		j.verdict.Problem("%s: the last byte arrived at %s, and the runtime needed %s s to store the content, but the "+
			"agent reports %s", what, clock(truth.RegistryTime.EndAt), seconds(storing), clock(pull.DownloadedAt))
	}
}

// judgeFailed compares the total time in the queue and in the pull with the truth. If the agent reports one of the two
// times separately, this time must not exceed the true total by more than the argument "limit".
func (j *pullJudge) judgeFailed(what string, truth bench.Attempt, pull agent.Pull, limit time.Duration) {
	both := truth.ReportedAt.Sub(truth.RequestedAt)
	if !pull.RequestedAt.IsZero() && !pull.FinishedAt.IsZero() {
		j.verdict.Compare(what, both.Round(10*time.Millisecond), both, pull.FinishedAt.Sub(pull.RequestedAt), true,
			limit)
	} else if j.sources.isFull() {
		j.verdict.Problem("%s: the agent does not report the times of the request and the failure", what)
	}
	for part, reported := range map[string]json.Number{"queue": pull.QueueSeconds, "pull": pull.PullSeconds} {
		if length, err := agent.Nanoseconds(reported); err == nil && length > both+limit {
			j.verdict.Problem("%s: the attempt failed after %s, but the agent reports a %s of %s s", what,
				seconds(both), part, reported)
		}
	}
}

// compareLength compares a reported duration with the truth. An agent that lacks a source is allowed to omit the
// duration.
func (j *pullJudge) compareLength(what string, truth time.Duration, reported json.Number, limit time.Duration) {
	measured, err := agent.Nanoseconds(reported)
	if err != nil && reported == "" && !j.sources.isFull() {
		return
	}
	if err != nil && reported != "" {
		j.verdict.Problem("%s: %v", what, err)
	}
	j.verdict.Compare(what, truth.Round(10*time.Millisecond), truth, measured, err == nil, limit)
}

// judgeNoPull checks the report about an image that was already on the node.
func (j *pullJudge) judgeNoPull(what string, pull agent.Pull) {
	for _, reported := range []json.Number{pull.QueueSeconds, pull.PullSeconds} {
		length, err := agent.Nanoseconds(reported)
		if err == nil && length > exact {
			j.verdict.Problem("%s: the image was present, but the agent reports a duration of %s s", what, reported)
		}
	}
	if pull.Download != nil && pull.Download.Bytes > 0 {
		j.verdict.Problem("%s: the image was present, but the agent reports a download of %d bytes", what,
			pull.Download.Bytes)
	}
}

// judgeStartUp checks the report about the pod's entire start-up.
func (j *pullJudge) judgeStartUp(c pullCase, truths [][]bench.Attempt, near neighborInstants, timeline agent.Timeline) {
	v := j.verdict
	if !c.endless() {
		v.Contract(timeline)
	}
	for _, pull := range timeline.Pulls {
		if !slices.ContainsFunc(c.wants, func(w wantedPull) bool { return w.container == pull.Container }) {
			v.Problem("%s: the agent reports a pull for %q that did not happen", c.pod, pull.Container)
		}
	}
	if len(timeline.LostEvents) > 0 {
		v.Problem("%s: no Event was lost, but the agent reports the lost Events %q", c.pod, timeline.LostEvents)
	}
	j.judgeBackoff(c, truths[0], near, timeline)
}

// judgeBackoff compares the back-off that the agent reports with the true time between the attempts. The kubelet's wait
// between two attempts is not part of a pull.
func (j *pullJudge) judgeBackoff(c pullCase, truth []bench.Attempt, near neighborInstants, timeline agent.Timeline) {
	if c.endless() || len(truth) < 2 {
		return
	}
	const phase = "image_backoff"
	var waited time.Duration
	for i, a := range truth[1:] {
		waited += a.RequestedAt.Sub(truth[i].ReportedAt)
	}
	measured, there, err := timeline.In(phase, c.wants[0].container)
	stated, statedErr := timeline.Stated(phase, c.wants[0].container)
	if err != nil || statedErr != nil {
		j.verdict.Problem("%s: phase %s: %v %v", c.pod, phase, err, statedErr)
		return
	}
	limit := time.Duration(len(truth)-1) * exact // the accepted difference for one wait is the constant "exact"
	if !j.sources.isFull() {
		if !there {
			return
		}
		limit += j.capped(c.pod+" back-off", stated, j.sources.largestBackoffError(truth, near))
	}
	j.verdict.Compare(c.pod+" back-off", waited.Round(time.Second), waited, measured, there, limit)
	if !j.sources.events && measured < waited/leastBackoff {
		j.verdict.Problem("%s: the agent reports %s of back-off, but the statuses show most of the %s", c.pod,
			seconds(measured), seconds(waited))
	}
}

// noteUnseen adds a note about the pulls for which containerd's log is the truth.
func (j *pullJudge) noteUnseen() {
	if len(j.unseen) == 0 {
		return
	}
	longest := slices.MaxFunc(j.unseen, func(a, b unseenPull) int { return int(a.took - b.took) })
	j.verdict.Note("%d pulls took more than %s longer than in the registry's log, mostly because of unpacking; the "+
		"longest took %s longer (%s); for these pulls, containerd's log of PullImage is the truth",
		len(j.unseen), seenByRegistry, longest.took.Round(time.Millisecond), longest.what)
}
