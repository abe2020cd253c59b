package scenario

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
)

// limit is the largest accepted difference between a duration that the agent reports and the true duration. A phase
// also contains work whose duration the scenario does not set, for example creating a network namespace, unpacking a
// layer, or starting a process.
const limit = 250 * time.Millisecond

// Size and download rate of the images that the node must pull. Each pull takes five seconds.
const (
	coldLayer = 20 << 20 // bytes
	pullRate  = 4 << 20  // bytes per second
)

// pullTime is the time that the registry needs to send a layer of size coldLayer.
const pullTime = coldLayer / pullRate * time.Second

// firstLight starts one pod that goes through every part of a start-up. The scenario sets the durations of the network
// setup, the init container's run, the pull and the readiness probe.
func firstLight(ctx context.Context, b *bench.Bench, v *Verdict) error {
	const (
		networkDelay = 2 * time.Second
		initRun      = 1500 * time.Millisecond
		readyAfter   = 2 * time.Second
	)
	cold, err := b.Image(ctx, "main", coldLayer)
	if err != nil {
		return err
	}
	if err := b.Throttle(ctx, pullRate); err != nil {
		return err
	}
	if err := b.DelayNetwork(networkDelay); err != nil {
		return err
	}
	pods, err := b.CreateDeployment(ctx, "first-light", 1, corev1.PodSpec{
		InitContainers: []corev1.Container{
			bench.InitContainer("init", b.BaseImage, initRun),
			bench.Sidecar("sidecar", b.BaseImage),
		},
		Containers: []corev1.Container{bench.MainContainer("main", cold, readyAfter)},
	})
	if err != nil {
		return err
	}
	pod := pods[0]
	if err := b.AwaitReady(ctx, pod, time.Minute); err != nil {
		return err
	}
	timeline, err := b.AwaitSettled(ctx, pod)
	if err != nil {
		return err
	}
	network, err := b.NetworkTruth(pod)
	if err != nil {
		return err
	}
	pull, err := b.PullTruth(ctx, "main")
	if err != nil {
		return err
	}
	runtime, err := b.RuntimeLog(pod, timeline.UID)
	if err != nil {
		return err
	}
	stack := b.Node.Stack
	// If the node must pull the pause image first, nothing shows when this pull ends and the network setup begins.
	setup := phaseOrGroup(timeline, "", "network", "sandbox_setup", stack.ColdPause)
	v.Phase(timeline, setup, "", networkDelay, network.Length(), limit)
	// On a busy machine, the init container runs longer than its own wait.
	run := runtime.ExitedAt["init"].Sub(runtime.RunningAt["init"])
	v.Phase(timeline, "init_run", "init", initRun, run, limit)
	// containerd can discard the layer before the agent queries the layer's timestamps.
	pulling := phaseOrGroup(timeline, "main", "pull", agent.ImagePull, !stack.Containerd.KeepsLayers())
	v.Phase(timeline, pulling, "main", pullTime, pull.Length(), limit)
	v.Phase(timeline, "readiness_probe", "main", readyAfter, readyAfter, limit)
	v.Contract(timeline)
	v.requireDownload(timeline, "main")
	return v.requireLimits(ctx, b)
}

// requireLimits compares the agent's report about the runtime with the stack's file. Both must list the same facts that
// the runtime does not report. If the runtime reports everything, neither lists a fact.
func (v *Verdict) requireLimits(ctx context.Context, b *bench.Bench) error {
	const verb = " does not report "
	health, err := b.Agent.Health(ctx)
	if err != nil {
		return err
	}
	var want, got string
	runtime := b.Node.Stack.Containerd
	for _, limit := range b.Node.Stack.Limits {
		subject := fmt.Sprintf("containerd %d.%d", runtime.Major, runtime.Minor)
		if facts, found := strings.CutPrefix(limit, subject+verb); found {
			want = strings.TrimSuffix(facts, ".")
		}
	}
	for line := range strings.Lines(health) {
		if facts, isRuntime := strings.CutPrefix(line, "[+]cri ok: "); isRuntime {
			_, got, _ = strings.Cut(strings.TrimSpace(facts), verb)
		}
	}
	v.Compared++
	if got != want {
		v.Problem("/readyz?verbose lists as facts that the runtime does not report %q, want %q", got, want)
	}
	return nil
}

// phaseOrGroup returns the name of the phase that the scenario must check. Usually, this is the given phase. If the
// timeline does not contain this phase for the container, and if "allowed" is true, phaseOrGroup returns the group
// phase. A group phase stands for several phases that the agent reports together. An empty container name matches all
// containers.
func phaseOrGroup(timeline agent.Timeline, container, phase, group string, allowed bool) string {
	if _, alone, _ := timeline.In(phase, container); !alone && allowed {
		return group
	}
	return phase
}
