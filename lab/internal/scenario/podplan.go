package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// plan describes one pod and the delays that are injected into the pod's start-up. The function injectInto sets the
// network delay and the download rate before the pod exists.
type plan struct {
	name         string
	networkDelay time.Duration
	throttled    bool
	initRun      time.Duration
	startedAfter time.Duration // time from the start of the main process until its startup probe passes
	readyAfter   time.Duration // time from the start of the main process until its readiness probe passes
	hookFor      time.Duration // duration of the post-start hook; zero if no container has a hook
	hookInMain   bool          // true if the main container has the hook
	heldFor      time.Duration // time from the creation of the pod until the scenario removes the scheduling gate
	// time from the kubelet's first status of the pod until the creation of the Secret that the pod mounts
	secretAfter time.Duration
	// time from the readiness of all containers until the scenario sets the readiness gate to true
	approvedLate time.Duration
	runFor       time.Duration // time after which the pod completes; zero if the pod does not complete
}

// The names of the containers.
const (
	initName   = "init"
	hookedName = "hooked"
	// afterHookName is the name of the container that starts after the container with the post-start hook.
	afterHookName = "after-hook"
	mainName      = "main"
)

func (p plan) completes() bool { return p.runFor > 0 }

// possibleStates returns the possible final states of the start-up. If a pod completes, its start-up has two possible
// states. If the agent sees the ready pod before the pod completes, the state is ready. If the agent never sees the
// ready pod, the state is succeeded.
func (p plan) possibleStates() []string {
	if p.completes() {
		return []string{agent.Ready, agent.Succeeded}
	}
	return []string{agent.Ready}
}

// hookedContainer returns the name of the container with the post-start hook.
func (p plan) hookedContainer() string {
	switch {
	case p.hookFor == 0:
		return ""
	case p.hookInMain:
		return mainName
	}
	return hookedName
}

// podSpec returns the pod's specification. The argument "cold" is the image of the main container.
func (p plan) podSpec(base, cold string) corev1.PodSpec {
	spec := corev1.PodSpec{InitContainers: []corev1.Container{bench.InitContainer(initName, base, p.initRun)}}
	main := bench.MainContainer(mainName, cold, p.readyAfter)
	if p.completes() {
		main = bench.InitContainer(mainName, cold, p.runFor)
		spec.RestartPolicy = corev1.RestartPolicyNever
	}
	if p.startedAfter > 0 {
		main = bench.WithStartupProbe(main, p.startedAfter)
	}
	switch p.hookedContainer() {
	case mainName:
		main = bench.WithHook(main, p.hookFor)
	case hookedName:
		before := bench.WithHook(corev1.Container{Name: hookedName, Image: base}, p.hookFor)
		// The container after the hook has an image that is already on the node, so the kubelet does not look up
		// registry credentials when this container starts.
		spec.Containers = append(spec.Containers, before, corev1.Container{Name: afterHookName, Image: base})
	}
	spec.Containers = append(spec.Containers, main)
	if p.heldFor > 0 {
		spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: bench.SchedulingGate}}
	}
	if p.approvedLate > 0 {
		spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: bench.ReadinessGate}}
	}
	if p.secretAfter > 0 {
		spec.Volumes = []corev1.Volume{bench.SecretVolume(p.name)}
		mount := corev1.VolumeMount{Name: spec.Volumes[0].Name, MountPath: "/secret"}
		last := &spec.Containers[len(spec.Containers)-1]
		last.VolumeMounts = append(last.VolumeMounts, mount)
	}
	return spec
}

// calls contains the times of the scenario's requests to the API server. Each of these requests starts or ends a
// phase.
type calls struct{ created, lifted, approved bench.Span }

// startLimit is the time limit of a start-up.
const startLimit = time.Minute

// carryOut creates the pod and sends the plan's other requests at the right times, for example to remove the scheduling
// gate. carryOut returns when the pod is ready. For a pod that completes, carryOut returns when the pod has succeeded.
func (p plan) carryOut(ctx context.Context, b *bench.Bench, arrivals *bench.Arrivals, image string) (calls, error) {
	var c calls
	var err error
	if c.created, err = bench.Dated(func() error {
		return b.CreatePod(ctx, p.name, p.podSpec(b.BaseImage, image))
	}); err != nil {
		return c, err
	}
	if p.heldFor > 0 {
		if err := sleep(ctx, p.heldFor); err != nil {
			return c, err
		}
		if c.lifted, err = bench.Dated(func() error { return b.LiftSchedulingGate(ctx, p.name) }); err != nil {
			return c, err
		}
	}
	reached := func(what string, at func(bench.Arrival) time.Time) error {
		return b.Node.Report.Wait(ctx, "pod "+p.name+" to be "+what, startLimit, 10*time.Millisecond,
			func(context.Context) error {
				if at(arrivals.Of(p.name)).IsZero() {
					return fmt.Errorf("the status of pod %s does not show yet that the pod is %s", p.name, what)
				}
				return nil
			})
	}
	if p.secretAfter > 0 {
		if err := reached("seen by the kubelet",
			func(s bench.Arrival) time.Time { return s.AcknowledgedAt }); err != nil {
			return c, err
		}
		if err := errors.Join(sleep(ctx, p.secretAfter), b.CreateSecret(ctx, p.name)); err != nil {
			return c, err
		}
	}
	if p.approvedLate > 0 {
		if err := reached("ready except for its gate",
			func(s bench.Arrival) time.Time { return s.ContainersReadyAt }); err != nil {
			return c, err
		}
		if err := sleep(ctx, p.approvedLate); err != nil {
			return c, err
		}
		if c.approved, err = bench.Dated(func() error { return b.PassReadinessGate(ctx, p.name) }); err != nil {
			return c, err
		}
	}
	if p.completes() {
		return c, reached("completed", func(s bench.Arrival) time.Time { return s.SucceededAt })
	}
	return c, reached("ready", func(s bench.Arrival) time.Time { return s.ReadyAt })
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait in a scenario: %w", ctx.Err())
	}
}
