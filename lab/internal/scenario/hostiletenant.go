package scenario

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// The durations in the scenario "hostile-tenant". The injected faults are long, so that a delay from the machine's load
// cannot be mistaken for a fault.
const (
	honestFault = 2 * time.Second // duration of each fault injected into an honest pod
	// duration of the first pull; so long that the second pull reaches the queue during the first pull, even on a busy
	// machine
	coldPull     = 8 * time.Second
	attackLead   = 5 * time.Second  // time from the start of the attack to the start of the honest pods
	attackAtMost = 90 * time.Second // an attack stops after this time, even if the honest pods are still starting
)

// tenantRun is one run of the scenario "hostile-tenant".
type tenantRun struct {
	bench  *bench.Bench
	exam   *exam
	v      *Verdict
	blocks []honestBlock
	memory memoryWatch
	// A client of Prometheus. Prometheus evaluates a copy of the real rules. In the copy, all durations are divided by
	// timesFaster. Each block (see honestBlock) starts a new Prometheus without data.
	prometheus prometheus.Client
}

// honestBlock describes one block of the scenario. In a block, the scenario starts all honest pods once. During some
// blocks, the tenant attacks.
type honestBlock struct {
	name          string
	flags         string // flags of the agent
	attacked      bool
	from, to      time.Time
	before, after string // the agent's metrics before and after the block
	fired         map[string]bool
}

// hostileTenant starts the same honest pods without an attack and during an attack. The attacker is a tenant with the
// built-in role "edit" in its own namespace. The tenant sends malicious requests to the API server. The role allows
// most kinds of these requests. The scenario tests the agent with its default configuration, and then with
// --events=cluster. The scenario compares the agent's report about each honest pod with independent logs. These logs
// show the true causes of the start-up time. The scenario also compares each start-up during an attack with the same
// start-up without an attack. Prometheus evaluates a copy of the real rules with shorter durations. The same alerts
// must fire with and without an attack.
func hostileTenant(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	e, stop, err := openExam(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	r := &tenantRun{bench: b, exam: e, v: v}
	if err := r.restartAgent(ctx); err != nil {
		return err
	}
	t, err := newTenant(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.deleteObjects(context.WithoutCancel(ctx))) }()
	if err := r.runAlone(ctx, "alone1", "alone2"); err != nil {
		return err
	}
	if err := r.runAttacked(ctx, t, "attacked"); err != nil {
		return err
	}
	// The agent restarts with new flags while the tenant's objects still exist. Then the tenant attacks again.
	if err := r.restartAgent(ctx, "--events=cluster"); err != nil {
		return err
	}
	if err := r.runAttacked(ctx, t, "attackedcluster"); err != nil {
		return err
	}
	if err := t.deleteObjects(ctx); err != nil {
		return err
	}
	if err := r.runAlone(ctx, "alonecluster1", "alonecluster2"); err != nil {
		return err
	}
	t.addToVerdict(v)
	r.judgeCounterparts()
	return e.report(ctx, v)
}

// If the agent does not have the given flags yet, restartAgent restarts the agent with these flags. Then restartAgent
// waits until the agent has run for five seconds.
func (r *tenantRun) restartAgent(ctx context.Context, flags ...string) error {
	if err := r.bench.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
		return err
	}
	r.memory.flags = "default"
	if len(flags) > 0 {
		r.memory.flags = flags[0]
	}
	return awaitAgentAge(ctx, r.bench)
}

// For each given name, runAlone runs a block with this name. The tenant does not attack during these blocks.
func (r *tenantRun) runAlone(ctx context.Context, names ...string) error {
	for _, name := range names {
		block := honestBlock{name: name, flags: r.memory.flags}
		if err := r.runWatched(ctx, &block, func(ctx context.Context) error { return r.play(ctx, name) }); err != nil {
			return err
		}
	}
	return nil
}

// runAttacked starts the honest pods while the tenant attacks. Then runAttacked checks the agent's report about the
// tenant's own pods.
func (r *tenantRun) runAttacked(ctx context.Context, t *tenant, name string) error {
	block := honestBlock{name: name, flags: r.memory.flags, attacked: true}
	err := r.runWatched(ctx, &block, func(ctx context.Context) error {
		attacking, end := context.WithTimeout(ctx, attackAtMost)
		defer end()
		var both errgroup.Group
		both.Go(func() error { return t.runAttacks(attacking) })
		both.Go(func() error {
			defer end()
			if err := sleep(ctx, attackLead); err != nil {
				return err
			}
			if err := r.play(ctx, name); err != nil {
				return err
			}
			return t.awaitRounds(attacking)
		})
		return both.Wait()
	})
	if err != nil {
		return err
	}
	r.judgeInventions(block)
	return r.judgeTenantsPods(ctx, t, block)
}

// runWatched runs one block of honest pods. During the block, runWatched samples the agent's memory. Before and after
// the block, runWatched reads the agent's metrics.
func (r *tenantRun) runWatched(ctx context.Context, block *honestBlock, play func(context.Context) error) error {
	err := r.watchAlerts(ctx)
	if err != nil {
		return err
	}
	if block.before, err = r.bench.Agent.Metrics(ctx); err != nil {
		return err
	}
	block.from = time.Now()
	watching, end := context.WithCancel(ctx)
	var memory errgroup.Group
	memory.Go(func() error { return r.memory.takeSamples(watching, r.bench) })
	err = play(ctx)
	end()
	if err := errors.Join(err, memory.Wait()); err != nil {
		return err
	}
	block.to = time.Now()
	if err := keepObservations(r.bench, block.name); err != nil {
		return err
	}
	if block.after, err = r.bench.Agent.Metrics(ctx); err != nil {
		return err
	}
	fired, pending, err := r.alertsSince(ctx, block.from)
	if err != nil {
		return err
	}
	block.fired = fired
	noteAlerts(r.v, block.name, fired, pending)
	r.memory.judge(r.v, block.name)
	r.judgeMetrics(*block)
	r.blocks = append(r.blocks, *block)
	return nil
}

// play starts the honest pods and waits until the agent has reported these pods.
func (r *tenantRun) play(ctx context.Context, block string) error {
	return r.exam.play(ctx, examStage{name: block, rows: honestRows(block)}, len(r.blocks))
}

// honestRows returns one row for each honest pod of a block (see honestBlock). A row describes a start-up with a known
// cause. Each pod's name ends with the name of the block. The node lacks the images of the first two pods. The second
// pull waits for the first pull, because the kubelet pulls one image at a time.
func honestRows(block string) (rows []examRow) {
	long := func() time.Duration { return honestFault }
	cold := func(ctx context.Context, x *examPod, takes time.Duration) error {
		image, err := x.slowImage(ctx, mainName, takes)
		return errors.Join(err, x.create(ctx, onePod(image, readySoon)))
	}
	pulling := make(chan struct{})
	rows = []examRow{
		{"cold", "a cold image from a slow registry: registry", func(ctx context.Context, x *examPod) error {
			err := errors.Join(cold(ctx, x, coldPull), x.awaitPulling(ctx, mainName, 1))
			close(pulling)
			return errors.Join(err, x.awaitReady(ctx))
		}},
		{"behind", "a cold image whose pull waits for another pull: pull queue, then registry",
			func(ctx context.Context, x *examPod) error {
				select {
				case <-pulling:
				case <-ctx.Done():
					return ctx.Err()
				}
				return errors.Join(cold(ctx, x, honestFault), x.awaitReady(ctx))
			}},
		{"present", "an image that is on the node: whichever component is working",
			func(ctx context.Context, x *examPod) error {
				return x.start(ctx, onePod(x.bench().BaseImage, readySoon))
			}},
	}
	for _, row := range append(appRows(long), configRows(long)...) {
		if slices.Contains([]string{"slow-init", "readiness-probe", "volume-configmap", "env-configmap"}, row.name) {
			rows = append(rows, row)
		}
	}
	for i := range rows {
		rows[i].name += "-" + block
	}
	return rows
}

// kindOf removes the name of the block (see honestBlock) from the name of an honest pod. For example, kindOf returns
// "cold" for the pod "cold-alone1".
func kindOf(pod string) string { return pod[:strings.LastIndexByte(pod, '-')] }
