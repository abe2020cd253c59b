package bench

import (
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/workload"
)

// InitContainer runs for a time and succeeds.
func InitContainer(name, image string, runFor time.Duration) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: variable(workload.RunFor, runFor)}
}

// Sidecar is a restartable init container: it starts and stays.
func Sidecar(name, image string) corev1.Container {
	always := corev1.ContainerRestartPolicyAlways
	return corev1.Container{Name: name, Image: image, RestartPolicy: &always}
}

// MainContainer becomes ready a time after its process has started. The probe blocks until then, so
// that readiness does not wait for the next of kubelet's probe ticks; that works where the time is
// above the probe's period.
func MainContainer(name, image string, readyAfter time.Duration) corev1.Container {
	return corev1.Container{Name: name, Image: image, Env: variable(workload.ReadyAfter, readyAfter),
		ReadinessProbe: probe(workload.Probe, readyAfter)}
}

// WithStartupProbe lets a container pass a startup probe a time after its process has started; the time
// to readiness counts from the same start.
func WithStartupProbe(c corev1.Container, startedAfter time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.StartedAfter, startedAfter)...)
	c.StartupProbe = probe(workload.StartupProbe, startedAfter)
	return c
}

// WithHook gives a container a post-start hook that takes a time.
func WithHook(c corev1.Container, hookFor time.Duration) corev1.Container {
	c.Env = append(c.Env, variable(workload.HookFor, hookFor)...)
	c.Lifecycle = &corev1.Lifecycle{PostStart: &corev1.LifecycleHandler{Exec: command(workload.Hook)}}
	return c
}

// WithStop has a container take so long to end when it is asked to, and exit with a status.
func WithStop(c corev1.Container, takes time.Duration, status int) corev1.Container {
	c.Env = append(c.Env, variable(workload.StopFor, takes)...)
	c.Env = append(c.Env, corev1.EnvVar{Name: workload.StopCode, Value: strconv.Itoa(status)})
	return c
}

// WithPreStop gives a container a pre-stop hook that takes a time.
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
