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

// examStages are all rows of the exam. The seed decides how long each fault lasts.
func examStages(seed uint64) []examStage {
	long := lengths(seed)
	words := func(component string) string { return component + " is stopped amid " }
	return []examStage{
		{name: "placement", rows: placementRows(long)},
		{name: "present", rows: append(configRows(long), appRows(long)...)},
		{name: "pulls", set: pullInParallel, rows: pullRows(long)},
		{name: "combined", rows: append(drawn("drawn", drawnRows, seed), everything(long))},
		{name: "link", set: shareLink, rows: linkRows(), apart: 20 * time.Millisecond},
		{name: "kubelet", rows: stopRows(node.Kubelet, words("kubelet"), long)},
		{name: "containerd", rows: stopRows(node.Containerd, words("containerd"), long)},
		{name: "api-server", rows: stopRows(node.APIServer, words("the API server"), long)},
		{name: "alone", rows: aloneRows(long), alone: true},
		{name: "queue", set: pullSerially, rows: queueRows()},
	}
}

// drawnRows is how many rows of the exam have faults that are drawn.
const drawnRows = 8

// one is a pod of one container, ready a time after it started.
func one(image string, readyAfter time.Duration) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, image, readyAfter)}}
}

// only names one culprit.
func only(cause blame.Cause) []blame.Cause { return []blame.Cause{cause} }

// readySoon is for pods whose readiness is no part of what a row is about.
const readySoon = 300 * time.Millisecond

// placementRows are pods that wait before they are bound to the node.
func placementRows(long func() time.Duration) []examRow {
	return []examRow{
		{"no-node-fits", "no node has the label that the pod selects: placement", func(ctx context.Context, x *examPod) error {
			spec := one(x.bench().BaseImage, readySoon)
			spec.NodeSelector = map[string]string{x.bench().NodeLabel(x.name): "yes"}
			defer func() { _ = x.bench().LabelNode(context.WithoutCancel(ctx), x.name, "") }()
			err := errors.Join(x.create(ctx, spec), sleep(ctx, long()+4*time.Second))
			return errors.Join(err, x.blames(only(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler}, func() error {
				return x.bench().LabelNode(ctx, x.name, "yes")
			}), x.ready(ctx))
		}},
		{"scheduling-gate", "a scheduling gate holds the pod: gate", func(ctx context.Context, x *examPod) error {
			spec := one(x.bench().BaseImage, readySoon)
			spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: bench.SchedulingGate}}
			err := errors.Join(x.create(ctx, spec), sleep(ctx, long()+2*time.Second))
			return errors.Join(err, x.blames(only(blame.Gate), only(blame.Scheduler), func() error {
				return x.bench().LiftSchedulingGate(ctx, x.name)
			}), x.ready(ctx))
		}},
		{"late-claim", "the claim of a volume is made late: placement", func(ctx context.Context, x *examPod) error {
			spec := one(x.bench().BaseImage, readySoon)
			spec.Volumes = []corev1.Volume{bench.ClaimVolume(x.name)}
			spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
			err := errors.Join(x.create(ctx, spec), sleep(ctx, long()))
			return errors.Join(err, x.blames(only(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler}, func() error {
				return x.bench().CreateClaim(ctx, x.name)
			}), x.ready(ctx))
		}},
		{"host-port", "another pod has the port of the node: placement", hostPortTaken(long)},
	}
}

func hostPortTaken(long func() time.Duration) func(ctx context.Context, x *examPod) error {
	return func(ctx context.Context, x *examPod) error {
		const port = 27999
		ports := []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
		holder := x.name + "-holder"
		first := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: x.bench().BaseImage, Ports: ports}}}
		if err := errors.Join(x.bench().CreatePod(ctx, holder, first), x.bench().AwaitReady(ctx, holder, rowLimit)); err != nil {
			return err
		}
		spec := one(x.bench().BaseImage, readySoon)
		spec.Containers[0].Ports = ports
		err := errors.Join(x.create(ctx, spec), sleep(ctx, long()))
		return errors.Join(err, x.blames(only(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler}, func() error {
			return x.bench().DeletePod(ctx, holder)
		}), x.ready(ctx))
	}
}

// configAfterwards is who is to blame from when the missing object is made until kubelet tries again.
func configAfterwards() []blame.Cause {
	return []blame.Cause{blame.Config, blame.Volumes, blame.Kubelet, blame.Backoff}
}

// configRows are pods that wait for something that their specification names, and for the network.
func configRows(long func() time.Duration) []examRow {
	afterwards := configAfterwards()
	volume := func(v func(string) corev1.Volume, create func(*bench.Bench, context.Context, string) error) func(context.Context, *examPod) error {
		return func(ctx context.Context, x *examPod) error {
			spec := one(x.bench().BaseImage, readySoon)
			spec.Volumes = []corev1.Volume{v(x.name)}
			spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: spec.Volumes[0].Name, MountPath: "/data"}}
			err := errors.Join(x.create(ctx, spec), x.takenUp(ctx), sleep(ctx, long()))
			return errors.Join(err, x.blames(only(blame.Config), afterwards, func() error { return create(x.bench(), ctx, x.name) }), x.ready(ctx))
		}
	}
	environment := func(from corev1.EnvFromSource, create func(*bench.Bench, context.Context, string) error) func(context.Context, *examPod) error {
		return func(ctx context.Context, x *examPod) error {
			spec := one(x.bench().BaseImage, readySoon)
			if from.ConfigMapRef != nil {
				from.ConfigMapRef.Name = x.name
			} else {
				from.SecretRef.Name = x.name
			}
			spec.Containers[0].EnvFrom = []corev1.EnvFromSource{from}
			err := errors.Join(x.create(ctx, spec), x.said(ctx, "Failed", 1), sleep(ctx, long()))
			return errors.Join(err, x.blames(only(blame.Config), afterwards, func() error { return create(x.bench(), ctx, x.name) }), x.ready(ctx))
		}
	}
	return []examRow{
		{"volume-configmap", "the ConfigMap of a volume is made late: configuration", volume(bench.ConfigMapVolume, (*bench.Bench).CreateConfigMap)},
		{"volume-secret", "the Secret of a volume is made late: configuration", volume(bench.SecretVolume, (*bench.Bench).CreateSecret)},
		{"env-configmap", "the ConfigMap of the environment is made late: configuration",
			environment(corev1.EnvFromSource{ConfigMapRef: &corev1.ConfigMapEnvSource{}}, (*bench.Bench).CreateConfigMap)},
		{"env-secret", "the Secret of the environment is made late: configuration",
			environment(corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{}}, (*bench.Bench).CreateSecret)},
		{"never-pull", "an image that is not there must not be pulled: configuration", func(ctx context.Context, x *examPod) error {
			reference, err := x.cold(ctx, mainName, smallLayer)
			if err != nil {
				return err
			}
			delete(x.images, mainName) // kubelet does not pull it
			spec := one(reference, readySoon)
			spec.Containers[0].ImagePullPolicy = corev1.PullNever
			err = errors.Join(x.create(ctx, spec), x.said(ctx, "ErrImageNeverPull", 1), sleep(ctx, long()))
			return errors.Join(err, x.blames(only(blame.Config), afterwards, func() error {
				_, err := x.bench().Warm(ctx, reference)
				return err
			}), x.ready(ctx))
		}},
		{"runtime-class", "the runtime lacks the handler of the RuntimeClass: configuration", func(ctx context.Context, x *examPod) error {
			if err := x.bench().CreateRuntimeClass(ctx, x.name, "missing"); err != nil {
				return err
			}
			class := x.bench().RuntimeClass(x.name)
			spec := one(x.bench().BaseImage, readySoon)
			spec.RuntimeClassName, x.sandboxFault = &class, only(blame.Config)
			err := errors.Join(x.create(ctx, spec), x.said(ctx, "FailedCreatePodSandBox", 1), sleep(ctx, long()))
			return errors.Join(err, x.bench().DeleteRuntimeClass(ctx, x.name), x.bench().CreateRuntimeClass(ctx, x.name, "runc"), x.ready(ctx))
		}},
		{"network-namesake", "the program of the runtime is missing at first: runtime", func(ctx context.Context, x *examPod) error {
			if err := x.bench().CreateRuntimeClass(ctx, x.name, node.FragileHandler); err != nil {
				return err
			}
			class := x.bench().RuntimeClass(x.name)
			spec := one(x.bench().BaseImage, readySoon)
			spec.RuntimeClassName, x.sandboxFault = &class, only(blame.Runtime)
			err := errors.Join(x.create(ctx, spec), x.said(ctx, "FailedCreatePodSandBox", 1), sleep(ctx, long()))
			return errors.Join(err, x.bench().Node.MendFragile(), x.ready(ctx))
		}},
		{"invalid-image", "the name of the image is not valid: configuration", func(ctx context.Context, x *examPod) error {
			err := errors.Join(x.create(ctx, one("Not A Name", readySoon)), x.said(ctx, "InspectFailed", 1), sleep(ctx, long()))
			x.giveUp()
			x.faults = append(x.faults, blame.Fault{Causes: only(blame.Config), From: x.firstSaid("InspectFailed"), FixedAt: x.until,
				Witness: "kubelet's log"})
			return err
		}},
		{"slow-network", "the network plugin is slow: network", func(ctx context.Context, x *examPod) error {
			fault := cni.Faults{Delay: cni.Duration{Duration: long()}}
			return errors.Join(x.exam.network.Set(x.name, fault), x.start(ctx, one(x.bench().BaseImage, readySoon)))
		}},
		{"failing-network", "the network plugin fails at first: network", func(ctx context.Context, x *examPod) error {
			err := errors.Join(x.exam.network.Set(x.name, cni.Faults{Fail: "the lab has no address left"}),
				x.create(ctx, one(x.bench().BaseImage, readySoon)), x.said(ctx, "FailedCreatePodSandBox", 1), sleep(ctx, long()))
			return errors.Join(err, x.exam.network.Set(x.name, cni.Faults{}), x.ready(ctx))
		}},
	}
}
