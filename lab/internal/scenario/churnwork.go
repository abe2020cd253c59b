package scenario

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/synthetic"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// churnKind is a kind of change that the scenario "churn" makes.
type churnKind string

const (
	churnRollout   churnKind = "rollout"
	churnScaling   churnKind = "scaling"
	churnJob       churnKind = "job"
	churnFailedJob churnKind = "failed job"
	churnCold      churnKind = "cold image"
	churnCrash     churnKind = "fixed crash"
	churnElsewhere churnKind = "pod on the other node"
	churnRestart   churnKind = "restart of the agent"
)

// usualChanges returns the required number of changes per minute for each kind of change. The required number is 0 for
// restarts of the agent. For all other kinds of change, the required number is between a third and a half of the
// planned number. Independently of these numbers, the scenario must make each kind of change at least once.
func usualChanges() map[churnKind]float64 {
	return map[churnKind]float64{churnRollout: 1, churnScaling: 0.6, churnJob: 1, churnFailedJob: 0.2, churnCold: 1,
		churnCrash: 0.1, churnElsewhere: 1, churnRestart: 0}
}

// churnLimit is the time limit of one change. The limit is high because the machine can be busy.
const churnLimit = 3 * time.Minute

// churnReadyAfter is the time from the start of a container until the container is ready.
const churnReadyAfter = 1500 * time.Millisecond

// churner changes the workloads of a bench, and counts its changes.
type churner struct {
	bench    *bench.Bench
	other    synthetic.Kubelet
	settings node.AgentChange
	until    time.Time // time after which no change starts

	mu   sync.Mutex
	done map[churnKind]int
}

func (c *churner) count(kind churnKind) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[kind]++
}

func (c *churner) path(plural, name string) string {
	return "/apis/apps/v1/namespaces/" + c.bench.Namespace + "/" + plural + "/" + name
}

// presentContainer returns a container with an image that is already on the node.
func (c *churner) presentContainer() corev1.Container {
	return bench.MainContainer(mainName, c.bench.BaseImage, churnReadyAfter)
}

// createDeployment creates a Deployment. When createDeployment returns, the pods are not necessarily ready.
func (c *churner) createDeployment(ctx context.Context, name string, replicas int32, container corev1.Container) error {
	_, err := c.bench.CreateDeployment(ctx, name, replicas, corev1.PodSpec{Containers: []corev1.Container{container}})
	return err
}

// awaitDeployed waits until all replicas of a Deployment are up to date and available.
func (c *churner) awaitDeployed(ctx context.Context, name string) error {
	return c.bench.Node.Report.Wait(ctx, "deployment "+name, churnLimit, 500*time.Millisecond,
		func(ctx context.Context) error {
			var d appsv1.Deployment
			if err := c.bench.Kube.Get(ctx, c.path("deployments", name), &d); err != nil {
				return err
			}
			s, want := d.Status, *d.Spec.Replicas
			if s.ObservedGeneration < d.Generation || s.UpdatedReplicas != want || s.AvailableReplicas != want ||
				s.Replicas != want {
				return fmt.Errorf("the deployment has %d pods, %d updated pods and %d available pods, want %d of each",
					s.Replicas, s.UpdatedReplicas, s.AvailableReplicas, want)
			}
			return nil
		})
}

// changeDeployment merges a change into a Deployment, and waits until all replicas are up to date and available.
func (c *churner) changeDeployment(ctx context.Context, name string, spec map[string]any) error {
	if err := c.bench.Kube.Merge(ctx, c.path("deployments", name), map[string]any{"spec": spec}); err != nil {
		return fmt.Errorf("change deployment %q: %w", name, err)
	}
	return c.awaitDeployed(ctx, name)
}

// restartDeployment restarts all pods of a Deployment, like "kubectl rollout restart". The first call only creates the
// Deployment.
func (c *churner) restartDeployment(ctx context.Context, i int) error {
	const name = "rolled"
	if i == 0 {
		return errors.Join(c.createDeployment(ctx, name, 3, c.presentContainer()), c.awaitDeployed(ctx, name))
	}
	c.count(churnRollout)
	return c.changeDeployment(ctx, name, map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"churn": fmt.Sprint(i)}}}})
}

// scaleDeployment alternately increases and decreases the number of replicas of a Deployment. The first call only
// creates the Deployment.
func (c *churner) scaleDeployment(ctx context.Context, i int) error {
	const name = "scaled"
	if i == 0 {
		return errors.Join(c.createDeployment(ctx, name, 1, c.presentContainer()), c.awaitDeployed(ctx, name))
	}
	c.count(churnScaling)
	return c.changeDeployment(ctx, name, map[string]any{"replicas": 1 + 4*(i%2)})
}

// runJob runs a Job with one pod. Every fifth Job fails.
func (c *churner) runJob(ctx context.Context, i int) error {
	name, fails := fmt.Sprintf("job-%d", i+1), i%5 == 4
	container := bench.InitContainer(mainName, c.bench.BaseImage, 2*time.Second)
	if fails {
		container.Env = append(container.Env, corev1.EnvVar{Name: workload.ExitCode, Value: "1"})
	}
	retries, keptSeconds := int32(0), int32(60)
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever,
		Containers: []corev1.Container{container}}}
	jobs := "/apis/batch/v1/namespaces/" + c.bench.Namespace + "/jobs"
	if err := c.bench.Kube.Create(ctx, jobs, batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{BackoffLimit: &retries, TTLSecondsAfterFinished: &keptSeconds,
			Template: template}}); err != nil {
		return fmt.Errorf("create job %s: %w", name, err)
	}
	err := c.bench.Node.Report.Wait(ctx, "job "+name, churnLimit, 500*time.Millisecond,
		func(ctx context.Context) error {
			var job batchv1.Job
			if err := c.bench.Kube.Get(ctx, jobs+"/"+name, &job); err != nil {
				return err
			}
			if fails && job.Status.Failed > 0 || !fails && job.Status.Succeeded > 0 {
				return nil
			}
			return fmt.Errorf("the job has %d succeeded and %d failed pods", job.Status.Succeeded, job.Status.Failed)
		})
	if err == nil && fails {
		c.count(churnFailedJob)
	} else if err == nil {
		c.count(churnJob)
	}
	return err
}

// startColdPod creates a pod whose image is not on the node, and then deletes the pod. The images come alternately from
// two registries.
func (c *churner) startColdPod(ctx context.Context, i int) error {
	const size = 2 << 20
	name := fmt.Sprintf("cold-%d", i+1)
	image, err := c.bench.Image(ctx, name, size)
	if err != nil {
		return err
	}
	if i%2 == 1 {
		image = c.bench.Elsewhere(image)
	}
	container := bench.MainContainer(mainName, image, churnReadyAfter)
	if err := c.bench.CreatePod(ctx, name, corev1.PodSpec{Containers: []corev1.Container{container}}); err != nil {
		return err
	}
	if err := c.bench.AwaitReady(ctx, name, churnLimit); err != nil {
		return err
	}
	c.count(churnCold)
	if err := c.bench.DeletePod(ctx, name); err != nil {
		return err
	}
	return c.bench.AwaitGone(ctx, name)
}

// deployCrashing deploys a container that crashes before it is ready. After three restarts, deployCrashing repairs and
// then deletes the Deployment.
func (c *churner) deployCrashing(ctx context.Context, i int) error {
	const restarts = 3
	name := fmt.Sprintf("crashing-%d", i+1)
	container := c.presentContainer()
	crash(&container, churnReadyAfter/3)
	if err := c.createDeployment(ctx, name, 1, container); err != nil {
		return err
	}
	err := c.bench.Node.Report.Wait(ctx, "deployment "+name+" to crash", churnLimit, 500*time.Millisecond,
		func(ctx context.Context) error {
			pods, err := c.bench.Kube.Pods(ctx, c.bench.Namespace)
			if err != nil {
				return err
			}
			for _, pod := range pods {
				for _, status := range pod.Status.ContainerStatuses {
					if pod.Labels["app"] == name && status.RestartCount >= restarts {
						return nil
					}
				}
			}
			return fmt.Errorf("no container has restarted at least %d times yet", restarts)
		})
	if err != nil {
		return err
	}
	err = c.changeDeployment(ctx, name, map[string]any{"template": map[string]any{"spec": map[string]any{
		"containers": []corev1.Container{c.presentContainer()}}}})
	if err != nil {
		return err
	}
	c.count(churnCrash)
	return c.bench.Kube.Delete(ctx, c.path("deployments", name))
}

// startOnOtherNode starts a pod on the other node. For every second pod, the other node must pull the image.
func (c *churner) startOnOtherNode(ctx context.Context, i int) error {
	name := fmt.Sprintf("elsewhere-%d", i+1)
	_, err := c.other.Start(ctx, c.bench.Namespace, name, []string{c.bench.Reference(name)}, i%2 == 1)
	if err == nil {
		c.count(churnElsewhere)
	}
	return err
}

// restartAgent kills the agent, and starts the agent again.
func (c *churner) restartAgent(ctx context.Context, i int) error {
	if i == 0 {
		return nil // the agent has just started, so the first restart comes later
	}
	if err := c.bench.Node.KillAgent(); err != nil {
		return err
	}
	if err := c.bench.Node.RestartAgentWith(ctx, c.settings); err != nil {
		return err
	}
	c.count(churnRestart)
	return nil
}
