package scenario

import (
	"context"
	"errors"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// outOfMemory is the name of an examRow. The pod of this examRow exceeds its memory limit, so the node must enforce
// memory limits.
const outOfMemory = "out-of-memory"

// crashRows returns examRows (start-ups) in which a container exits repeatedly and the pod does not become ready.
func crashRows() []examRow {
	endless := func(container string, ends int, change func(x *examPod, spec *corev1.PodSpec)) playFunc {
		return func(ctx context.Context, x *examPod) error {
			spec := onePod(x.bench().BaseImage, time.Minute)
			change(x, &spec)
			return errors.Join(x.create(ctx, spec), x.awaitExits(ctx, container, ends))
		}
	}
	return []examRow{
		{"exits-with-0", "a container repeatedly exits with code 0: back-off",
			endless(mainName, 3, func(_ *examPod, spec *corev1.PodSpec) {
				setVariable(&spec.Containers[0], workload.RunFor, 1500*time.Millisecond)
			})},
		{"exits-with-1", "a container fails repeatedly: back-off",
			endless(mainName, 3, func(_ *examPod, spec *corev1.PodSpec) { crash(&spec.Containers[0], 2*time.Second) })},
		{"init-fails", "an init container fails repeatedly: back-off",
			endless(initName, 3, func(x *examPod, spec *corev1.PodSpec) {
				init := corev1.Container{Name: initName, Image: x.bench().BaseImage}
				crash(&init, 1500*time.Millisecond)
				spec.InitContainers = []corev1.Container{init}
			})},
		{"liveness-kills", "a liveness probe fails and the kubelet kills the container: application",
			endless(mainName, 2, func(_ *examPod, spec *corev1.PodSpec) {
				fails := &corev1.ExecAction{Command: []string{workload.Path, "fail"}}
				spec.Containers[0].LivenessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: fails},
					PeriodSeconds: 2, FailureThreshold: 2, InitialDelaySeconds: 2}
			})},
		{outOfMemory, "the kernel repeatedly kills the container for exceeding its memory limit: application, " +
			"then back-off",
			endless(mainName, 2, func(_ *examPod, spec *corev1.PodSpec) {
				setVariable(&spec.Containers[0], workload.FillAfter, 2*time.Second)
				limit := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("64Mi")}
				spec.Containers[0].Resources.Limits = limit
			})},
	}
}

// setVariable sets an environment variable of a container. The workload program in the container reads the variable.
func setVariable(c *corev1.Container, name string, value time.Duration) {
	c.Env = append(c.Env, corev1.EnvVar{Name: name, Value: value.String()})
}

// appRows returns examRows (start-ups) that are slow or fail because of the pod's own containers, probes or gates.
func appRows(long func() time.Duration) []examRow {
	started := func(spec func(image string) corev1.PodSpec) playFunc {
		return func(ctx context.Context, x *examPod) error { return x.start(ctx, spec(x.bench().BaseImage)) }
	}
	return append(crashRows(), []examRow{
		{"slow-init", "an init container is slow: application", started(func(image string) corev1.PodSpec {
			spec := onePod(image, readySoon)
			spec.InitContainers = []corev1.Container{bench.InitContainer(initName, image, long())}
			return spec
		})},
		{"hook", "a post-start hook is slow: application", started(func(image string) corev1.PodSpec {
			spec := onePod(image, readySoon)
			hooked := bench.WithHook(corev1.Container{Name: hookedName, Image: image}, long())
			spec.Containers = append([]corev1.Container{hooked}, spec.Containers...)
			return spec
		})},
		{"startup-probe", "a startup probe passes late: application", started(func(image string) corev1.PodSpec {
			after := long()
			spec := onePod(image, after+time.Second)
			spec.Containers[0] = bench.WithStartupProbe(spec.Containers[0], after)
			return spec
		})},
		{
			"readiness-probe",
			"a readiness probe passes late: application",
			started(func(image string) corev1.PodSpec { return onePod(image, long()) }),
		},
		{"readiness-gate", "a readiness gate passes late: gate", func(ctx context.Context, x *examPod) error {
			spec := onePod(x.bench().BaseImage, readySoon)
			spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: bench.ReadinessGate}}
			return errors.Join(x.create(ctx, spec), x.approveLate(ctx, long()), x.awaitReady(ctx))
		}},
	}...)
}

// awaitExits waits until a container has exited the given number of times, and then waits another 4 s. After that, it
// ends the period that the exam judges.
func (x *examPod) awaitExits(ctx context.Context, container string, ends int) error {
	err := errors.Join(x.awaitExit(ctx, container, ends), sleep(ctx, 4*time.Second))
	x.giveUp()
	return err
}

// crash makes a container fail after the container has run for the given time.
func crash(c *corev1.Container, after time.Duration) {
	c.Env = append(c.Env, corev1.EnvVar{Name: workload.CrashAfter, Value: after.String()},
		corev1.EnvVar{Name: workload.ExitCode, Value: strconv.Itoa(1)})
}

// approveLate sets the pod's readiness gate to true after a delay. The delay begins when all containers are ready.
func (x *examPod) approveLate(ctx context.Context, late time.Duration) error {
	err := x.await(ctx, "readiness except for the gate", func() (bool, error) {
		return !x.exam.watched.Of(x.name).ContainersReadyAt.IsZero(), nil
	})
	if err := errors.Join(err, sleep(ctx, late)); err != nil {
		return err
	}
	approved, err := bench.Dated(func() error { return x.bench().PassReadinessGate(ctx, x.name) })
	x.faults = append(x.faults, blame.Fault{Causes: onlyCause(blame.Gate),
		From:    x.exam.watched.Of(x.name).ContainersReadyAt,
		FixedAt: approved.StartAt, Source: "scenario"})
	return err
}

// takenUp waits until the kubelet has written the pod's first status.
func (x *examPod) takenUp(ctx context.Context) error {
	return x.await(ctx, "first status",
		func() (bool, error) { return !x.exam.watched.Of(x.name).AcknowledgedAt.IsZero(), nil })
}
