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

// realPull is the truth about one pull, including the wait in the queue. The data in realPull does not come from the
// agent.
type realPull struct {
	pod, container string // names of the pod and the container; empty for a pull without a pod
	image, outcome string
	span           bench.Span
	called         bench.Span // the call to the runtime, without the wait in the queue; zero for a pull without a pod
}

// liveResponse contains the pulls in progress and the starting pods that the agent reports at one time.
type liveResponse struct {
	query bench.Span
	items []agent.Live
	// starting contains the timelines of the starting pods. startingAt is the period of the request for these
	// timelines.
	starting   []agent.Timeline
	startingAt bench.Span
}

// liveWatch queries the agent repeatedly.
type liveWatch struct {
	cancel    context.CancelFunc
	ended     chan error
	responses []liveResponse // valid only after endQueries has returned
}

// liveWatches contains the watches of several agents.
type liveWatches []*liveWatch

// watchLive starts one liveWatch for each agent.
func (p *pullRun) watchLive(ctx context.Context) (all liveWatches) {
	for _, j := range p.judges {
		all = append(all, watchLivePulls(ctx, j.agent.Agent))
	}
	return all
}

func (all liveWatches) stop() (err error) {
	for _, w := range all {
		err = errors.Join(err, w.endQueries())
	}
	return err
}

func watchLivePulls(ctx context.Context, client agent.Client) *liveWatch {
	const every = 250 * time.Millisecond
	ctx, cancel := context.WithCancel(ctx)
	w := &liveWatch{cancel: cancel, ended: make(chan error, 1)}
	go func() {
		for {
			var response liveResponse
			var err error
			response.query, err = bench.Dated(func() error { response.items, err = client.Pulls(ctx); return err })
			if err == nil {
				response.startingAt, err = bench.Dated(func() error {
					response.starting, err = client.Starting(ctx)
					return err
				})
			}
			if ctx.Err() == nil && err != nil {
				w.ended <- err
				return
			}
			w.responses = append(w.responses, response)
			if sleep(ctx, every) != nil {
				w.ended <- nil
				return
			}
		}
	}()
	return w
}

// endQueries ends the queries. The caller must call endQueries exactly once.
func (w *liveWatch) endQueries() error { w.cancel(); return <-w.ended }

// judgeLive requires that each response contains only pulls in progress. An agent with all sources must also report
// each slow pull while the pull is in progress.
func (j *pullJudge) judgeLive(watched *liveWatch) {
	// The agent and the kubelet's log can both report the start or the end of a pull late.
	const slack = 2 * time.Second
	seen := make(map[realPull]bool)
	wrong := make(map[string]int) // how often the agent reported each wrong pull
	for _, response := range watched.responses {
		for _, item := range response.items {
			j.verdict.Compared++
			truth, found := j.findRealPull(item, bench.Span{StartAt: response.query.StartAt.Add(-slack),
				EndAt: response.query.EndAt.Add(slack)})
			text := fmt.Sprintf("%s pull of %s for %s/%s %s", item.Outcome, item.Image, item.Namespace, item.Pod,
				item.Container)
			switch {
			case item.Namespace != j.bench.Namespace && item.Outcome != agent.External:
			case item.Outcome == agent.External && j.bench.Node.IsColdPause(item.Image): // no log contains this pull
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
		j.verdict.Problem("%d of %d responses contain a pull that was not in progress: %s", wrong[text],
			len(watched.responses), text)
	}
	// A shorter pull can end before the agent detects it, or before the scenario queries the agent.
	const long = time.Second
	slow, reported := 0, 0
	for _, truth := range j.going {
		if truth.span.Length() < long {
			continue
		}
		slow++
		if seen[truth] {
			reported++
		} else if j.sources.isFull() {
			j.verdict.Problem("the agent must report the %s pull of %s for %s while the pull is in progress, "+
				"but never did so from %s",
				truth.outcome, truth.image, truth.pod, ends(truth.span))
		}
	}
	if slow == 0 {
		j.verdict.Problem("no pull was slow enough to be observed in progress: the scenario is not conclusive")
	}
	j.verdict.Note("the agent reported %d of %d pulls longer than %s while they were in progress, in %d responses",
		reported,
		slow, long, len(watched.responses))
	j.judgeOpenPulls(watched)
}

// judgeOpenPulls checks the phases "pull" and "unpack" that are still in progress in the agent's responses. The agent
// is allowed to report such a phase only during the kubelet's call to the runtime, or shortly before or after this
// call. An agent with all sources must report at least one such phase correctly.
func (j *pullJudge) judgeOpenPulls(watched *liveWatch) {
	const (
		stamp = 100 * time.Millisecond // accepted difference between the kubelet's log and the runtime's stores
		late  = 4 * time.Second        // longest accepted time until the agent notices the end of a call
	)
	right, wrong := 0, make(map[string]int)
	for _, response := range watched.responses {
		for _, t := range response.starting {
			if len(t.Phases) == 0 || t.Namespace != j.bench.Namespace {
				continue
			}
			last := t.Phases[len(t.Phases)-1]
			if !last.Open || last.Phase != "pull" && last.Phase != "unpack" {
				continue
			}
			j.verdict.Compared++
			if slices.ContainsFunc(j.going, func(truth realPull) bool {
				return truth.pod == t.Name && truth.container == last.Container && !truth.called.StartAt.IsZero() &&
					!last.StartAt.Before(truth.called.StartAt.Add(-stamp)) &&
					!response.startingAt.StartAt.After(truth.called.EndAt.Add(late))
			}) {
				right++
			} else {
				wrong[fmt.Sprintf("%s of %s/%s from %s", last.Phase, t.Name, last.Container,
					last.StartAt.Format(time.StampMilli))]++
			}
		}
	}
	for _, text := range slices.Sorted(maps.Keys(wrong)) {
		j.verdict.Problem("%d responses contain an open phase of a pull without a running call to the runtime: %s",
			wrong[text], text)
	}
	if right == 0 && j.sources.isFull() {
		j.verdict.Problem("the agent never reported the phase \"pull\" for a pod whose image was arriving")
	}
	j.verdict.Note("%d open phases named a pull or an unpacking that was in progress", right)
}

// findRealPull returns the real pull that matches an item of the agent's response and overlaps the given interval.
func (j *pullJudge) findRealPull(item agent.Live, about bench.Span) (realPull, bool) {
	for _, truth := range j.going {
		if isImage(truth, item.Image) && truth.outcome == item.Outcome && truth.pod == item.Pod &&
			truth.container == item.Container &&
			!truth.span.StartAt.After(about.EndAt) && !truth.span.EndAt.Before(about.StartAt) {
			return truth, true
		}
	}
	return realPull{}, false
}

// isImage reports whether the name refers to the pulled image. If a client other than the kubelet pulls an image,
// containerd logs only the host (without the port) and the repository.
func isImage(truth realPull, named string) bool {
	if truth.outcome != agent.External || truth.image == named {
		return truth.image == named
	}
	host, rest, _ := strings.Cut(truth.image, "/")
	host, _, _ = strings.Cut(host, ":")
	return named == host+"/"+rest[:strings.IndexAny(rest, ":@")]
}
