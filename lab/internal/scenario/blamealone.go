package scenario

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// aloneRows returns the examRows (start-ups) whose fault affects the entire node. Such an examRow must run alone.
func aloneRows(long func() time.Duration) []examRow {
	return []examRow{
		{"scheduler-stopped", "the scheduler is stopped: scheduler", func(ctx context.Context, x *examPod) error {
			if err := x.bench().Node.Freeze(node.Scheduler); err != nil {
				return err
			}
			defer x.bench().Node.Thaw()
			return errors.Join(x.create(ctx, onePod(x.bench().BaseImage, readySoon)), sleep(ctx, long()),
				x.bench().Node.Thaw(), x.awaitReady(ctx))
		}},
		{"kubelet-stopped-before", "the kubelet is stopped before the pod is created: kubelet", func(
			ctx context.Context, x *examPod,
		) error {
			if err := x.bench().Node.Freeze(node.Kubelet); err != nil {
				return err
			}
			defer x.bench().Node.Thaw()
			return errors.Join(x.create(ctx, onePod(x.bench().BaseImage, readySoon)), sleep(ctx, long()),
				x.bench().Node.Thaw(), x.awaitReady(ctx))
		}},
		{"kubelet-stopped-amid-config",
			"the Secret of a volume is created late while the kubelet is stopped: configuration, kubelet",
			func(ctx context.Context, x *examPod) error { return kubeletAmidConfig(ctx, x, long()) }},
		{"network-away", "the node has no network configuration: network", networkAway(long)},
		{
			"containerd-restarted",
			"containerd restarts during a pull, and the pull resumes: registry, runtime, back-off",
			containerdRestarted,
		},
		{
			"pause-image",
			"the sandbox image is absent and its registry is slow: registry",
			pauseImage(false, registry.Rule{BytesPerSecond: examRate}),
		},
		{
			"pause-image-host-network",
			"the sandbox image of a pod on the host network is absent and its registry is slow: registry",
			pauseImage(true, registry.Rule{BytesPerSecond: examRate}),
		},
		{"pause-image-missing", "the sandbox image cannot be pulled at first: registry", pauseImageMissing(long)},
		{"slow-unpack", "an image with many files is unpacked: disk", unpackManyFiles(examFiles, 0, nil)},
		{
			"unpack-and-download",
			"the disk unpacks many files while other layers download slowly: registry, then disk",
			unpackManyFiles(examFiles, examLayer, nil),
		},
		{
			"busy-disk",
			"the disk is busy with fsync while an image is unpacked: disk",
			unpackManyFiles(examFiles/2, 0, syncDisk),
		},
		{
			"busy-processors",
			"all CPUs are busy: for each phase, the component that works in this phase",
			busyProcessors(long),
		},
	}
}

// kubeletAmidConfig stops the kubelet while the kubelet waits for the Secret of a volume. While the kubelet is
// stopped, kubeletAmidConfig creates the Secret.
func kubeletAmidConfig(ctx context.Context, x *examPod, long time.Duration) error {
	spec := onePod(x.bench().BaseImage, readySoon)
	spec.Volumes = []corev1.Volume{bench.SecretVolume(x.name)}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: spec.Volumes[0].Name, MountPath: "/data"}}
	err := errors.Join(x.create(ctx, spec), x.awaitEvents(ctx, "FailedMount", 2), x.bench().Node.Freeze(node.Kubelet))
	if err != nil {
		return err
	}
	defer x.bench().Node.Thaw()
	err = x.recordCauses(onlyCause(blame.Config), configAfterwards(), func() error {
		return x.bench().CreateSecret(ctx,
			x.name)
	})
	made := time.Now()
	err = errors.Join(err, sleep(ctx, long), x.bench().Node.Thaw())
	x.faults = append(x.faults, blame.Fault{Causes: onlyCause(blame.Kubelet), From: made, FixedAt: time.Now(),
		Source: "scenario"})
	return errors.Join(err, x.awaitReady(ctx))
}

// examFiles is the number of files in an image that is slow to unpack.
const examFiles = 25_000

// networkAway removes the node's network configuration, and then creates a pod. networkAway restores the configuration
// while the pod waits for its sandbox.
func networkAway(long func() time.Duration) playFunc {
	return func(ctx context.Context, x *examPod) error {
		n := x.bench().Node
		defer func() { _ = n.RestoreNetwork() }()
		if err := errors.Join(n.RemoveNetwork(), x.nodeNotReady(ctx)); err != nil {
			return err
		}
		spec := onePod(x.bench().BaseImage, readySoon)
		spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
		x.sandboxFault = onlyCause(blame.Network)
		err := errors.Join(x.create(ctx, spec), x.takenUp(ctx), sleep(ctx, long()+4*time.Second))
		return errors.Join(err,
			x.recordCauses(onlyCause(blame.Network), []blame.Cause{blame.Network, blame.Kubelet}, n.RestoreNetwork),
			x.awaitReady(ctx), n.AwaitReady(ctx))
	}
}

// nodeNotReady waits until the kubelet has reported that the node is not ready.
func (x *examPod) nodeNotReady(ctx context.Context) error {
	return x.await(ctx, "node that is not ready", func() (bool, error) {
		var object corev1.Node
		err := x.bench().Kube.Get(ctx, "/api/v1/nodes/"+layout.NodeName, &object)
		for _, c := range object.Status.Conditions {
			if c.Type == corev1.NodeReady && c.Status != corev1.ConditionTrue {
				return true, nil
			}
		}
		return false, err
	})
}

func containerdRestarted(ctx context.Context, x *examPod) error {
	const down = 2 * time.Second
	image, err := x.slowImage(ctx, mainName, 6*time.Second)
	err = errors.Join(err, x.create(ctx, onePod(image, readySoon)), x.awaitPulling(ctx, mainName, 1), sleep(ctx,
		3*time.Second))
	if err != nil {
		return err
	}
	n := x.bench().Node
	away, err := bench.Dated(
		func() error { return errors.Join(n.StopContainerd(), sleep(ctx, down), n.StartContainerd(ctx)) },
	)
	x.exam.recordStop(away, true)
	return errors.Join(err, x.awaitReady(ctx))
}

// slowImage returns an image that the node must pull. The pull takes approximately the given time.
func (x *examPod) slowImage(ctx context.Context, container string, takes time.Duration) (string, error) {
	reference, err := x.pushCold(ctx, container, int(takes.Seconds()*examRate))
	return reference, errors.Join(err,
		x.bench().Break(ctx, x.imageOf(container), registry.Rule{BytesPerSecond: examRate}))
}

// lacksPause configures the container runtime to use a sandbox image that the node does not have.
func (x *examPod) lacksPause(ctx context.Context, rule registry.Rule) error {
	const name = "pause"
	reference, err := x.bench().Image(ctx, x.imageOf(name), examLayer)
	x.pauseImage = repositoryOf(reference)
	return errors.Join(err, x.bench().Break(ctx, x.imageOf(name), rule), x.bench().Node.UsePauseImage(ctx, reference),
		// UsePauseImage restarts the container runtime. Give the kubelet time to notice that the runtime was stopped.
		sleep(ctx, 2*time.Second), x.bench().Node.AwaitReady(ctx))
}

func pauseImage(hostNetwork bool, rule registry.Rule) playFunc {
	return func(ctx context.Context, x *examPod) error {
		defer func() { _ = x.bench().Node.UseOwnPauseImage(context.WithoutCancel(ctx)) }()
		spec := onePod(x.bench().BaseImage, readySoon)
		spec.HostNetwork = hostNetwork
		return errors.Join(x.lacksPause(ctx, rule), x.start(ctx, spec))
	}
}

func pauseImageMissing(long func() time.Duration) playFunc {
	return func(ctx context.Context, x *examPod) error {
		defer func() { _ = x.bench().Node.UseOwnPauseImage(context.WithoutCancel(ctx)) }()
		const notFound = 404
		x.sandboxFault = onlyCause(blame.Registry)
		err := errors.Join(x.lacksPause(ctx, registry.Rule{Status: notFound}),
			x.create(ctx, onePod(x.bench().BaseImage, readySoon)), x.awaitEvents(ctx, "FailedCreatePodSandBox", 1),
			sleep(ctx, long()))
		return errors.Join(err, x.bench().Repair(ctx, x.imageOf("pause")), x.awaitReady(ctx))
	}
}

// unpackManyFiles returns a playFunc that starts a pod with an image of many files. If bytes is not 0, the image also
// has a layer of this size, which downloads slowly. If the function "disturb" is not nil, it starts an activity that
// slows down the pull, and returns a function that ends this activity.
func unpackManyFiles(files, bytes int, disturb func(dir string) (func() error, error)) playFunc {
	return func(ctx context.Context, x *examPod) (err error) {
		many, err := image.ManyFiles(files)
		if err != nil {
			return err
		}
		layers := []v1.Layer{many}
		if bytes > 0 {
			slow, err := image.RandomLayers(bytes)
			if err != nil {
				return err
			}
			layers = append(layers, slow...)
			if err := x.bench().Break(ctx, x.imageOf(mainName), registry.Rule{BytesPerSecond: examRate}); err != nil {
				return err
			}
		}
		if x.images[mainName], err = x.bench().ImageOf(ctx, x.imageOf(mainName), layers...); err != nil {
			return err
		}
		if disturb != nil {
			rest, err := disturb(x.bench().Node.State)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, rest()) }()
		}
		return x.start(ctx, onePod(x.images[mainName], readySoon))
	}
}

// syncDisk keeps a disk busy with small synchronous writes to a file in dir. The returned function "rest" ends the
// writes.
func syncDisk(dir string) (rest func() error, err error) {
	path := filepath.Join(dir, "synced")
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("keep the disk busy: %w", err)
	}
	done, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-done:
				ended <- errors.Join(file.Close(), os.Remove(path))
				return
			default:
			}
			if _, err := file.WriteAt(make([]byte, 4096), 0); err != nil {
				ended <- fmt.Errorf("keep the disk busy: %w", err)
				return
			}
			_ = file.Sync()
		}
	}()
	return func() error { close(done); return <-ended }, nil
}

func busyProcessors(long func() time.Duration) playFunc {
	return func(ctx context.Context, x *examPod) error {
		image, err := x.slowImage(ctx, mainName, 3*time.Second)
		if err != nil {
			return err
		}
		rest := keepBusy(2 * runtime.NumCPU())
		defer rest()
		spec := onePod(image, readySoon)
		spec.InitContainers = []corev1.Container{bench.InitContainer(initName, x.bench().BaseImage, long())}
		return x.start(ctx, spec)
	}
}

// pullSerially makes the kubelet pull one image at a time.
func pullSerially(ctx context.Context, e *exam) error { return e.bench.Node.PullSerially(ctx) }

// queueRows returns two examRows with one pod each. The pull for the second pod starts after the pull for the first pod
// has ended.
func queueRows() []examRow {
	var rows []examRow
	culprits := []string{"the registry is slow: registry", "another pod's pull runs first: pull queue, then registry"}
	for i, words := range culprits {
		rows = append(rows, examRow{fmt.Sprintf("queue-%d", i+1), words, func(ctx context.Context, x *examPod) error {
			image, err := x.slowImage(ctx, mainName, 4*time.Second)
			return errors.Join(err, x.start(ctx, onePod(image, readySoon)))
		}})
	}
	return rows
}
