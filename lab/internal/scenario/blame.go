package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// examRow is one start-up whose true cause is known. The pod has the same name as the examRow.
type examRow struct {
	name    string
	culprit string // description of the fault and the culprit, for readers
	play    playFunc
}

// playFunc creates the pod and injects the fault. playFunc returns when the pod is ready. If the pod never becomes
// ready, playFunc returns at the end of the period that the exam judges.
type playFunc = func(ctx context.Context, x *examPod) error

// examStage is a group of examRows (start-ups) that need the same state of the node.
type examStage struct {
	name string
	// prepareNode puts the node into the state that the examRows require. If the examRows require no special state,
	// prepareNode is nil.
	prepareNode func(ctx context.Context, e *exam) error
	rows        []examRow
	apart       time.Duration // time between the starts of two examRows; 0 selects the default
	alone       bool          // true: the examRows run one after the other; false: they run concurrently
}

// exam is one run of the scenario "blame" or "blame-soak".
type exam struct {
	bench   *bench.Bench
	calls   *bench.CallLog
	pulls   *bench.PullLog
	events  *bench.EventLog
	network *bench.NetworkFaults
	watched *bench.Arrivals
	starts  *bench.ProcessStarts
	waits   waitSamplers

	registries []registry.Client // the lab's registry; pullInParallel adds the second registry

	mu      sync.Mutex
	stopped []blame.Stop // periods in which containerd was stopped
	results []examResult
}

// examResult is the result of one examRow.
type examResult struct {
	stage, name, culprit string
	place                [2]int // position of the stage, and position of the examRow in the stage
	failed               error  // reason why the examRow could not run; nil if it ran
	timeline             agent.Timeline
	reported             []blame.Reported
	truth                []blame.Stretch
	score                blame.Score
	trueLengths          []blame.Length
	lengths              []blame.Violation
	compared             int // number of phases with a known true duration
}

// blameExam runs every examRow on the real node. For each second of a start-up, blameExam compares the cause that the
// agent reports with the true cause.
func blameExam(ctx context.Context, b *bench.Bench, v *Verdict) error {
	v.Note("durations and combinations of faults were drawn with --seed %d", b.Seed)
	return playExam(ctx, b, v, examStages(b.Seed))
}

func playExam(ctx context.Context, b *bench.Bench, v *Verdict, stages []examStage) (err error) {
	e, stop, err := openExam(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	if err := awaitAgentAge(ctx, b); err != nil {
		return err
	}
	for i, stage := range stages {
		if b.Node.Stack.CgroupV2 { // the lab's cgroup v2 has no memory controller
			stage.rows = slices.DeleteFunc(stage.rows, func(r examRow) bool { return r.name == outOfMemory })
		}
		if err := e.play(ctx, stage, i); err != nil {
			return fmt.Errorf("stage %q: %w", stage.name, err)
		}
	}
	return e.report(ctx, v)
}

func openExam(ctx context.Context, b *bench.Bench) (*exam, func() error, error) {
	calls, err := b.OpenCallLog()
	if err != nil {
		return nil, nil, err
	}
	pulls, err := b.OpenPullLog()
	if err != nil {
		return nil, nil, err
	}
	events, err := b.OpenEventLog()
	if err != nil {
		return nil, nil, err
	}
	waits, err := sampleWaits()
	if err != nil {
		return nil, nil, err
	}
	starts, stopStarts, err := b.WatchProcessStarts(ctx)
	if err != nil {
		waits.stop()
		return nil, nil, err
	}
	watched, stopWatch := b.Watch(ctx)
	stop := func() error {
		waits.stop()
		return errors.Join(stopStarts(), stopWatch())
	}
	return &exam{bench: b, calls: calls, pulls: pulls, events: events, network: b.NetworkFaults(), watched: watched,
		starts: starts, waits: waits, registries: []registry.Client{b.Registry}}, stop, nil
}

// play runs the examRows (start-ups) of an examStage. If an examRow cannot run, its examResult contains the error. The
// other examRows continue.
func (e *exam) play(ctx context.Context, stage examStage, place int) error {
	e.bench.Node.Report.Say("stage %s: %d rows", stage.name, len(stage.rows))
	if stage.prepareNode != nil {
		if err := stage.prepareNode(ctx, e); err != nil {
			return err
		}
	}
	apart := stage.apart
	if apart == 0 {
		apart = 600 * time.Millisecond // a pause, because each starting pod keeps two CPUs busy
	}
	var rows errgroup.Group
	if stage.alone {
		rows.SetLimit(1)
		apart = 0
	}
	for i, row := range stage.rows {
		rows.Go(func() error {
			if err := sleep(ctx, time.Duration(i)*apart); err != nil {
				return err
			}
			result := e.judgeRow(ctx, row)
			result.stage, result.place = stage.name, [2]int{place, i}
			e.mu.Lock()
			defer e.mu.Unlock()
			e.results = append(e.results, result)
			return ctx.Err()
		})
	}
	return rows.Wait()
}

// judgeRow runs one examRow and compares the agent's report with the logs that are independent of the agent. If no
// error prevents this comparison, judgeRow then deletes the pod.
func (e *exam) judgeRow(ctx context.Context, row examRow) (result examResult) {
	result = examResult{name: row.name, culprit: row.culprit}
	x := &examPod{exam: e, name: row.name, images: make(map[string]string)}
	if result.failed = row.play(ctx, x); result.failed != nil {
		return result
	}
	if result.timeline, result.failed = x.timeline(ctx); result.failed != nil {
		return result
	}
	if result.failed = saveTimeline(e.bench, result.timeline); result.failed != nil {
		return result
	}
	account, err := x.collectEvidence(ctx, result.timeline)
	if err != nil {
		result.failed = err
		return result
	}
	if result.reported, result.failed = blame.Read(result.timeline); result.failed != nil {
		return result
	}
	result.truth = account.Stretches()
	result.score = blame.Judge(result.reported, result.truth)
	result.trueLengths = account.Lengths()
	result.lengths, result.compared = blame.Compare(result.reported, result.trueLengths)
	if err := e.bench.DeletePod(ctx, x.name); err != nil && ctx.Err() == nil {
		result.failed = err
	}
	return result
}
