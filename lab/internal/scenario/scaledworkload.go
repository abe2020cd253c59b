package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// scaledWorkload is a Deployment to which a scenario adds pods. The container has the pull policy Always. If the
// content of the image has changed since the previous pod started, the node pulls the image again.
type scaledWorkload struct {
	b     *bench.Bench
	name  string
	pulls *bench.PullCollector
}

// workloadPullRate is the download rate of the images, in bytes per second.
const workloadPullRate = 4 << 20

// workloadReadyAfter is the shortest time from the start of the container's process until the container is ready.
// workloadReadyAfter must be longer than the period of the readiness probe.
const workloadReadyAfter = 1200 * time.Millisecond

// createScaledWorkload creates a Deployment without pods.
func createScaledWorkload(ctx context.Context, b *bench.Bench, name, image string,
	readyAfter time.Duration) (scaledWorkload, error) {
	if err := b.Throttle(ctx, workloadPullRate); err != nil {
		return scaledWorkload{}, err
	}
	pulls, err := b.CollectPulls()
	if err != nil {
		return scaledWorkload{}, err
	}
	_, err = b.CreateDeployment(ctx, name, 0, workloadSpec(image, readyAfter))
	return scaledWorkload{b, name, pulls}, err
}

func workloadSpec(image string, readyAfter time.Duration) corev1.PodSpec {
	main := bench.MainContainer(mainName, image, readyAfter)
	main.ImagePullPolicy = corev1.PullAlways
	return corev1.PodSpec{Containers: []corev1.Container{main}}
}

func (g scaledWorkload) path() string {
	return "/apis/apps/v1/namespaces/" + g.b.Namespace + "/deployments/" + g.name
}

// scale sets the number of pods, and does not wait for the pods.
func (g scaledWorkload) scale(ctx context.Context, replicas int) error {
	change := map[string]any{"spec": map[string]any{"replicas": replicas}}
	if err := g.b.Kube.Merge(ctx, g.path(), change); err != nil {
		return fmt.Errorf("scale deployment %q: %w", g.name, err)
	}
	return nil
}

// scaleInSteps increases the number of pods by two at a time, and waits until all pods are ready. If more than two pods
// started at the same time, the pods would delay each other. scaleInSteps returns the names of all pods.
func (g scaledWorkload) scaleInSteps(ctx context.Context, from, to int) (names []string, err error) {
	for count := from; count < to; {
		count = min(count+2, to)
		if err := g.scale(ctx, count); err != nil {
			return nil, err
		}
		if names, err = g.await(ctx, count); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// roll deletes all pods of the Deployment, and then gives the Deployment another pod template. If the argument "label"
// has a new value, the template is a new revision.
func (g scaledWorkload) roll(ctx context.Context, label, image string, readyAfter time.Duration) error {
	if err := g.scale(ctx, 0); err != nil {
		return err
	}
	if _, err := g.await(ctx, 0); err != nil {
		return err
	}
	template := map[string]any{"metadata": map[string]any{"labels": map[string]string{"roll": label}},
		"spec": workloadSpec(image, readyAfter)}
	change := map[string]any{"spec": map[string]any{"template": template}}
	if err := g.b.Kube.Merge(ctx, g.path(), change); err != nil {
		return fmt.Errorf("roll out deployment %q: %w", g.name, err)
	}
	return nil
}

// await waits until the Deployment has exactly the given number of pods and all these pods are ready. await returns the
// names of the pods.
func (g scaledWorkload) await(ctx context.Context, count int) (names []string, err error) {
	what := fmt.Sprintf("%d ready pods of deployment %s", count, g.name)
	err = g.b.Node.Report.Wait(ctx, what, time.Minute, 100*time.Millisecond, func(ctx context.Context) error {
		pods, err := g.b.Kube.Pods(ctx, g.b.Namespace)
		if err != nil {
			return err
		}
		ready := func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		}
		names = nil
		for _, pod := range pods {
			if pod.Labels["app"] != g.name {
				continue
			}
			if pod.DeletionTimestamp != nil || !slices.ContainsFunc(pod.Status.Conditions, ready) {
				return fmt.Errorf("pod %s is being deleted or is not ready", pod.Name)
			}
			names = append(names, pod.Name)
		}
		if len(names) != count {
			return fmt.Errorf("deployment %q has %d pods, want %d", g.name, len(names), count)
		}
		return nil
	})
	return names, err
}

// addCold adds pods one at a time. Before each pod, addCold pushes an image with new content, so each pod waits for the
// download of the entire image. The argument "from" is the number of pods that the Deployment already has. addCold
// returns the durations of the pulls, according to the registry's log.
func (g scaledWorkload) addCold(ctx context.Context, from, count int, image string, size int) ([]time.Duration, error) {
	var known []string
	var lengths []time.Duration
	for i := range count {
		reference, err := g.b.Image(ctx, image, size)
		if err != nil {
			return nil, err
		}
		if from+i > 0 && known == nil {
			if known, err = g.await(ctx, from+i); err != nil {
				return nil, err
			}
		}
		if err := g.scale(ctx, from+i+1); err != nil {
			return nil, err
		}
		names, err := g.await(ctx, from+i+1)
		if err != nil {
			return nil, err
		}
		pod := names[slices.IndexFunc(names, func(name string) bool { return !slices.Contains(known, name) })]
		known = names
		attempts, err := g.pulls.Attempts(ctx, reference)
		if err != nil {
			return nil, err
		}
		mine := bench.Of(attempts, pod, mainName)
		if len(mine) != 1 {
			return nil, fmt.Errorf("pod %s pulled its image in %d attempts, want 1", pod, len(mine))
		}
		if mine[0].BlobBytes < int64(size) {
			return nil, fmt.Errorf("pod %s downloaded %d bytes of its image, want at least %d", pod,
				mine[0].BlobBytes, size)
		}
		lengths = append(lengths, mine[0].RegistryTime.Length())
	}
	return lengths, nil
}

// meanOf returns the mean of durations.
func meanOf(lengths []time.Duration) time.Duration {
	var sum time.Duration
	for _, length := range lengths {
		sum += length
	}
	return sum / time.Duration(max(len(lengths), 1))
}

// workloadReport is the JSON that the command "explain" prints for a workload.
type workloadReport struct {
	Items []struct {
		Name       string      `json:"name"`
		State      string      `json:"state"`
		Total      json.Number `json:"total_seconds"`
		TotalError json.Number `json:"total_error_seconds"`
	} `json:"items"`
	Summary struct {
		StartUps struct {
			Measured   int `json:"measured"`
			InProgress int `json:"in_progress"`
			GivenUp    int `json:"given_up"`
			Failed     int `json:"failed"`
			Deleted    int `json:"deleted"`
			Unknown    int `json:"unknown_duration"`
		} `json:"start_ups"`
		Durations struct {
			Mean    json.Number `json:"mean_seconds"`
			P50     json.Number `json:"p50_seconds"`
			P90     json.Number `json:"p90_seconds"`
			Slowest json.Number `json:"slowest_seconds"`
		} `json:"durations"`
		Causes []struct {
			Cause string      `json:"cause"`
			Mean  json.Number `json:"mean_seconds"`
		} `json:"causes"`
		Images struct {
			Present struct {
				StartUps int `json:"start_ups"`
			} `json:"present"`
			Pulled struct {
				StartUps int `json:"start_ups"`
			} `json:"pulled"`
			Unknown    int                `json:"unknown"`
			Difference workloadDifference `json:"difference"`
		} `json:"images"`
		Revisions []struct {
			Name       string `json:"revision"`
			Number     int    `json:"number"`
			Pulled     int    `json:"pulled"`
			ImageBytes int64  `json:"image_bytes"`
		} `json:"revisions"`
		Comparison struct {
			From       string             `json:"from"`
			To         string             `json:"to"`
			Difference workloadDifference `json:"difference"`
		} `json:"comparison"`
	} `json:"summary"`
}

type workloadDifference struct {
	Verdict string      `json:"verdict"`
	Seconds json.Number `json:"seconds"`
	P       float64     `json:"p"`
	Parts   []struct {
		Phase   string      `json:"phase"`
		Seconds json.Number `json:"seconds"`
	} `json:"parts"`
}

// part returns how much a phase contributes to the difference.
func (d workloadDifference) part(phase string) (length time.Duration, there bool) {
	for _, part := range d.Parts {
		if part.Phase == phase {
			length, err := agent.Nanoseconds(part.Seconds)
			return length, err == nil
		}
	}
	return 0, false
}

// compareNumber compares a duration of the report with the truth.
func (v *Verdict) compareNumber(what string, injected, truth time.Duration, reported json.Number, limit time.Duration) {
	measured, err := agent.Nanoseconds(reported)
	v.Compare(what, injected, truth, measured, err == nil, limit)
}

// explainOnNode runs the command "explain" with the URL of the node's agent.
func explainOnNode(ctx context.Context, b *bench.Bench, arguments ...string) (string, error) {
	return runAgent(ctx, b, append([]string{"explain", "--server", b.Agent.Server, "-n", b.Namespace}, arguments...)...)
}

func readWorkloadReport(text string) (report workloadReport, err error) {
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		return report, fmt.Errorf("read the summary of the workload: %w", err)
	}
	return report, nil
}
