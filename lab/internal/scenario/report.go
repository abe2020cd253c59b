package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// The workloads of the scenario "report", and the faults of these workloads. The lab's registry sends most images at
// nearRate. The image references of the workloads "far-0", "far-1" and so on contain a second name of the lab's
// registry. The registry sends these images at farRate. The image of the workload "large" is larger than the other
// images. The scenario creates the ConfigMap of the workload "broken" late. The workload "plain" has no fault.
const (
	reportNear, reportFar, reportPlain = 6, 4, 6

	reportSize  = 4 << 20
	reportLarge = 48 << 20
	nearRate    = 8 << 20   // bytes per second
	farRate     = 512 << 10 // bytes per second; an image takes eight seconds

	brokenName  = "broken"
	configDelay = 15 * time.Second
	// configRetry is the longest time until the kubelet notices the ConfigMap.
	configRetry = 75 * time.Second
)

// reportTolerance is the largest accepted relative difference between a reported factor and the true factor.
const reportTolerance = 0.25

// fleetReport contains the fields that the scenario checks in the JSON output of the command "report".
type fleetReport struct {
	NodeCount  int           `json:"node_count"`
	StartUps   int           `json:"start_ups"`
	Failures   int           `json:"failures"`
	InProgress int           `json:"in_progress"`
	Seconds    json.Number   `json:"seconds"`
	Causes     reportSection `json:"causes"`
	Nodes      reportSection `json:"nodes"`
	Registries reportSection `json:"registries"`
	Images     reportSection `json:"images"`
	Workloads  reportSection `json:"workloads"`
	Notes      []string      `json:"notes"`
}

type reportSection struct {
	Items []reportRow `json:"items"`
	Note  string      `json:"note"`
}

type reportRow struct {
	Name     string      `json:"name"`
	Factor   float64     `json:"factor"`
	Lost     json.Number `json:"lost_seconds"`
	Seconds  json.Number `json:"seconds"`
	Pulls    int         `json:"pulls"`
	Most     string      `json:"most"`
	MostLost json.Number `json:"most_lost_seconds"`
}

func (s reportSection) row(name string) (reportRow, bool) {
	i := slices.IndexFunc(s.Items, func(r reportRow) bool { return r.Name == name })
	if i < 0 {
		return reportRow{}, false
	}
	return s.Items[i], true
}

// The scenario "report" starts workloads with three faults: a slow registry, a large image and a missing ConfigMap.
// The command "report" must name each fault. The pull times and the factors in its output must match the truth. Then
// the report includes two more nodes: a slow node, and a node whose agent does not respond. With --prometheus, the
// command must report the same results about the two responding nodes as without --prometheus. After a restart of the
// agent, the command must report the same results as before the restart.
func report(ctx context.Context, b *bench.Bench, v *Verdict) (err error) {
	flags, err := reportFlags(ctx, b)
	if err != nil {
		return err
	}
	if err := b.Node.RestartAgentWith(ctx, node.AgentChange{Flags: flags}); err != nil {
		return err
	}
	runtime, leave, err := joinSlow(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, leave()) }()
	metrics, err := v.monitorReport(ctx, b)
	if err != nil {
		return err
	}
	pulls, err := b.CollectPulls()
	if err != nil {
		return err
	}
	arrivals, stop := b.Watch(ctx)
	images, err := startReported(ctx, b)
	if err != nil {
		return err
	}
	const total = reportNear + reportFar + reportPlain + 2
	before, err := awaitReport(ctx, b, total)
	if err != nil {
		return err
	}
	v.judgeReport(b, before)
	truth, err := readReportTruth(ctx, b, pulls, arrivals, images)
	if err != nil {
		return err
	}
	v.judgeFactors(before, truth)
	if err := v.requireReportText(ctx, b); err != nil {
		return err
	}
	if err := v.judgeSlowNode(ctx, b, slowNodeRun{runtime, arrivals, truth, total, metrics}); err != nil {
		return err
	}
	// The scenario changes the log level, because the lab restarts an agent only if its settings change.
	change := node.AgentChange{Flags: append(flags, "--log-level=warn")}
	if err := b.Node.RestartAgentWith(ctx, change); err != nil {
		return err
	}
	after, err := awaitReport(ctx, b, total)
	if err != nil {
		return err
	}
	if v.Compared++; fmt.Sprint(before) != fmt.Sprint(after) {
		v.Problem("the report differs after a restart of the agent:\n%+v\nbefore:\n%+v", after, before)
	}
	return stop()
}

// reportFlags returns the flags of the agent. The report from Prometheus needs the metrics of workloads. One row of
// the dashboard needs the metrics of the node's start-up. With these flags, the agent uses the current time as the
// machine's boot time. Therefore, the node's start-up ends with the first pod of the scenario.
func reportFlags(ctx context.Context, b *bench.Bench) ([]string, error) {
	err := b.GrantAgent(ctx, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"nodes"},
		Verbs: []string{"list", "watch"}})
	if err != nil {
		return nil, err
	}
	proc, err := b.Node.BootFiles(time.Now())
	if err != nil {
		return nil, err
	}
	// With a new state directory, the report contains no start-ups of earlier scenarios.
	state := "--state-dir=" + b.Node.In("report-state-"+b.Namespace)
	return []string{state, withWorkloads, "--node-startup", "--proc-dir=" + proc}, nil
}

// withWorkloads is the agents' flag that enables the metrics of workloads. The scenario has fewer than 20 workloads.
const withWorkloads = "--metrics-workloads=20"

// startReported starts the workloads one after the other, so that no pull waits for another pull. startReported
// returns the image reference of each workload that pulls an image.
func startReported(ctx context.Context, b *bench.Bench) (map[string]string, error) {
	var names []string
	for i := range reportNear {
		names = append(names, fmt.Sprintf("near-%d", i))
	}
	for i := range reportFar {
		names = append(names, fmt.Sprintf("far-%d", i))
	}
	images := map[string]string{}
	for _, name := range append(names, "large") {
		size, rate := reportSize, int64(nearRate)
		if name == "large" {
			size = reportLarge
		}
		reference, err := b.Image(ctx, name, size)
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(name, "far-") {
			reference, rate = b.Elsewhere(reference), farRate
		}
		if err := b.Break(ctx, name, registry.Rule{BytesPerSecond: rate}); err != nil {
			return nil, err
		}
		images[name] = reference
		if err := startReportedOne(ctx, b, name, 1, workloadSpec(reference, workloadReadyAfter)); err != nil {
			return nil, err
		}
	}
	present := func() corev1.PodSpec {
		return corev1.PodSpec{Containers: []corev1.Container{
			bench.MainContainer(mainName, b.BaseImage, workloadReadyAfter)}}
	}
	if err := startReportedOne(ctx, b, "plain", reportPlain, present()); err != nil {
		return nil, err
	}
	broken := present()
	broken.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}
	if _, err := b.CreateDeployment(ctx, brokenName, 1, broken); err != nil {
		return nil, err
	}
	if err := sleep(ctx, configDelay); err != nil {
		return nil, err
	}
	if err := b.CreateConfigMap(ctx, "late"); err != nil {
		return nil, err
	}
	return images, awaitReported(ctx, b, brokenName, 1)
}

func startReportedOne(ctx context.Context, b *bench.Bench, name string, replicas int, spec corev1.PodSpec) error {
	if _, err := b.CreateDeployment(ctx, name, int32(replicas), spec); err != nil {
		return err
	}
	return awaitReported(ctx, b, name, replicas)
}

// awaitReported waits until the pods of a Deployment are ready. The kubelet can take more than a minute to notice a new
// ConfigMap.
func awaitReported(ctx context.Context, b *bench.Bench, name string, replicas int) error {
	var err error
	for end := time.Now().Add(2 * configRetry); time.Now().Before(end); {
		if _, err = (scaledWorkload{b: b, name: name}).await(ctx, replicas); err == nil {
			return nil
		}
	}
	return err
}

// awaitReport waits until the report contains all start-ups.
func awaitReport(ctx context.Context, b *bench.Bench, total int) (fleetReport, error) {
	return awaitReportOf(ctx, b, total, func(ctx context.Context) (string, error) {
		return runReportCommand(ctx, b, "-o", "json")
	})
}

func awaitReportOf(ctx context.Context, b *bench.Bench, total int,
	runReport func(context.Context) (string, error)) (found fleetReport, err error) {
	err = b.Node.Report.Wait(ctx, "the report to contain all start-ups", time.Minute, 500*time.Millisecond,
		func(ctx context.Context) error {
			text, err := runReport(ctx)
			if err != nil {
				return err
			}
			found = fleetReport{}
			if err := json.Unmarshal([]byte(text), &found); err != nil {
				return fmt.Errorf("read the report: %w", err)
			}
			if found.StartUps < total || found.InProgress > 0 {
				return fmt.Errorf("the report contains %d completed start-ups and %d start-ups in progress, "+
					"want %d and 0",
					found.StartUps, found.InProgress, total)
			}
			return nil
		})
	return found, err
}

func runReportCommand(ctx context.Context, b *bench.Bench, arguments ...string) (string, error) {
	return runAgent(ctx, b, append([]string{"report", "--server", b.Agent.Server, "--rows", "100"}, arguments...)...)
}
