package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// goingOn is a pull, or a wait for one, that really was.
type goingOn struct {
	pod, container string // empty when nobody's
	image, outcome string
	span           bench.Span
}

// liveAnswer is what the agent said at one time about what is pulled just now.
type liveAnswer struct {
	asked bench.Span
	items []agent.Live
}

// liveWatch asks the agent again and again.
type liveWatch struct {
	cancel  context.CancelFunc
	ended   chan error
	answers []liveAnswer // after stop
}

// liveWatches are those of several agents.
type liveWatches []*liveWatch

// watchLive asks each of the agents.
func (p *pullRun) watchLive(ctx context.Context) (all liveWatches) {
	for _, j := range p.judges {
		all = append(all, watchLivePulls(ctx, j.agent.Agent))
	}
	return all
}

func (all liveWatches) stop() (err error) {
	for _, w := range all {
		err = errors.Join(err, w.stop())
	}
	return err
}

func watchLivePulls(ctx context.Context, client agent.Client) *liveWatch {
	const every = 250 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	w := &liveWatch{cancel: cancel, ended: make(chan error, 1)}
	go func() {
		for {
			var answer liveAnswer
			var err error
			answer.asked, err = bench.Dated(func() error { answer.items, err = client.Pulls(ctx); return err })
			if ctx.Err() == nil && err != nil {
				w.ended <- err
				return
			}
			w.answers = append(w.answers, answer)
			if sleep(ctx, every) != nil {
				w.ended <- nil
				return
			}
		}
	}()
	return w
}

// stop ends the asking, once.
func (w *liveWatch) stop() error { w.cancel(); return <-w.ended }

// judgeLive wants each answer to tell of nothing but what was going on, and each of the slow pulls to be told of
// while it went on.
func (j *pullJudge) judgeLive(watched *liveWatch) {
	// News take their time: of the beginning to the agent, of the end, too, and kubelet's to its log.
	const slack = 2 * time.Second
	seen := make(map[goingOn]bool)
	wrong := make(map[string]int) // how often
	for _, answer := range watched.answers {
		for _, item := range answer.items {
			j.verdict.Compared++
			truth, found := j.wasGoingOn(item, bench.Span{StartAt: answer.asked.StartAt.Add(-slack), EndAt: answer.asked.EndAt.Add(slack)})
			text := fmt.Sprintf("%s pull of %s for %s/%s %s", item.Outcome, item.Image, item.Namespace, item.Pod, item.Container)
			switch {
			case item.Namespace != j.bench.Namespace && item.Outcome != agent.External:
			case !found:
				wrong[text]++
			case item.TotalBytes > 0 && item.DoneBytes > item.TotalBytes:
				wrong[fmt.Sprintf("%d of %d bytes of the %s", item.DoneBytes, item.TotalBytes, text)]++
			default:
				seen[truth] = true
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(wrong)) {
		j.verdict.Problem("%d of %d answers told of what was not so: %s", wrong[text], len(watched.answers), text)
	}
	const long = time.Second // enough for the agent to hear of it, and for the scenario to ask
	slow, reported := 0, 0
	for _, truth := range j.going {
		if truth.span.Length() < long {
			continue
		}
		slow++
		if seen[truth] {
			reported++
		} else if j.view.full() {
			j.verdict.Problem("the agent never told of the %s pull of %s for %s while it went on, from %s", truth.outcome, truth.image, truth.pod, ends(truth.span))
		}
	}
	if slow == 0 {
		j.verdict.Problem("no pull was slow enough to be seen while it went on: the scenario proves nothing")
	}
	j.verdict.Note("%d of %d pulls longer than %s were told of while they went on, in %d answers", reported, slow, long, len(watched.answers))
}

// wasGoingOn finds what the agent told of.
func (j *pullJudge) wasGoingOn(item agent.Live, about bench.Span) (goingOn, bool) {
	for _, truth := range j.going {
		if isImage(truth, item.Image) && truth.outcome == item.Outcome && truth.pod == item.Pod && truth.container == item.Container &&
			!truth.span.StartAt.After(about.EndAt) && !truth.span.EndAt.Before(about.StartAt) {
			return truth, true
		}
	}
	return goingOn{}, false
}

// isImage says that this names the image that was pulled. Of what others pull, containerd notes no more than the
// host, without its port, and the repository.
func isImage(truth goingOn, named string) bool {
	if truth.outcome != agent.External || truth.image == named {
		return truth.image == named
	}
	host, rest, _ := strings.Cut(truth.image, "/")
	host, _, _ = strings.Cut(host, ":")
	return named == host+"/"+rest[:strings.IndexAny(rest, ":@")]
}
