package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// The scenario "restart" repeatedly kills the agent while pods start. The agents must report each pod once, as if no
// agent had been killed.
func restart(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		killCount = 50
		podCount  = 40
	)
	random := rand.New(rand.NewPCG(b.Seed, 0))
	kills := killPlan(random, killCount)
	_, err := startDisturbed(ctx, b, v, random, disturbance{pods: podCount, lasting: totalKillTime(kills),
		disturb: func(ctx context.Context) ([]bench.Span, error) { return nil, killAgent(ctx, b, kills) }})
	return err
}

// disturbance is an action that disturbs the agent while pods start.
type disturbance struct {
	pods    int
	lasting time.Duration // approximate duration of the action
	// disturb does the action and returns the periods in which no agent ran. disturb can omit periods that are too
	// short to matter.
	disturb func(context.Context) ([]bench.Span, error)
}

// startDisturbed starts pods at random times during a disturbance. The last pods start early enough to become ready
// before the disturbance ends. startDisturbed checks the records that the agents printed about the pods, and returns
// these records.
func startDisturbed(ctx context.Context, b *bench.Bench, v *Verdict, random *rand.Rand,
	d disturbance) (agent.Records, error) {
	v.Note("the times were drawn with --seed %d", b.Seed)
	plans := restartPlans(d.pods)
	images, err := coldImages(ctx, b, plans)
	if err != nil {
		return agent.Records{}, err
	}
	if err := injectInto(ctx, b, plans); err != nil {
		return agent.Records{}, err
	}
	watched, stop := b.Watch(ctx)
	truths := make([]knownStartUp, len(plans))
	work, together := errgroup.WithContext(ctx)
	var absences []bench.Span
	work.Go(func() (err error) {
		absences, err = d.disturb(together)
		return err
	})
	dismissing, dismissed := context.WithCancel(ctx)
	defer dismissed()
	dismissal := make(chan error, 1)
	go func() { dismissal <- dismissReported(dismissing, b, plans) }()
	const lastStart = 8 * time.Second
	period := max(d.lasting-lastStart, lastStart)
	for i, p := range plans {
		slot := period / time.Duration(d.pods)
		createAfter := time.Duration(i)*slot + time.Duration(random.Int64N(int64(slot)))
		work.Go(func() error {
			if err := sleep(together, createAfter); err != nil {
				return err
			}
			c, err := p.carryOut(together, b, watched, images[i])
			if err != nil {
				return err
			}
			truths[i], err = p.collectTruth(together, b, watched.Of(p.name), c)
			return err
		})
	}
	err = work.Wait()
	dismissed()
	if err := errors.Join(err, <-dismissal, stop()); err != nil {
		return agent.Records{}, err
	}
	records, err := awaitRecords(ctx, b, plans)
	if err != nil {
		return agent.Records{}, err
	}
	judgeRestarts(tally{discards: !b.Node.Stack.Containerd.KeepsLayers(), absences: absences}, plans, truths, records,
		v)
	return records, nil
}

// restartPlans returns plans that cycle through five kinds of pods. Each pod has phases of known durations.
func restartPlans(count int) []plan {
	const (
		initRun    = time.Second
		length     = 1500 * time.Millisecond
		twoLengths = 2 * length
	)
	plans := make([]plan, count)
	for i := range plans {
		p := plan{initRun: initRun, readyAfter: length}
		switch kind := i % 5; kind {
		case 0:
			p.name = "plain"
		case 1:
			p.name, p.throttled = "pull", true
		case 2:
			p.name, p.networkDelay = "network", length
		case 3:
			p.name, p.readyAfter, p.runFor = "completes", 0, length
		case 4:
			p.name, p.startedAfter, p.readyAfter = "startup", length, twoLengths
		}
		p.name = fmt.Sprintf("%s-%d", p.name, i+1)
		plans[i] = p
	}
	return plans
}

// dismissReported deletes each pod several seconds after the first report about the pod. Without the deletions, the
// probes of many running pods would keep the machine busy. An agent that starts before the deletion also finds the pod,
// so the scenario can detect a repeated report. dismissReported does not delete pods that complete. dismissReported
// runs until ctx ends.
func dismissReported(ctx context.Context, b *bench.Bench, plans []plan) error {
	const stay = 12 * time.Second
	leaving := make(map[string]bool)
	for _, p := range plans {
		leaving[p.name] = !p.completes()
	}
	reportedAt := make(map[string]time.Time)
	for sleep(ctx, time.Second) == nil {
		records, err := b.Records()
		if err != nil {
			return err
		}
		for _, record := range records.Timelines {
			if reportedAt[record.Name].IsZero() {
				reportedAt[record.Name] = time.Now()
			}
		}
		for name, at := range reportedAt {
			if !leaving[name] || time.Since(at) < stay {
				continue
			}
			if err := b.DeletePod(ctx, name); err != nil && ctx.Err() == nil {
				return err
			}
			leaving[name] = false
		}
	}
	return nil
}

// awaitRecords waits for the records of all pods, but only for a limited time. If a record is still missing,
// awaitRecords returns no error, because judgeRestarts reports missing records. Then awaitRecords waits for some more
// time, because an agent might report a pod again.
func awaitRecords(ctx context.Context, b *bench.Bench, plans []plan) (agent.Records, error) {
	const (
		limit = 15 * time.Second
		tail  = 3 * time.Second
	)
	var records agent.Records
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); {
		var err error
		if records, err = b.Records(); err != nil {
			return records, err
		}
		if len(withoutRecord(plans, records.Timelines)) == 0 {
			break
		}
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return records, err
		}
	}
	if err := sleep(ctx, tail); err != nil {
		return records, err
	}
	return b.Records()
}

// withoutRecord returns the names of the pods without a record.
func withoutRecord(plans []plan, timelines []agent.Timeline) (names []string) {
	reported := make(map[string]bool)
	for _, timeline := range timelines {
		reported[timeline.Name] = true
	}
	for _, p := range plans {
		if !reported[p.name] {
			names = append(names, p.name)
		}
	}
	return names
}

// judgeRestarts requires that each pod has one record, with the true phases. An agent is allowed to print the same
// record again, with the same ID.
func judgeRestarts(t tally, plans []plan, truths []knownStartUp, records agent.Records, v *Verdict) {
	for _, name := range withoutRecord(plans, records.Timelines) {
		v.Problem("pod %s was never reported, want one record", name)
	}
	once := agent.Once(records.Timelines)
	v.Note("the agents printed %d records of %d start-ups and %d incomplete lines", len(records.Timelines), len(once),
		records.Torn)
	of := make(map[string]int, len(plans))
	for i, p := range plans {
		of[p.name] = i
	}
	seen := make(map[string]string)
	for _, timeline := range once {
		if timeline.ID == "" {
			v.Problem("pod %s: the record of the pod has no ID", timeline.Name)
		}
		if before, twice := seen[timeline.Name]; twice {
			v.Problem("pod %s was reported with two IDs, %q and %q, want one", timeline.Name, before, timeline.ID)
			continue
		}
		seen[timeline.Name] = timeline.ID
		i, planned := of[timeline.Name]
		if !planned {
			v.Problem("pod %s was reported, but does not exist", timeline.Name)
			continue
		}
		v.ContractOf(timeline, plans[i].possibleStates()...)
		t.addTimeline(timeline, truths[i])
	}
	t.judgePromises(v)
}
