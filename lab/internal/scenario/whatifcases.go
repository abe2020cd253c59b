package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// The sizes of the images, and the download rate.
const (
	whatIfRate  = 256 << 10 // bytes per second for each response of the registry
	whatIfLayer = 6 * whatIfRate
	whatIfSmall = whatIfRate
	whatIfLarge = 9 * whatIfRate
)

// whatIfPeriod is the period of the readiness probe before the change.
const whatIfPeriod = 10 * time.Second

// whatIfCase is one change. The agent predicts the effect of the change, and then the scenario makes the change.
type whatIfCase struct {
	name      string
	change    string // the name of the change in the agent's output
	container string
	byChance  bool // true if the saved time depends on chance; then the prediction has no estimate
	together  int  // number of pairs that can start at the same time without disturbing each other
	// wide returns the limit for the mean length of the predicted intervals. The argument "before" is the mean duration
	// of the start-ups before the change.
	wide func(before time.Duration) time.Duration
	// spec returns the specification of one pod of pair i. If "changed" is true, this pod is the pod with the change.
	spec func(ctx context.Context, b *bench.Bench, i int, changed bool) (corev1.PodSpec, error)
	// duringUnchanged runs while a pod without the change starts. duringUnchanged can be nil.
	duringUnchanged func(ctx context.Context, b *bench.Bench, i int) error
	// whenReady runs when a pod is ready. whenReady can be nil.
	whenReady func(ctx context.Context, b *bench.Bench, i int, changed bool) error
	// If the change is a setting of the kubelet, the function "setting" makes this change for all pods. For any other
	// change, the function is nil.
	setting func(ctx context.Context, b *bench.Bench) error
}

// widthLimit returns a function for the field "wide" of a case. The limit is a percentage of the duration of the
// start-up, plus 4 s, plus 1.25 times the period of the pod's probe. The test of package internal/whatif requires the
// same limit for simulated start-ups.
func widthLimit(percent int, period time.Duration) func(time.Duration) time.Duration {
	return func(before time.Duration) time.Duration {
		return before*time.Duration(percent)/100 + 4*time.Second + period*5/4
	}
}

func whatIfCases() []whatIfCase {
	usual := widthLimit(30, 0)
	return []whatIfCase{
		{name: "image", change: "images_on_node", spec: withImage, wide: usual},
		{name: "readiness", change: "readiness_period", container: mainName, together: 4, spec: withProbe,
			byChance: true, wide: widthLimit(30, whatIfPeriod)},
		{name: "config", change: "config_present", container: mainName, together: 4, spec: withConfig, wide: usual,
			duringUnchanged: func(ctx context.Context, b *bench.Bench, i int) error {
				if err := sleep(ctx, 8*time.Second); err != nil {
					return err
				}
				return b.CreateConfigMap(ctx, whatIfName("config", i))
			}},
		{name: "sidecar", change: "init_as_sidecar", container: initName, spec: asSidecar, wide: usual},
		{name: "queue", change: "parallel_pulls", spec: behindOther, whenReady: awaitOther, wide: widthLimit(50, 0),
			setting: func(ctx context.Context, b *bench.Bench) error { return b.Node.PullInParallel(ctx, 4) }},
	}
}

func whatIfName(what string, i int) string { return fmt.Sprintf("%s-%d", what, i) }

func mainOf(image string) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}}
}

// Without the change, withImage returns a pod whose image is not on the node. With the change, the node already has the
// image, because the first pod of the pair pulled it.
func withImage(ctx context.Context, b *bench.Bench, i int, changed bool) (corev1.PodSpec, error) {
	name := whatIfName("image", i)
	if changed {
		return mainOf(b.Reference(name)), nil
	}
	image, err := b.Image(ctx, name, whatIfLayer)
	return mainOf(image), err
}

// withProbe returns a pod with a readiness probe. The probe cannot succeed before the container has run for 2 to 11
// seconds. The exact time depends on i. Each attempt of the probe can wait for up to one second. Therefore, an attempt
// also succeeds if it starts at most one second before this time.
func withProbe(_ context.Context, b *bench.Bench, i int, changed bool) (corev1.PodSpec, error) {
	main := bench.MainContainer(mainName, b.BaseImage, 2*time.Second+time.Duration(i%20)*450*time.Millisecond)
	main.ReadinessProbe.PeriodSeconds, main.ReadinessProbe.TimeoutSeconds = int32(whatIfPeriod/time.Second), 1
	if changed {
		main.ReadinessProbe.PeriodSeconds = 1
	}
	return corev1.PodSpec{Containers: []corev1.Container{main}}, nil
}

// withConfig returns a pod with environment variables from a ConfigMap.
func withConfig(_ context.Context, b *bench.Bench, i int, _ bool) (corev1.PodSpec, error) {
	spec := mainOf(b.BaseImage)
	spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: whatIfName("config", i)}}}}
	return spec, nil
}

// asSidecar returns a pod whose init container runs for five seconds. With the change, the init container is a
// sidecar, which runs until the end of the pod.
func asSidecar(_ context.Context, b *bench.Bench, _ int, changed bool) (corev1.PodSpec, error) {
	spec := mainOf(b.BaseImage)
	spec.InitContainers = []corev1.Container{bench.InitContainer(initName, b.BaseImage, 5*time.Second)}
	if changed {
		spec.InitContainers[0] = bench.Sidecar(initName, b.BaseImage)
	}
	return spec, nil
}

// behindOther starts a pod that pulls a large image, and returns a pod that pulls a small image at the same time.
func behindOther(ctx context.Context, b *bench.Bench, i int, changed bool) (corev1.PodSpec, error) {
	large, small := otherName(i, changed), whatIfName("small", i)
	if changed {
		small += "-after"
	}
	image, err := b.Image(ctx, large, whatIfLarge)
	if err != nil {
		return corev1.PodSpec{}, err
	}
	if err := b.CreatePod(ctx, large, mainOf(image)); err != nil {
		return corev1.PodSpec{}, err
	}
	err = b.Node.Report.Wait(ctx, "the kubelet to request the image of pod "+large, startLimit, 20*time.Millisecond,
		func(ctx context.Context) error {
			_, err := b.PullRequestedAt(ctx, large)
			return err
		})
	if err != nil {
		return corev1.PodSpec{}, err
	}
	image, err = b.Image(ctx, small, whatIfSmall)
	return mainOf(image), err
}

func otherName(i int, changed bool) string {
	if changed {
		return whatIfName("large-after", i)
	}
	return whatIfName("large", i)
}

// awaitOther waits until the pod with the large image is ready, and then deletes this pod. Without the wait, the pull
// of the large image would delay the next pair.
func awaitOther(ctx context.Context, b *bench.Bench, i int, changed bool) error {
	large := otherName(i, changed)
	if err := b.AwaitReady(ctx, large, startLimit); err != nil {
		return err
	}
	return b.DeletePod(ctx, large)
}
