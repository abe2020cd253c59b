package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
)

// churnVariable names the environment variable that contains the length of the scenario "churn" in minutes.
const churnVariable = "PODLAPSE_CHURN_MINUTES"

// Limits of the scenario's length in minutes. A shorter scenario gives most alerts too little time, because they wait
// five minutes before they fire. In a longer scenario, the first data could be lost, because Prometheus keeps only the
// data of the last hour.
const (
	shortestChurn = 25
	longestChurn  = 50
)

// churnInterval is the time between two scrapes, and between two evaluations of the rules.
const churnInterval = 15 * time.Second

// controlAlert is an additional alert that always fires. Without controlAlert, the scenario would pass even if
// Prometheus evaluated no rules.
const controlAlert = "LabControl"

const controlRule = `
  - name: lab-control
    rules:
      - alert: ` + controlAlert + `
        expr: vector(1)
        for: 1m
`

// churnMinutes returns the length of the scenario "churn" in minutes.
func churnMinutes(text string) (int, error) {
	const usual = 30
	if text == "" {
		return usual, nil
	}
	minutes, err := strconv.Atoi(text)
	if err != nil || minutes < shortestChurn || minutes > longestChurn {
		return 0, fmt.Errorf("%s=%q: must be a number of minutes from %d to %d", churnVariable, text, shortestChurn,
			longestChurn)
	}
	return minutes, nil
}

// The scenario "churn" runs a real Prometheus with the unchanged rules. Meanwhile, the scenario makes the changes that
// are usual in a cluster. No alert is allowed to fire. By default, the scenario lasts half an hour.
func churn(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	minutes, err := churnMinutes(os.Getenv(churnVariable))
	if err != nil {
		return err
	}
	// Some alerts name a namespace and its pods. These alerts need the metrics that this flag enables.
	settings := node.AgentChange{Flags: []string{"--metrics-pod-labels=on"}}
	if err := b.Node.RestartAgentWith(ctx, settings); err != nil {
		return err
	}
	other, leave, err := join(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	rules, err := node.Rules()
	if err != nil {
		return err
	}
	client, err := b.Node.StartMonitoring(ctx, node.Monitoring{Interval: churnInterval,
		Rules: append(rules, controlRule...), Extra: otherNode})
	if err != nil {
		return err
	}
	startedAt := time.Now()
	length := time.Duration(minutes) * time.Minute
	c := &churner{bench: b, other: other, settings: settings, until: startedAt.Add(length), done: map[churnKind]int{}}
	if err := c.changeWorkloads(ctx, length); err != nil {
		return err
	}
	v.Note("the rules and their durations are unchanged. PodlapseNodeSlow and PodlapseNodePullQueueBound need data " +
		"of more than an hour, so these alerts cannot fire in this scenario. PodlapsePodsStuckInPhase ignores the " +
		"pull queue of a new node for an hour, and the network, volumes and devices for 15 minutes")
	return judgeChurn(ctx, client, v, time.Since(startedAt), c.done)
}

// changeWorkloads changes the workloads until the end of the scenario. Each kind of change has its own goroutine.
func (c *churner) changeWorkloads(ctx context.Context, length time.Duration) error {
	work, together := errgroup.WithContext(ctx)
	for _, change := range []struct {
		every time.Duration
		do    func(ctx context.Context, i int) error
	}{
		{30 * time.Second, c.restartDeployment},
		{45 * time.Second, c.scaleDeployment},
		{20 * time.Second, c.runJob},
		{30 * time.Second, c.startColdPod},
		{4 * time.Minute, c.deployCrashing},
		{30 * time.Second, c.startOnOtherNode},
		{length / 3, c.restartAgent},
	} {
		work.Go(func() error { return c.repeatChange(together, change.every, change.do) })
	}
	return work.Wait()
}

// repeatChange makes changes until the end of the scenario. The argument "every" is the minimum time between the starts
// of two changes.
func (c *churner) repeatChange(
	ctx context.Context, every time.Duration, change func(context.Context, int) error,
) error {
	for i := 0; time.Now().Before(c.until); i++ {
		next := time.Now().Add(every)
		if err := change(ctx, i); err != nil {
			return err
		}
		if next.After(c.until) {
			next = c.until
		}
		if err := sleep(ctx, time.Until(next)); err != nil {
			return err
		}
	}
	return nil
}

// judgeChurn requires that no alert of podlapse fired, that Prometheus evaluated all rules, and that the scenario made
// enough changes.
func judgeChurn(
	ctx context.Context, client prometheus.Client, v *Verdict, length time.Duration, done map[churnKind]int,
) error {
	for kind, perMinute := range usualChanges() {
		v.Compared++
		if want := max(1, int(perMinute*length.Minutes())); done[kind] < want {
			v.Problem("%d changes of kind %q in %s, want at least %d", done[kind], kind, length.Round(time.Second),
				want)
		}
		v.Note("%d changes of kind %q", done[kind], kind)
	}
	if err := judgeRules(ctx, client, v); err != nil {
		return err
	}
	// The variable "whole" contains a PromQL range that covers the entire scenario.
	whole := fmt.Sprintf("%ds", int((length + time.Minute).Seconds()))
	for _, required := range []struct{ what, query string }{
		{"both agents respond to most scrapes", `count(avg_over_time(up{job="podlapse"}[` + whole + `]) > 0.9) == 2`},
		{"Prometheus scrapes both agents during the whole scenario", fmt.Sprintf(
			`count(count_over_time(up{job="podlapse"}[%s]) >= %d) == 2`, whole,
			int(0.9*length.Seconds()/churnInterval.Seconds()))},
		{"the alert " + controlAlert + " fires", `ALERTS{alertname="` + controlAlert + `", alertstate="firing"}`},
		{"the agent reports two start-ups each minute", fmt.Sprintf(
			`sum(increase(podlapse_pod_startups_total{node=%q}[%s])) >= %d`, layout.NodeName, whole,
			int(2*length.Minutes()))},
		{"the agent reports pods that crash", fmt.Sprintf(
			`max_over_time(podlapse_pods_starting{node=%q, phase="crash_backoff"}[%s]) > 0`, layout.NodeName, whole)},
	} {
		v.Compared++
		samples, err := client.Query(ctx, required.query)
		if err != nil {
			return err
		}
		if len(samples) == 0 {
			v.Problem("%s: the query %s has no result", required.what, required.query)
		}
	}
	return judgeSilence(ctx, client, v, whole)
}

// judgeRules requires that Prometheus evaluated every rule without an error.
func judgeRules(ctx context.Context, client prometheus.Client, v *Verdict) error {
	rules, err := client.Rules(ctx)
	if err != nil {
		return err
	}
	alerts := map[string]bool{}
	for _, rule := range rules {
		v.Compared++
		if rule.Health != "ok" || rule.LastEvaluation.IsZero() {
			v.Problem("rule %s has health %q, last evaluation %s: %s", rule.Name, rule.Health, rule.LastEvaluation,
				rule.LastError)
		}
		if rule.Type == "alerting" {
			alerts[rule.Name] = true
		}
	}
	for _, name := range []string{nodeSlow, registrySlow, registryFailing, agentDown, controlAlert} {
		if !alerts[name] {
			v.Problem("Prometheus has no alert %s", name)
		}
	}
	return nil
}

// judgeSilence requires that no alert of podlapse fired. Pending alerts are allowed, because the condition of an alert
// can be true for a short time without a problem.
func judgeSilence(ctx context.Context, client prometheus.Client, v *Verdict, whole string) error {
	alerts, err := client.Query(ctx, `last_over_time(ALERTS{alertname=~"Podlapse.*"}[`+whole+`])`)
	if err != nil {
		return err
	}
	v.Compared++
	for _, alert := range alerts {
		if alert.Labels["alertstate"] == "firing" {
			v.Problem("%s fired: %v", alert.Labels["alertname"], alert.Labels)
		} else {
			v.Note("%s was pending: %v", alert.Labels["alertname"], alert.Labels)
		}
	}
	return nil
}
