package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/audit"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// Compare is the name of the scenario that requires a second agent program.
const Compare = "compare"

// The load and the number of repetitions. Each agent's memory varies by one or two megabytes, because the garbage
// collector returns memory late. To show a difference of less than one megabyte, the scenario needs many measurements.
const (
	compareRounds  = 4
	comparePairs   = 4 // number of agents of each program; the agents of both programs run at the same time
	comparePods    = 60
	compareRate    = 10 // starts per second
	compareCold    = 6  // number of pods whose images the node must pull; these pods start one after the other
	compareSamples = 10 // number of memory samples, one second apart
	// moreMemory is the largest allowed increase in memory. The measurements must show with 95 % confidence that the
	// increase is within this limit.
	moreMemory = size(1 << 20)
)

// size is a number of bytes.
type size int64

func (s size) String() string { return fmt.Sprintf("%.2f MiB", float64(s)/(1<<20)) }

// comparedVersion describes one of the two compared programs.
type comparedVersion struct{ account, program, kubeconfig string }

// The scenario "compare" runs agents of two programs side by side on a node without a kubelet. The scenario starts each
// agent with only the flags that every agent requires. All agents observe the same pods, so any difference in requests,
// memory or series comes from the programs.
func compare(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	versions := []comparedVersion{{account: "before", program: b.Before}, {account: "now", program: b.Node.Agent()}}
	for i := range versions {
		if err := versions[i].createAccount(ctx, b); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.Remove(versions[i].program)) }()
	}
	runtime := synthetic.NewRuntime()
	leave, err := runtime.Join(ctx, b.Kube, costNode, b.Node.ExtraSocket())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	var whole, own []size
	for round := range compareRounds {
		c := comparedRound{bench: b, runtime: runtime, versions: versions}
		if err := c.play(ctx, round); err != nil {
			return err
		}
		for pair := range comparePairs {
			whole = append(whole, c.memory[2*pair+1]-c.memory[2*pair])
			own = append(own, c.own[2*pair+1]-c.own[2*pair])
		}
		v.Note("round %d: resident memory, alternately of the old and the new program: %v; without the "+
			"program's file: %v", round+1, c.memory,
			c.own)
		judgeSeries(v, c.series[0], c.series[1])
	}
	judgeMemory(v, "resident memory", pair(whole))
	judgeMemory(v, "memory without the program's file", pair(own))
	return judgeRequests(b, v, versions)
}

// createAccount creates a separate account for the version, so that the API server's audit log shows which version sent
// a request. createAccount also copies the program, so that both programs' files are written in the same way. The
// kernel maps a larger or smaller part of a file into memory, depending on how the file was written and read.
func (t *comparedVersion) createAccount(ctx context.Context, b *bench.Bench) error {
	program, err := os.ReadFile(t.program)
	if err != nil {
		return fmt.Errorf("copy the agent's program: %w", err)
	}
	t.program = b.Node.In("compare-" + t.account)
	if err := os.WriteFile(t.program, program, 0o700); err != nil {
		return fmt.Errorf("copy the agent's program: %w", err)
	}
	err = b.CreateAccount(ctx, t.account,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"list", "watch"}})
	if err != nil {
		return err
	}
	token, err := b.Token(ctx, t.account, "")
	if err != nil {
		return err
	}
	t.kubeconfig, err = b.Node.TokenKubeconfig("scenario-"+t.account, token)
	return err
}

// comparedRound is one round, in which the agents of both programs run at the same time.
type comparedRound struct {
	bench    *bench.Bench
	runtime  *synthetic.Runtime
	versions []comparedVersion

	memory, own []size // each list contains one value for each agent
	series      []map[string]bool
}

func (c *comparedRound) play(ctx context.Context, round int) (err error) {
	var agents []node.ExtraAgent
	for range comparePairs {
		for _, t := range c.versions {
			agents = append(agents, node.ExtraAgent{Program: t.program, Kubeconfig: t.kubeconfig})
		}
	}
	if err := c.bench.Node.StartExtraAgentsOf(ctx, costNode, agents); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.bench.Node.StopExtraAgents()) }()
	namespace := fmt.Sprintf("%s-%d", c.bench.Namespace, round+1)
	if err := c.bench.Kube.CreateNamespace(ctx, c.bench.Node.Report, namespace, purpose); err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, c.bench.Kube.DeleteNamespace(context.WithoutCancel(ctx), c.bench.Node.Report, namespace))
	}()
	if err := c.createPods(ctx, namespace); err != nil {
		return err
	}
	if err := sleep(ctx, 5*time.Second); err != nil { // time for late Events to arrive
		return err
	}
	c.memory, c.own = make([]size, len(agents)), make([]size, len(agents))
	for range compareSamples {
		for extra := range agents {
			used, err := c.bench.Node.ExtraUsage(extra)
			if err != nil {
				return err
			}
			c.memory[extra] += size(used.Memory / compareSamples)
			c.own[extra] += size(used.Own / compareSamples)
		}
		if err := sleep(ctx, time.Second); err != nil {
			return err
		}
	}
	for extra := range c.versions {
		text, err := c.bench.Node.Extra(extra).Metrics(ctx)
		if err != nil {
			return err
		}
		c.series = append(c.series, seriesOf(text))
	}
	return nil
}

// createPods creates two groups of pods. The pods of the first group start at a constant rate, and the node already has
// their images. The pods of the second group start one after the other, and the node must pull their images. Each pod
// of the second group requires its own Event watch.
func (c *comparedRound) createPods(ctx context.Context, namespace string) error {
	kubelet := synthetic.Kubelet{Kube: c.bench.Kube, Runtime: c.runtime, Node: costNode, Pace: synthetic.Usual()}
	images := func(pod string) []string {
		return []string{"images.invalid/" + namespace + "/" + pod + "-a:1",
			"images.invalid/" + namespace + "/" + pod + "-b:1"}
	}
	present, together := errgroup.WithContext(ctx)
	for i := range comparePods {
		present.Go(func() error {
			if err := sleep(together, time.Duration(i)*time.Second/compareRate); err != nil {
				return err
			}
			for _, image := range images("present") {
				c.runtime.AddImage(image)
			}
			_, err := kubelet.Start(together, namespace, fmt.Sprintf("present-%d", i+1), images("present"), false)
			return err
		})
	}
	if err := present.Wait(); err != nil {
		return err
	}
	for i := range compareCold {
		name := fmt.Sprintf("cold-%d", i+1)
		if _, err := kubelet.Start(ctx, namespace, name, images(name), true); err != nil {
			return err
		}
	}
	return nil
}

// seriesOf returns the names and labels of all samples. seriesOf skips podlapse_build_info, because this metric differs
// between the programs.
func seriesOf(text string) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(text) {
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "podlapse_build_info{") {
			continue
		}
		all[line[:end]] = true
	}
	return all
}

// judgeSeries requires that both programs expose the same series.
func judgeSeries(v *Verdict, before, now map[string]bool) {
	const most = 10 // maximum number of series in the text of a problem
	v.Compared++
	only := func(in, notIn map[string]bool) (names []string) {
		for _, name := range slices.Sorted(maps.Keys(in)) {
			if !notIn[name] {
				names = append(names, name)
			}
		}
		return names
	}
	if more := only(now, before); len(more) > 0 {
		v.Problem("both programs must expose the same series: %d of %d are new, for example %q", len(more), len(now),
			more[:min(most, len(more))])
	}
	if less := only(before, now); len(less) > 0 {
		v.Problem("both programs must expose the same series: %d of %d are missing, for example %q", len(less),
			len(before), less[:min(most, len(less))])
	}
	if len(now) == 0 {
		v.Problem("the agents expose no series")
	}
}

// judgeMemory requires that the new program uses at most moreMemory bytes more than the old program. The measurements
// must prove this with 95 % confidence. If the measurements are inconclusive, judgeMemory reports a problem.
func judgeMemory(v *Verdict, what string, more pairedDifferences[size]) {
	v.Compared++
	v.Note("%s: the difference is %v, standard error %v, so at most %v with 95 %% confidence (%d pairs)", what,
		more.mean, more.standardError, more.atMost(), more.pairs)
	switch {
	case more.mean > moreMemory:
		v.Problem("%s: the new program uses %v more than the old program, want at most %v more", what, more.mean,
			moreMemory)
	case more.atMost() > moreMemory:
		v.Problem("%s: the new program uses %v more, but the agents vary too much to prove a difference below "+
			"%v: run the scenario alone", what,
			more.mean, moreMemory)
	}
}

// judgeRequests compares the requests that the agents of both programs sent. For each kind of request, the agents of
// the new program must send at most as many requests as the agents of the old program.
func judgeRequests(b *bench.Bench, v *Verdict, versions []comparedVersion) error {
	var byProgram []map[string]int
	for _, t := range versions {
		requests, err := audit.Requests(b.Node.AuditLog(), "system:serviceaccount:"+b.Namespace+":"+t.account)
		if err != nil {
			return err
		}
		byProgram = append(byProgram, requests)
	}
	v.Compared++
	v.Note("requests of %d agents of each program, according to the API server's audit log: old program %v, new "+
		"program %v", compareRounds*comparePairs,
		byProgram[0], byProgram[1])
	if len(byProgram[1]) == 0 {
		v.Problem("the API server's audit log contains no request of the new program")
	}
	for request, sent := range byProgram[1] {
		if before := byProgram[0][request]; sent > before {
			v.Problem("the new program sent %d requests of the kind %q, want at most %d as from the old program", sent,
				request, before)
		}
	}
	return nil
}
