package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/registry"
)

// combinedFault is a fault that can be combined with other faults in one pod.
type combinedFault struct {
	name string
	// The scenario calls prepare before it creates the pod. prepare changes the pod's specification, or something that
	// the pod needs, for example a registry. The returned function ends the fault during the start-up. If the fault
	// ends without help, the function is nil. If a pod has several faults, their functions run in the order of
	// combinedFaults.
	prepare func(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error)
}

// combinedFaults returns the faults in the order in which they affect a start-up.
func combinedFaults() []combinedFault {
	return []combinedFault{
		{"gate", heldByGate},
		{"no-node", lateNode},
		{"secret", lateSecret},
		{"runtime-class", lateHandler},
		{"network", func(_ context.Context, x *examPod, _ *corev1.PodSpec, long time.Duration) (func() error, error) {
			return nil, x.exam.network.Set(x.name, cni.Faults{Delay: cni.Duration{Duration: long}})
		}},
		{"init", func(_ context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
			spec.InitContainers = []corev1.Container{bench.InitContainer(initName, x.bench().BaseImage, long)}
			return nil, nil
		}},
		{
			"slow-pull",
			func(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
				image, err := x.slowImage(ctx, mainName, long)
				spec.Containers[0].Image = image
				return nil, err
			},
		},
		{"failed-pull", failedPull},
		{"environment", lateEnvironment},
		{
			"startup",
			func(_ context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
				spec.Containers[0] = bench.WithStartupProbe(
					bench.MainContainer(mainName, spec.Containers[0].Image, long+readySoon),
					long,
				)
				return nil, nil
			},
		},
		{"hook", func(_ context.Context, _ *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
			spec.Containers[0] = bench.WithHook(spec.Containers[0], long)
			return nil, nil
		}},
		{
			"readiness-gate",
			func(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
				spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: bench.ReadinessGate}}
				return func() error { return x.approveLate(ctx, long) }, nil
			},
		},
	}
}

func heldByGate(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
	spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: bench.SchedulingGate}}
	return func() error {
		return errors.Join(sleep(ctx, long), x.recordCauses(onlyCause(blame.Gate), onlyCause(blame.Scheduler),
			func() error {
				return x.bench().LiftSchedulingGate(ctx, x.name)
			}))
	}, nil
}

func lateNode(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
	bench.Demand(spec, x.bench().NodeResource(x.name))
	return func() error {
		defer func() { _ = x.bench().OfferResource(context.WithoutCancel(ctx), x.name, false) }()
		return errors.Join(
			sleep(ctx, long),
			x.recordCauses(onlyCause(blame.Placement), []blame.Cause{blame.Placement, blame.Scheduler}, func() error {
				return x.bench().OfferResource(ctx, x.name, true)
			}),
			x.takenUp(ctx),
		)
	}, nil
}

func lateHandler(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
	class := x.bench().RuntimeClass(x.name)
	spec.RuntimeClassName, x.sandboxFault = &class, onlyCause(blame.Config)
	return func() error {
		return errors.Join(
			x.awaitEvents(ctx, "FailedCreatePodSandBox", 1),
			sleep(ctx, long),
			x.bench().DeleteRuntimeClass(ctx, x.name),
			x.bench().CreateRuntimeClass(ctx, x.name, "runc"),
		)
	}, x.bench().CreateRuntimeClass(ctx, x.name, "missing")
}

func lateSecret(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
	spec.Volumes = []corev1.Volume{bench.SecretVolume(x.name)}
	mount := corev1.VolumeMount{Name: spec.Volumes[0].Name, MountPath: "/data"}
	for i := range spec.Containers {
		spec.Containers[i].VolumeMounts = append(spec.Containers[i].VolumeMounts, mount)
	}
	return func() error {
		return errors.Join(
			x.takenUp(ctx),
			sleep(ctx, long),
			x.recordCauses(onlyCause(blame.Config), configAfterwards(), func() error {
				return x.bench().CreateSecret(ctx, x.name)
			}),
		)
	}, nil
}

func lateEnvironment(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
	spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: x.name}}}}
	missed := `configmap "` + x.name + `" not found`
	return func() error {
		return errors.Join(
			x.statedOf(ctx, "Failed", missed),
			sleep(ctx, long),
			x.blamesFrom(x.firstStated("Failed", missed), onlyCause(blame.Config), configAfterwards(),
				func() error { return x.bench().CreateConfigMap(ctx, x.name) }),
		)
	}, nil
}

func failedPull(ctx context.Context, x *examPod, spec *corev1.PodSpec, long time.Duration) (func() error, error) {
	image, err := x.pushCold(ctx, mainName, smallLayer)
	spec.Containers[0].Image = image
	return func() error {
		return errors.Join(x.awaitPulling(ctx, mainName, 1), sleep(ctx, long),
			x.bench().Repair(ctx, x.imageOf(mainName)))
	}, errors.Join(err, x.bench().Break(ctx, x.imageOf(mainName), registry.Rule{Status: http.StatusTooManyRequests}))
}

// severalAtOnce returns an examRow whose pod has several faults in one start-up. The argument "faults" contains indexes
// into the list that combinedFaults returns.
func severalAtOnce(prefix string, faults []int, long func() time.Duration) examRow {
	all := combinedFaults()
	var names []string
	for _, i := range faults {
		names = append(names, all[i].name)
	}
	return examRow{
		prefix,
		"combined faults: " + strings.Join(names, ", "),
		func(ctx context.Context, x *examPod) error {
			spec := onePod(x.bench().BaseImage, readySoon)
			// Faults that replace the container or its image come first, because the replacement overwrites earlier
			// changes.
			order := slices.Clone(faults)
			slices.SortStableFunc(order, func(a, b int) int {
				return replacementKey(all[b].name) - replacementKey(all[a].name)
			})
			steps := make(map[int]func() error)
			for _, i := range order {
				step, err := all[i].prepare(ctx, x, &spec, long())
				if err != nil {
					return err
				}
				steps[i] = step
			}
			if err := x.create(ctx, spec); err != nil {
				return err
			}
			for _, i := range slices.Sorted(slices.Values(faults)) {
				if steps[i] == nil {
					continue
				}
				if err := steps[i](); err != nil {
					return err
				}
			}
			return x.awaitReady(ctx)
		},
	}
}

// replacementKey returns the key by which severalAtOnce sorts a pod's faults. Faults with a larger key come first. The
// largest key belongs to the faults that replace the image. The fault "startup" comes next, because it replaces the
// container but keeps the image. All other faults have the key 0.
func replacementKey(fault string) int {
	switch fault {
	case "slow-pull", "failed-pull":
		return 2
	case "startup":
		return 1
	}
	return 0
}

// drawRows returns examRows whose pods have randomly drawn faults. Each pod has at most three faults.
func drawRows(prefix string, count int, seed uint64) []examRow {
	random := rand.New(rand.NewPCG(seed, 2))
	all := combinedFaults()
	var rows []examRow
	for i := range count {
		picked := random.Perm(len(all))[:2+random.IntN(2)]
		// The faults slow-pull and failed-pull both replace the container's image, so a pod can have only one of them.
		if slices.ContainsFunc(picked, func(p int) bool { return all[p].name == "slow-pull" }) {
			picked = slices.DeleteFunc(picked, func(p int) bool { return all[p].name == "failed-pull" })
		}
		slices.Sort(picked)
		rows = append(rows, severalAtOnce(fmt.Sprintf("%s-%d", prefix, i+1), picked, drawLengths(random.Uint64())))
	}
	return rows
}

// rowOfAllFaults returns an examRow whose pod has every fault except "failed-pull".
func rowOfAllFaults(long func() time.Duration) examRow {
	var faults []int
	for i, fault := range combinedFaults() {
		if fault.name != "failed-pull" {
			faults = append(faults, i)
		}
	}
	return severalAtOnce("everything", faults, func() time.Duration { return long() / 2 })
}
