package scenario

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// configAfterwards returns the possible causes of a pod's wait after its missing object has been created. The pod then
// waits until the kubelet retries.
func configAfterwards() []blame.Cause {
	return []blame.Cause{blame.Config, blame.Volumes, blame.Kubelet, blame.Backoff}
}

// createFunc creates an object in the bench's namespace.
type createFunc = func(b *bench.Bench, ctx context.Context, name string) error

// configRows returns the examRows (start-ups) in which the pod waits for its configuration, its volume or its sandbox.
// For example, the ConfigMap of the pod is missing.
func configRows(long func() time.Duration) []examRow {
	configMap, secret := (*bench.Bench).CreateConfigMap, (*bench.Bench).CreateSecret
	return []examRow{
		{"volume-configmap", "the ConfigMap of a volume is created late: configuration",
			lateVolume(long, bench.ConfigMapVolume, configMap)},
		{"volume-secret", "the Secret of a volume is created late: configuration",
			lateVolume(long, bench.SecretVolume, secret)},
		{"volume-file", "the host file that a volume mounts is created late: volumes",
			func(ctx context.Context, x *examPod) error {
				spec := onePod(x.bench().BaseImage, readySoon)
				spec.Volumes = []corev1.Volume{x.bench().FileVolume(x.name)}
				spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: spec.Volumes[0].Name, MountPath: "/data"}}
				err := errors.Join(x.create(ctx, spec), x.takenUp(ctx), sleep(ctx, long()))
				return errors.Join(err, x.recordCauses(onlyCause(blame.Volumes),
					[]blame.Cause{blame.Volumes, blame.Kubelet, blame.Backoff},
					func() error { return x.bench().MakeFile(x.name) }), x.awaitReady(ctx))
			}},
		{"env-configmap", "the ConfigMap of an environment variable is created late: configuration",
			lateVariables(long, func(name corev1.LocalObjectReference) corev1.EnvFromSource {
				return corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: name}}
			}, configMap)},
		{"env-secret", "the Secret of an environment variable is created late: configuration",
			lateVariables(long, func(name corev1.LocalObjectReference) corev1.EnvFromSource {
				return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: name}}
			}, secret)},
		{"never-pull", "the image is absent and its pull policy is Never: configuration", neverPulled(long)},
		{"invalid-image", "the image name is invalid: configuration", invalidImage(long)},
		{"runtime-class", "the runtime lacks the handler of the RuntimeClass: configuration",
			failingSandbox(long, "missing", blame.Config, func(ctx context.Context, x *examPod) error {
				err := x.bench().DeleteRuntimeClass(ctx, x.name)
				return errors.Join(err, x.bench().CreateRuntimeClass(ctx, x.name, "runc"))
			})},
		{"network-namesake", "the runtime's binary is missing at first: runtime",
			failingSandbox(long, node.FragileHandler, blame.Runtime, func(_ context.Context, x *examPod) error {
				return x.bench().Node.RepairFragile()
			})},
		{"slow-network", "the network plugin is slow: network", func(ctx context.Context, x *examPod) error {
			fault := cni.Faults{Delay: cni.Duration{Duration: long()}}
			return errors.Join(x.exam.network.Set(x.name, fault), x.start(ctx, onePod(x.bench().BaseImage, readySoon)))
		}},
		{"failing-network", "the network plugin fails at first: network", func(ctx context.Context, x *examPod) error {
			err := errors.Join(x.exam.network.Set(x.name, cni.Faults{Fail: "the lab has no address left"}),
				x.create(ctx, onePod(x.bench().BaseImage, readySoon)),
				x.awaitEvents(ctx, "FailedCreatePodSandBox", 1), sleep(ctx, long()))
			return errors.Join(err, x.exam.network.Set(x.name, cni.Faults{}), x.awaitReady(ctx))
		}},
	}
}

// lateVolume runs a pod with a volume from a ConfigMap or a Secret. lateVolume creates this object only after the
// kubelet has written the pod's first status.
func lateVolume(long func() time.Duration, volume func(string) corev1.Volume, create createFunc) playFunc {
	return func(ctx context.Context, x *examPod) error {
		spec := onePod(x.bench().BaseImage, readySoon)
		spec.Volumes = []corev1.Volume{volume(x.name)}
		spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: spec.Volumes[0].Name, MountPath: "/data"}}
		err := errors.Join(x.create(ctx, spec), x.takenUp(ctx), sleep(ctx, long()))
		return errors.Join(err, x.madeLate(ctx, create), x.awaitReady(ctx))
	}
}

// madeLate creates the object that the pod needs, and records that the missing object delayed the pod until now.
func (x *examPod) madeLate(ctx context.Context, create createFunc) error {
	return x.recordCauses(onlyCause(blame.Config), configAfterwards(), func() error {
		return create(x.bench(), ctx,
			x.name)
	})
}

// lateVariables runs a pod with environment variables from a ConfigMap or a Secret. lateVariables creates this object
// only after the kubelet has reported that the object is missing.
func lateVariables(long func() time.Duration, from func(corev1.LocalObjectReference) corev1.EnvFromSource,
	create createFunc,
) playFunc {
	return func(ctx context.Context, x *examPod) error {
		spec := onePod(x.bench().BaseImage, readySoon)
		spec.Containers[0].EnvFrom = []corev1.EnvFromSource{from(corev1.LocalObjectReference{Name: x.name})}
		err := errors.Join(x.create(ctx, spec), x.awaitEvents(ctx, "Failed", 1), sleep(ctx, long()))
		return errors.Join(err, x.blamesFrom(x.firstStated("Failed", x.name), onlyCause(blame.Config),
			configAfterwards(),
			func() error { return create(x.bench(), ctx, x.name) }), x.awaitReady(ctx))
	}
}

// neverPulled runs a pod with the pull policy Never and an image that the node does not have. After a delay, another
// client pulls the image.
func neverPulled(long func() time.Duration) playFunc {
	return func(ctx context.Context, x *examPod) error {
		reference, err := x.pushCold(ctx, mainName, smallLayer)
		if err != nil {
			return err
		}
		delete(x.images, mainName) // the kubelet does not pull this image
		spec := onePod(reference, readySoon)
		spec.Containers[0].ImagePullPolicy = corev1.PullNever
		err = errors.Join(x.create(ctx, spec), x.awaitEvents(ctx, "ErrImageNeverPull", 1), sleep(ctx, long()))
		return errors.Join(err, x.recordCauses(onlyCause(blame.Config), configAfterwards(), func() error {
			_, err := x.bench().Warm(ctx, reference)
			return err
		}), x.awaitReady(ctx))
	}
}

func invalidImage(long func() time.Duration) playFunc {
	return func(ctx context.Context, x *examPod) error {
		err := errors.Join(x.create(ctx, onePod("Not A Name", readySoon)), x.awaitEvents(ctx, "InspectFailed", 1),
			sleep(ctx, long()))
		x.giveUp()
		x.faults = append(x.faults, blame.Fault{Causes: onlyCause(blame.Config), From: x.firstStated("InspectFailed",
			""),
			FixedAt: x.until, Source: "kubelet's log"})
		return err
	}
}

// failingSandbox runs a pod with a runtime handler that cannot create sandboxes. Later, the function "repair" removes
// this fault.
func failingSandbox(long func() time.Duration, handler string, culprit blame.Cause,
	repair func(context.Context, *examPod) error,
) playFunc {
	return func(ctx context.Context, x *examPod) error {
		if err := x.bench().CreateRuntimeClass(ctx, x.name, handler); err != nil {
			return err
		}
		class := x.bench().RuntimeClass(x.name)
		spec := onePod(x.bench().BaseImage, readySoon)
		spec.RuntimeClassName, x.sandboxFault = &class, onlyCause(culprit)
		err := errors.Join(x.create(ctx, spec), x.awaitEvents(ctx, "FailedCreatePodSandBox", 1), sleep(ctx, long()))
		return errors.Join(err, repair(ctx, x), x.awaitReady(ctx))
	}
}
