package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"golang.org/x/sync/errgroup"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/monitoring"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/prometheus"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
)

// In the test of each fault, one of these two alerts must fire, and the other must stay silent.
const (
	nodeSlow     = "PodlapseNodeSlow"
	registrySlow = "PodlapseRegistrySlow"
)

// The scenario runs the rules faster than in production. With timesFaster, a window of one hour becomes two minutes,
// and an alert with "for: 5m" is pending for ten seconds before it fires.
const (
	timesFaster   = 30
	alertInterval = time.Second
	alertPatience = 10 * time.Second // with timesFaster, an alert with "for: 5m" is pending for this time
	// The test of PodlapseNodeSlow uses timesFastest instead of timesFaster. With timesFastest, one hour becomes one
	// minute. PodlapseNodeSlow looks at the four quarter-hours of the past hour. The alert fires only if the node was
	// slow in at least three of them.
	timesFastest = 60
)

// otherNode is a simulated node without a fault. A real agent, the extra agent, watches this node.
const otherNode = "node-2"

// healthyPace returns the durations of the start-up steps on a node without faults. The durations are similar to the
// durations on the lab's own node.
func healthyPace() synthetic.Pace {
	const ms = time.Millisecond
	return synthetic.Pace{Pickup: 50 * ms, Volumes: 300 * ms, Network: 20 * ms, Sandbox: 120 * ms, Pull: 400 * ms,
		Create: 40 * ms, Start: 100 * ms}
}

// alarm is a test with one injected fault. The alert in the field "fires" must fire because of this fault. The alert in
// the field "staysSilent" must stay silent.
type alarm struct {
	what string
	// inject injects the fault. The argument "slow" contains the names of the images in the slow registry.
	inject      func(ctx context.Context, b *bench.Bench, slow []string) error
	fires       string
	labels      map[string]string
	staysSilent string
	faster      int           // the test divides all durations in the rules by this number
	pods        int           // number of pods on each node
	apart       time.Duration // time between the starts of two pods
	since       time.Time     // start of the test, after the first scrapes; the scenario ignores earlier alerts
	// If testMore is not nil, testMore tests more situations with the same Prometheus.
	testMore func(context.Context, *bench.Bench, *Verdict, prometheus.Client) error
}

// The scenario "alerts" runs a real Prometheus, which scrapes the agents of two nodes. Prometheus evaluates a copy of
// the real rules with shorter durations. The scenario creates seven of the situations in docs/monitoring.md:
//   - a slow registry
//   - fresh nodes
//   - a slow node
//   - one bad workload
//   - a registry that fails for only one node
//   - a missing agent
//   - a registry outage while only one node has an agent
//
// The test of the slow registry is also the test of fresh nodes. In this test, the agents have just started, so all
// alerts about nodes must stay silent.
func alerts(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		rate  = 350 << 10 // bytes per second: an image of 2 MiB takes six seconds
		delay = 4 * time.Second
	)
	v.Note("the rules run %d or %d times as fast: windows, offsets, intervals and waiting times are divided by this "+
		"number; thresholds are unchanged", timesFaster, timesFastest)
	for _, a := range []alarm{
		// A burst of pods would make any node slow, so the scenario pauses between the starts of two pods.
		{what: "registry", fires: registrySlow, staysSilent: nodeSlow, faster: timesFaster, pods: 12,
			apart:  500 * time.Millisecond,
			labels: map[string]string{"registry": node.OtherRegistry},
			inject: func(ctx context.Context, b *bench.Bench, slow []string) error {
				return b.ThrottleImages(ctx, rate, slow...)
			}},
		{what: "node", fires: nodeSlow, staysSilent: registrySlow, faster: timesFastest, pods: 18,
			apart: 4 * time.Second, labels: map[string]string{"node": "node-1"}, testMore: failures,
			inject: func(_ context.Context, b *bench.Bench, _ []string) error { return b.DelayNetwork(delay) }},
	} {
		if err := testAlarm(ctx, b, v, a); err != nil {
			return err
		}
	}
	return nil
}

// testAlarm runs the test of one alarm. testAlarm restarts the agents, starts an empty Prometheus, injects the fault,
// and checks which alerts fire.
func testAlarm(ctx context.Context, b *bench.Bench, v *Verdict, a alarm) (err error) {
	if err := b.Node.RestartDeployed(ctx); err != nil {
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
	if rules, err = monitoring.Faster(rules, a.faster); err != nil {
		return err
	}
	client, err := b.Node.StartMonitoring(ctx, node.Monitoring{Interval: alertInterval, Rules: rules, Extra: otherNode})
	if err != nil {
		return err
	}
	if err := awaitAge(ctx, 0); err != nil {
		return err
	}
	if a.since, err = awaitScraped(ctx, b, client); err != nil {
		return err
	}
	if err := startOnBoth(ctx, b, other, a); err != nil {
		return err
	}
	if err := b.ResetFaults(ctx); err != nil {
		return err
	}
	if err := judgeAlarm(ctx, b, v, client, a); err != nil || a.testMore == nil {
		return err
	}
	return a.testMore(ctx, b, v, client)
}

// awaitScraped waits until Prometheus has scraped both agents and no alert fires. Then awaitScraped returns the current
// time. An empty Prometheus needs some seconds to find its targets. Meanwhile, PodlapseAgentDown can fire, because the
// alert is pending for only a few seconds in the accelerated rules.
func awaitScraped(ctx context.Context, b *bench.Bench, client prometheus.Client) (time.Time, error) {
	const both = `count(podlapse_build_info) == 2 unless on () ALERTS{alertstate="firing"}`
	err := b.Node.Report.Wait(ctx, "Prometheus to scrape both agents", startLimit, alertInterval,
		func(ctx context.Context) error {
			samples, err := client.Query(ctx, both)
			if err == nil && len(samples) == 0 {
				err = errors.New("the metrics of an agent are missing in Prometheus, or an alert fires")
			}
			return err
		})
	return time.Now(), err
}

// join adds the other node and its agent to the cluster. The returned function "leave" removes the other node and its
// agent.
func join(ctx context.Context, b *bench.Bench) (kubelet synthetic.Kubelet, leave func() error, err error) {
	runtime := synthetic.NewContainerd()
	stop, err := runtime.Serve(b.Node.ExtraSocket())
	if err != nil {
		return synthetic.Kubelet{}, nil, err
	}
	living, end := context.WithCancel(ctx)
	alive, living := errgroup.WithContext(living)
	leave = func() error {
		end()
		err := errors.Join(alive.Wait(), b.Node.StopExtraAgents(),
			synthetic.Unregister(context.WithoutCancel(ctx), b.Kube, otherNode))
		stop()
		return err
	}
	if err := synthetic.Register(ctx, b.Kube, otherNode); err != nil {
		return synthetic.Kubelet{}, nil, errors.Join(err, leave())
	}
	alive.Go(func() error { return synthetic.KeepAlive(living, b.Kube, otherNode) })
	if err := b.Node.StartExtraAgents(ctx, otherNode, 1); err != nil {
		return synthetic.Kubelet{}, nil, errors.Join(err, leave())
	}
	return synthetic.Kubelet{Kube: b.Kube, Runtime: runtime, Node: otherNode, Pace: healthyPace()}, leave, nil
}

// startOnBoth starts the same number of pods on both nodes, and waits until the agent has reported the pods of the real
// node. Each pod has an image that its node must pull. On the real node, the images come alternately from the slow
// registry and from the lab's registry. On the other node, all images come from the lab's registry. The slow registry
// is the lab's registry under a second name.
func startOnBoth(ctx context.Context, b *bench.Bench, other synthetic.Kubelet, a alarm) error {
	const layerSize = 2 << 20
	images := make([]string, a.pods)
	var slow []string
	for i := range images {
		name := fmt.Sprintf("%s-%d", a.what, i+1)
		var err error
		if images[i], err = b.Image(ctx, name, layerSize); err != nil {
			return err
		}
		if i%2 == 0 {
			slow, images[i] = append(slow, name), b.Elsewhere(images[i])
		}
	}
	if err := a.inject(ctx, b, slow); err != nil {
		return err
	}
	work, together := errgroup.WithContext(ctx)
	for i, image := range images {
		name := fmt.Sprintf("%s-%d", a.what, i+1)
		work.Go(func() error {
			if err := sleep(together, time.Duration(i)*a.apart); err != nil {
				return err
			}
			spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}}
			if err := b.CreatePod(together, name, spec); err != nil {
				return err
			}
			if err := b.AwaitReady(together, name, 2*time.Minute); err != nil {
				return err
			}
			_, err := b.AwaitSettled(together, name)
			return err
		})
		work.Go(func() error {
			if err := sleep(together, time.Duration(i)*a.apart); err != nil {
				return err
			}
			_, err := other.Start(together, b.Namespace, name+"-elsewhere", []string{b.Reference(name)}, true)
			return err
		})
	}
	return work.Wait()
}

// judgeAlarm requires that the expected alert fires with the labels of the injected fault. The alert in the field
// staysSilent must not even be pending. No other alert of podlapse is allowed to fire.
func judgeAlarm(ctx context.Context, b *bench.Bench, v *Verdict, client prometheus.Client, a alarm) error {
	firing := func(alert string) ([]prometheus.Sample, error) {
		return client.Query(ctx, fmt.Sprintf(`ALERTS{alertname=%q, alertstate="firing"}`, alert))
	}
	v.Compared += 2
	err := b.Node.Report.Wait(ctx, a.fires+" to fire", alertPatience+20*time.Second, alertInterval,
		func(context.Context) error {
			alerts, err := firing(a.fires)
			if err == nil && len(alerts) == 0 {
				err = fmt.Errorf("the alert %q does not fire", a.fires)
			}
			return err
		})
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		v.Problem("slow %s: the alert must fire: %v", a.what, err)
	}
	// The agent has already reported the last pod, so the data for a.fires and a.staysSilent no longer changes.
	if err := sleep(ctx, alertPatience/2); err != nil {
		return err
	}
	alerts, err := firing(a.fires)
	if err != nil {
		return err
	}
	for _, alert := range alerts {
		for name, want := range a.labels {
			if got := alert.Labels[name]; got != want {
				v.Problem("slow %s: %s fires with label %s=%q, want %q", a.what, a.fires, name, got, want)
			}
		}
	}
	silent, err := client.Query(ctx, fmt.Sprintf(`last_over_time(ALERTS{alertname=%q}[10m])`, a.staysSilent))
	if err != nil {
		return err
	}
	for _, alert := range silent {
		v.Problem("slow %s: %s must stay inactive, but was %s: %v", a.what, a.staysSilent,
			alert.Labels["alertstate"], alert.Labels)
	}
	others, err := client.Query(ctx,
		fmt.Sprintf(`last_over_time(ALERTS{alertname=~"Podlapse.*", alertname!=%q, alertstate="firing"}[%ds])`,
			a.fires, int(time.Since(a.since).Seconds())))
	if err != nil {
		return err
	}
	v.Compared++
	for _, alert := range others {
		v.Problem("slow %s: %s must not fire, but fired: %v", a.what, alert.Labels["alertname"], alert.Labels)
	}
	return noteFactors(ctx, v, client, a)
}

// noteFactors adds a factor for each node and for each registry to the verdict. The rules compute this factor: the time
// that the node or the registry needed, divided by the expected time.
func noteFactors(ctx context.Context, v *Verdict, client prometheus.Client, a alarm) error {
	for expression, label := range map[string]string{"node:podlapse_node_factor:ratio1h": "node",
		"registry:podlapse_registry_factor:ratio1h": "registry"} {
		samples, err := client.Query(ctx, expression)
		if err != nil {
			return err
		}
		for _, s := range samples {
			v.Note("slow %s: %s %s has a factor of %.1f", a.what, label, s.Labels[label], s.Value)
		}
	}
	return nil
}
