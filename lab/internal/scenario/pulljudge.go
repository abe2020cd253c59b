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

// unseen is a pull of which the registry did not see everything.
type unseen struct {
	what string
	took time.Duration // what it did not see
}

// seenByRegistry is how much longer than for the registry a pull may take for the runtime, which resolves before
// and unpacks afterwards, for the registry's log to be the truth. It leaves room, within the exactness, for who is
// right by containerd's log, which is the truth of all others.
const seenByRegistry = exact / 2

// judge compares what the agent tells of a pod's pulls with what kubelet, containerd and the registry tell.
func (j *pullJudge) judge(ctx context.Context, c pullCase, timeline agent.Timeline) error {
	truths := make([][]bench.Attempt, len(c.wants))
	for i, want := range c.wants {
		var err error
		if truths[i], err = j.attempts(ctx, c.pod, want); err != nil {
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
	j.judgeWholes(c, truths, neighborsIn(log, c.spec, c.wants[0].container), timeline)
	return nil
}

// attempts are those for one image of one pod. Kubelet's log and containerd's are not written at the same instant.
func (j *pullJudge) attempts(ctx context.Context, pod string, want wantedPull) (mine []bench.Attempt, err error) {
	err = j.bench.Node.Report.Wait(ctx, "the logs about "+want.image, 5*time.Second, 50*time.Millisecond, func(ctx context.Context) error {
		all, err := j.witness.Attempts(ctx, want.image)
		mine = bench.Of(all, pod, want.kubeletsName())
		return err
	})
	return mine, err
}

// judgeImage judges all that is told of one image of a pod.
func (j *pullJudge) judgeImage(c pullCase, want wantedPull, truth []bench.Attempt, near neighbors, timeline agent.Timeline) {
	v, what := j.verdict, c.pod
	if want.container != mainName {
		what += " " + want.container
	}
	if problem := want.proves(c, truth); problem != "" {
		v.Problem("%s: %s: the scenario proves nothing", what, problem)
		return
	}
	j.judgeBlame(what, want.container, truth, timeline)
	pulls := timeline.PullsOf(want.container)
	count := max(len(truth), 1) // what was present is told, too
	if len(pulls) == 0 || len(pulls) > count || j.view.full() && len(pulls) < count {
		v.Problem("%s: there were %d attempts, the agent tells of %d", what, count, len(pulls))
	}
	for i, pull := range pulls {
		last := i == len(pulls)-1 && !c.endless()
		at := i
		if last {
			at = count - 1 // the agent may have missed some before
		}
		if at >= count {
			return
		}
		name := what
		if count > 1 {
			name = fmt.Sprintf("%s, attempt %d", what, at+1)
		}
		if j.view.full() && pull.Attempt != at {
			v.Problem("%s: the agent calls it attempt %d", name, pull.Attempt)
		}
		outcome := agent.Failed
		if last {
			outcome = want.outcome
		}
		j.judgeWords(name, want, outcome, pull)
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
			j.going = append(j.going, goingOn{pod: c.pod, container: want.container, image: want.image, outcome: agent.Pulling,
				span: bench.Span{StartAt: truth[at].RequestedAt, EndAt: truth[at].ReportedAt}})
		} else {
			j.judgeNoPull(name, pull)
		}
	}
}

// proves returns what did not happen that should have.
func (w wantedPull) proves(c pullCase, truth []bench.Attempt) string {
	failures, hit := 0, false
	for _, a := range truth {
		hit = hit || a.Hit
		if a.Failed() {
			failures++
		}
	}
	switch pulled := len(truth) - failures; {
	case w.outcome == agent.Present && len(truth) > 0:
		return "it was to be there, but was pulled"
	case w.outcome == agent.Present:
		return ""
	case c.cutOff && !hit:
		return "the fault did not strike"
	case len(truth) > 0 && truth[len(truth)-1].Call.Length() < c.atLeast:
		return "the pull was too fast"
	case w.outcome == agent.Failed && pulled > 0, w.outcome != agent.Failed && pulled != 1:
		return fmt.Sprintf("%d pulls succeeded", pulled)
	case failures < c.failures && len(w.failures) > 0:
		return fmt.Sprintf("%d pulls failed", failures)
	}
	return ""
}

// judgeWords judges what is not a number.
func (j *pullJudge) judgeWords(what string, want wantedPull, outcome string, pull agent.Pull) {
	v := j.verdict
	v.Compared++
	unknown := !j.view.full() && pull.Outcome == agent.Unknown
	if pull.Outcome != outcome && !unknown {
		v.Problem("%s: the outcome is %s, the agent says %q", what, outcome, pull.Outcome)
	}
	if pull.Image != want.image {
		v.Problem("%s: the image is %s, the agent says %q", what, want.image, pull.Image)
	}
	if host, _, _ := strings.Cut(want.image, "/"); pull.Registry != host {
		v.Problem("%s: the registry is %s, the agent says %q", what, host, pull.Registry)
	}
	if _, digest, named := strings.Cut(want.image, "@"); named && pull.Digest != "" && pull.Digest != digest {
		v.Problem("%s: the digest is %s, the agent says %q", what, digest, pull.Digest)
	}
	allowed := want.failures
	if !j.view.events { // the container's status may not have been seen that says why
		allowed = append(slices.Clone(allowed), "")
	}
	switch failed := pull.Outcome == agent.Failed; {
	case failed && !slices.Contains(allowed, pull.Failure):
		v.Problem("%s: the failure is %s, the agent says %q", what, strings.Join(want.failures, " or "), pull.Failure)
	case !failed && pull.Failure != "":
		v.Problem("%s: it did not fail, the agent says %q", what, pull.Failure)
	}
}

// judgeLengths judges queue and pull of one attempt. Nobody tells of one that failed how long each of the two was.
func (j *pullJudge) judgeLengths(what string, truth bench.Attempt, near neighbors, pull agent.Pull) {
	happened, byRegistry := truth.Pull(seenByRegistry)
	if !byRegistry && !truth.Failed() {
		j.unseen = append(j.unseen, unseen{what, truth.Call.Length() - truth.Asked.Length()})
	}
	limit := j.limit(what, pull.Error, j.view.worstLength(truth, near))
	if truth.Failed() {
		j.judgeFailed(what, truth, pull, limit)
		return
	}
	j.length(what+" queue", happened.StartAt.Sub(truth.RequestedAt), pull.QueueSeconds, limit)
	j.length(what+" pull", happened.Length(), pull.PullSeconds, limit)
	if pull.DownloadedAt.IsZero() || truth.Asked.EndAt.IsZero() || pull.Outcome != agent.Downloaded {
		return
	}
	// The runtime has yet to check and to store what it has got: of many layers at once that takes its time.
	storing := time.Duration(len(pull.Layers)) * 5 * time.Millisecond
	if off := pull.DownloadedAt.Sub(truth.Asked.EndAt); off < -exact || off > exact+limit+storing {
		j.verdict.Problem("%s: the last byte came at %s, the agent says %s", what, clock(truth.Asked.EndAt), clock(pull.DownloadedAt))
	}
}

// judgeFailed judges queue and pull together, and each that is told.
func (j *pullJudge) judgeFailed(what string, truth bench.Attempt, pull agent.Pull, limit time.Duration) {
	both := truth.ReportedAt.Sub(truth.RequestedAt)
	if !pull.RequestedAt.IsZero() && !pull.FinishedAt.IsZero() {
		j.verdict.Compare(what, both.Round(10*time.Millisecond), both, pull.FinishedAt.Sub(pull.RequestedAt), true, limit)
	} else if j.view.full() {
		j.verdict.Problem("%s: the agent does not say when it was requested and when it failed", what)
	}
	for part, reported := range map[string]json.Number{"queue": pull.QueueSeconds, "pull": pull.PullSeconds} {
		if length, err := agent.Nanoseconds(reported); err == nil && length > both+limit {
			j.verdict.Problem("%s: it failed after %s, the agent says that its %s alone took %s s", what, seconds(both), part, reported)
		}
	}
}

// length compares one length. An agent that does not see everything may leave it out.
func (j *pullJudge) length(what string, truth time.Duration, reported json.Number, limit time.Duration) {
	measured, err := agent.Nanoseconds(reported)
	if err != nil && reported == "" && !j.view.full() {
		return
	}
	if err != nil && reported != "" {
		j.verdict.Problem("%s: %v", what, err)
	}
	j.verdict.Compare(what, truth.Round(10*time.Millisecond), truth, measured, err == nil, limit)
}

// judgeBytes wants every byte that the registry sent counted, and none besides. What a fault cut short, the
// registry sent in part.
func (j *pullJudge) judgeBytes(what string, c pullCase, truth bench.Attempt, pull agent.Pull) {
	const besides = 16 << 10 // the configuration, which need not be counted
	switch {
	case c.cutOff || c.mayShare || truth.Failed() || pull.Outcome != agent.Downloaded:
	case pull.Download == nil && j.view.full():
		j.verdict.Problem("%s: the agent does not tell of its download", what)
	case pull.Download == nil:
	case pull.Download.Bytes > truth.Bytes, j.view.full() && pull.Download.Bytes < truth.BlobBytes-besides:
		j.verdict.Problem("%s: the registry sent %d bytes, %d of them of layers and configuration, the agent says %d", what,
			truth.Bytes, truth.BlobBytes, pull.Download.Bytes)
	}
}

// judgeNoPull judges what is told of an image that was there.
func (j *pullJudge) judgeNoPull(what string, pull agent.Pull) {
	for _, reported := range []json.Number{pull.QueueSeconds, pull.PullSeconds} {
		length, err := agent.Nanoseconds(reported)
		if err == nil && length > exact {
			j.verdict.Problem("%s: nothing was pulled, the agent says that it took %s s", what, reported)
		}
	}
	if pull.Download != nil && pull.Download.Bytes > 0 {
		j.verdict.Problem("%s: nothing was pulled, the agent says that %d bytes were", what, pull.Download.Bytes)
	}
}

// judgeWholes judges what is told of the pod's start-up as a whole.
func (j *pullJudge) judgeWholes(c pullCase, truths [][]bench.Attempt, near neighbors, timeline agent.Timeline) {
	v := j.verdict
	if !c.endless() {
		v.Contract(timeline)
	}
	for _, pull := range timeline.Pulls {
		if !slices.ContainsFunc(c.wants, func(w wantedPull) bool { return w.container == pull.Container }) {
			v.Problem("%s: the agent tells of a pull for %q that there is not", c.pod, pull.Container)
		}
	}
	if len(timeline.LostEvents) > 0 {
		v.Problem("%s: no Event was lost, the agent says %q", c.pod, timeline.LostEvents)
	}
	j.judgeBackoff(c, truths[0], near, timeline)
}

// judgeBackoff compares the time between the attempts: what kubelet waited belongs to no pull.
func (j *pullJudge) judgeBackoff(c pullCase, truth []bench.Attempt, near neighbors, timeline agent.Timeline) {
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
	limit := time.Duration(len(truth)-1) * exact // each of them has two ends of its own
	if !j.view.full() {
		if !there {
			return
		}
		limit += j.capped(c.pod+" back-off", stated, j.view.worstBackoff(truth, near))
	}
	j.verdict.Compare(c.pod+" back-off", waited.Round(time.Second), waited, measured, there, limit)
}

// noteUnseen says which pulls the registry could not date.
func (j *pullJudge) noteUnseen() {
	if len(j.unseen) == 0 {
		return
	}
	longest := slices.MaxFunc(j.unseen, func(a, b unseen) int { return int(a.took - b.took) })
	j.verdict.Note("%d pulls took more than %s longer than the registry saw, for unpacking mostly, %s at most (%s): the truth about them is containerd's log of PullImage",
		len(j.unseen), seenByRegistry, longest.took.Round(time.Millisecond), longest.what)
}
