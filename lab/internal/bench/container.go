package bench

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

// InitContainer returns an init container that runs for the given duration and then succeeds.
func InitContainer(name, image string, runFor time.Duration) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: variable(workload.RunFor, runFor)}
}

// Sidecar returns a restartable init container that runs until the pod ends.
func Sidecar(name, image string) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{Name: name, Image: image, RestartPolicy: &always}
}

// MainContainer returns a container that becomes ready when its process has run for the given time. The first readiness
// probe runs until this time has passed. Therefore, the pod becomes ready right after this time, and does not wait for
// the kubelet's next probe. The given time must be longer than the probe's period.
func MainContainer(name, image string, readyAfter time.Duration) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: variable(workload.ReadyAfter, readyAfter),
		ReadinessProbe: probe(workload.Probe, readyAfter)}
}

// WithStartupProbe adds a startup probe that succeeds when the process has run for the given time. The duration
// "readyAfter" of MainContainer begins at the start of the process, not at the success of the startup probe.
func WithStartupProbe(c corev1.Container, startedAfter time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.StartedAfter, startedAfter)...)
	c.StartupProbe = probe(workload.StartupProbe, startedAfter)
	return c
}

// WithHook adds a post-start hook that runs for the given duration.
func WithHook(c corev1.Container, hookFor time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.HookFor, hookFor)...)
	c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: command(workload.Hook)}}
	return c
}

// WithStop sets the time from the stop signal until the container exits. WithStop also sets the container's exit
// status.
func WithStop(c corev1.Container, takes time.Duration, status int) corev1.Container {
	c.Env = append(c.Env, variable(workload.StopFor, takes)...)
	c.Env = append(c.Env, corev1.EnvVar{Name: workload.StopCode, Value: strconv.Itoa(status)})
	return c
}

// WithPreStop adds a pre-stop hook that runs for the given duration.
func WithPreStop(c corev1.Container, hookFor time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.HookFor, hookFor)...)
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: command(workload.Hook)}}
	return c
}

func probe(role string, after time.Duration) *corev1.Probe {
	return &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: command(role)},
		PeriodSeconds: 1, TimeoutSeconds: int32(after/time.Second) + 30}
}

func command(role string) *corev1.ExecAction {
	return &corev1.ExecAction{Command: []string{workload.Path, role}}
}

func variable(name string, value time.Duration) []corev1.EnvVar {
	return []corev1.EnvVar{{Name: name, Value: value.String()}}
}
