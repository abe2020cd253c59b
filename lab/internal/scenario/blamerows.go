package scenario

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/node"
)

// examStages returns all examRows (start-ups) of the scenario "blame", grouped into stages. The seed determines the
// random durations of the faults, and the faults that drawRows selects.
func examStages(seed uint64) []examStage {
	long := drawLengths(seed)
	words := func(component string) string { return component + " is stopped during " }
	return []examStage{
		{name: "placement", rows: placementRows(long)},
		{name: "present", rows: append(configRows(long), appRows(long)...)},
		{name: "pulls", prepareNode: pullInParallel, rows: pullRows(long)},
		{name: "combined", rows: append(drawRows("drawn", drawnRows, seed), rowOfAllFaults(long))},
		{name: "link", prepareNode: shareLink, rows: linkRows(), apart: 20 * time.Millisecond},
		{name: "kubelet", rows: stopRows(node.Kubelet, words("the kubelet"), long)},
		{name: "containerd", rows: stopRows(node.Containerd, words("containerd"), long)},
		{name: "api-server", rows: stopRows(node.APIServer, words("the API server"), long)},
		{name: "alone", rows: aloneRows(long), alone: true},
		{name: "queue", prepareNode: pullSerially, rows: queueRows()},
	}
}

// drawnRows is the number of start-ups with random faults in the scenario "blame".
const drawnRows = 8

// onePod returns a pod with one container. readyAfter is the time from the start of the container until the container
// is ready.
func onePod(image string, readyAfter time.Duration) corev1.PodSpec {
	return corev1.PodSpec{Containers: []corev1.Container{bench.MainContainer(mainName, image, readyAfter)}}
}

// onlyCause returns a list with one cause.
func onlyCause(cause blame.Cause) []blame.Cause { return []blame.Cause{cause} }

// readySoon is the time from the start of a container until it is ready, for start-ups that do not test readiness.
const readySoon = 300 * time.Millisecond

// placementRows returns the examRows (start-ups) in which the pod waits before the scheduler binds it to the node.
func placementRows(long func() time.Duration) []examRow {
	return []examRow{
		{
			"no-node-fits",
			"no node has the extended resource that the pod needs: placement",
			func(ctx context.Context, x *examPod) error {
				spec := onePod(x.bench().BaseImage, readySoon)
				bench.Demand(&spec, x.bench().NodeResource(x.name))
				defer func() { _ = x.bench().OfferResource(context.WithoutCancel(ctx), x.name, false) }()
				err := errors.Join(x.create(ctx, spec), sleep(ctx, long()+4*time.Second))
				return errors.Join(
					err,
					x.recordCauses(onlyCause(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler},
						func() error {
							return x.bench().OfferResource(ctx, x.name, true)
						}),
					x.awaitReady(ctx),
				)
			},
		},
		{"scheduling-gate", "a scheduling gate holds the pod: gate", func(ctx context.Context, x *examPod) error {
			spec := onePod(x.bench().BaseImage, readySoon)
			spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: bench.SchedulingGate}}
			err := errors.Join(x.create(ctx, spec), sleep(ctx, long()+2*time.Second))
			return errors.Join(err, x.recordCauses(onlyCause(blame.Gate), onlyCause(blame.Scheduler), func() error {
				return x.bench().LiftSchedulingGate(ctx, x.name)
			}), x.awaitReady(ctx))
		}},
		{"volume-on-demand", "the pod's volume is provisioned on demand: volumes",
			func(ctx context.Context, x *examPod) error {
				err := errors.Join(x.bench().CreateLateClaim(ctx, x.name), x.create(ctx, x.mountingPod()),
					sleep(ctx, long()))
				return errors.Join(
					err,
					x.recordCauses(onlyCause(blame.Volumes), []blame.Cause{blame.Volumes, blame.Scheduler},
						func() error {
							return x.bench().Provision(ctx, x.name)
						}),
					x.awaitReady(ctx),
				)
			}},
		{"late-claim", "the PersistentVolumeClaim is created late: placement",
			func(ctx context.Context, x *examPod) error {
				err := errors.Join(x.create(ctx, x.mountingPod()), sleep(ctx, long()))
				return errors.Join(
					err,
					x.recordCauses(onlyCause(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler},
						func() error {
							return x.bench().CreateClaim(ctx, x.name)
						}),
					x.awaitReady(ctx),
				)
			}},
		{"host-port", "another pod holds the host port: placement", hostPortTaken(long)},
	}
}

// mountingPod returns a pod that mounts a volume. The volume's PersistentVolumeClaim has the same name as the pod.
func (x *examPod) mountingPod() corev1.PodSpec {
	spec := onePod(x.bench().BaseImage, readySoon)
	spec.Volumes = []corev1.Volume{bench.ClaimVolume(x.name)}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	return spec
}

func hostPortTaken(long func() time.Duration) playFunc {
	return func(ctx context.Context, x *examPod) error {
		const port = 27999
		ports := []corev1.ContainerPort{{ContainerPort: port, HostPort: port}}
		holder := x.name + "-holder"
		first := corev1.PodSpec{
			Containers: []corev1.Container{{Name: mainName, Image: x.bench().BaseImage, Ports: ports}},
		}
		err := errors.Join(x.bench().CreatePod(ctx, holder, first), x.bench().AwaitReady(ctx, holder, rowLimit))
		if err != nil {
			return err
		}
		spec := onePod(x.bench().BaseImage, readySoon)
		spec.Containers[0].Ports = ports
		err = errors.Join(x.create(ctx, spec), sleep(ctx, long()))
		return errors.Join(
			err,
			x.recordCauses(onlyCause(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler}, func() error {
				return x.bench().DeletePod(ctx, holder)
			}),
			x.awaitReady(ctx),
		)
	}
}
