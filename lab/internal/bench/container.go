package bench

import (
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
		ReadinessProbe: &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{
				Command: []string{workload.Path, workload.Probe}}},
			PeriodSeconds: 1, TimeoutSeconds: int32(readyAfter/time.Second) + 30,
		}}
}

func variable(name string, value time.Duration) []corev1.EnvVar {
	return []corev1.EnvVar{{Name: name, Value: value.String()}}
}
