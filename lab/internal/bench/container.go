package bench

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

// InitContainer runs for a while and succeeds.
func InitContainer(name, image string, runFor time.Duration) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: variable(workload.RunFor, runFor)}
}

// Sidecar is a restartable init container: it starts and keeps running.
func Sidecar(name, image string) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{Name: name, Image: image, RestartPolicy: &always}
}

// MainContainer becomes ready a given time after its process started. Its probe blocks until then, so readiness does
// not wait for the kubelet's next probe. This works if the time is longer than the probe's period.
func MainContainer(name, image string, readyAfter time.Duration) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: variable(workload.ReadyAfter, readyAfter),
		ReadinessProbe: probe(workload.Probe, readyAfter)}
}

// WithStartupProbe gives a container a startup probe that passes a given time after its process started. The time to
// readiness counts from the same start.
func WithStartupProbe(c corev1.Container, startedAfter time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.StartedAfter, startedAfter)...)
	c.StartupProbe = probe(workload.StartupProbe, startedAfter)
	return c
}

// WithHook gives a container a post-start hook of this duration.
func WithHook(c corev1.Container, hookFor time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.HookFor, hookFor)...)
	c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: command(workload.Hook)}}
	return c
}

// WithStop makes a container take this long to end after its signal, and exit with this status.
func WithStop(c corev1.Container, takes time.Duration, status int) corev1.Container {
	c.Env = append(c.Env, variable(workload.StopFor, takes)...)
	c.Env = append(c.Env, corev1.EnvVar{Name: workload.StopCode, Value: strconv.Itoa(status)})
	return c
}

// WithPreStop gives a container a pre-stop hook of this duration.
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
