package scenario

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// While pods start, the scenario "rollout" restarts the DaemonSet as "kubectl rollout restart" does. Each pod must be
// reported once. An agent that stops gracefully has time to save the IDs of its records. So no agent is allowed to
// repeat a record, not even with the same ID.
func rollout(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		restarts = 3
		podCount = 24
		apart    = 9 * time.Second
	)
	random := rand.New(rand.NewPCG(b.Seed, 0))
	agents := make(map[string]bool)
	var took []time.Duration
	var amid []int // number of start-ups in progress at each restart
	records, err := startDisturbed(ctx, b, v, random, disturbance{pods: podCount, lasting: (restarts + 1) * apart,
		disturb: func(ctx context.Context) (absences []bench.Span, err error) {
			next := time.Now()
			for i := range restarts + 1 {
				pod, err := b.Node.AgentPod(ctx)
				if err != nil {
					return nil, err
				}
				agents[pod.Name] = true
				if i == restarts {
					return absences, nil
				}
				// restarts begin at fixed intervals, so that each restart happens while pods start
				next = next.Add(apart)
				if err := sleep(ctx, time.Until(next)); err != nil {
					return nil, err
				}
				starting, err := startingPods(ctx, b)
				if err != nil {
					return nil, err
				}
				amid = append(amid, starting)
				absence, err := bench.Dated(func() error { return restartAndKeep(ctx, b) })
				if err != nil {
					return nil, err
				}
				absences, took = append(absences, absence), append(took, absence.Length())
			}
			return absences, nil
		}})
	if err != nil {
		return err
	}
	judgeRollout(v, records, restarts, len(agents))
	if slices.Contains(amid, 0) {
		v.Problem("the DaemonSet was restarted during %v start-ups, want at least 1 each time: the scenario is "+
			"not conclusive", amid)
	}
	v.Note("%d restarts of the DaemonSet, during %v start-ups, took %v", restarts, amid, took)
	return nil
}

// startingPods counts the bench's pods that are neither ready nor succeeded.
func startingPods(ctx context.Context, b *bench.Bench) (starting int, err error) {
	pods, err := b.Kube.Pods(ctx, b.Namespace)
	for _, pod := range pods {
		over := pod.Status.Phase == corev1.PodSucceeded ||
			slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
				return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
			})
		if !over {
			starting++
		}
	}
	return starting, err
}

// restartAndKeep restarts the DaemonSet and saves the entire log of the old agent, because the kubelet deletes the log
// with the pod.
func restartAndKeep(ctx context.Context, b *bench.Bench) error {
	keeping, end := context.WithCancel(ctx)
	work, together := errgroup.WithContext(keeping)
	work.Go(func() error {
		for sleep(together, 50*time.Millisecond) == nil {
			if err := b.Node.KeepAgentLogs(); err != nil {
				return err
			}
		}
		return nil
	})
	work.Go(func() error {
		defer end()
		return b.Node.RestartDeployed(ctx)
	})
	return work.Wait()
}

// judgeRollout makes three checks that judgeRestarts does not make. Each restart must have started a new agent. No
// agent is allowed to have repeated a record, or to have printed an incomplete record.
func judgeRollout(v *Verdict, records agent.Records, restarts, agents int) {
	v.Compared++
	if agents != restarts+1 {
		v.Problem("after %d restarts, %d agents had run, want one agent more than restarts", restarts, agents)
	}
	if again := len(records.Timelines) - len(agent.Once(records.Timelines)); again > 0 {
		v.Problem("the agents repeated %d records, want 0", again)
	}
	if records.Torn > 0 {
		v.Problem("the agents printed %d incomplete records, want 0", records.Torn)
	}
}
