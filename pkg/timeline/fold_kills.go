package timeline

import "slices"

// This file distinguishes runs that ended by themselves from runs that the kubelet, the kernel or somebody else
// stopped. The method wasKilled covers runs that ended because the kubelet ended the whole pod, for example after an
// eviction.

// runEndStep returns the step that ends a run, with all possible phases of the run.
func (f *fold) runEndStep(c *Container, end step) step {
	killed, explained := f.classifyKill(c, end.key.attempt)
	code, known := f.e.containers[end.key.container].exitCode(int(end.key.attempt))
	switch {
	case !f.endedWithSandbox(end.key.container, end.key.attempt):
		completed := known && code == 0 && c.Kind != KindInit && !c.RestartsAlways && f.failed()
		if killed && !explained || completed { // no phase describes a completed run or an unexplained kill
			end.also = alsoUnattributed
		}
	case c.Kind == KindInit && killed:
		end.also = alsoSandboxLost // the kubelet might have stopped the run when it replaced the sandbox
	case c.Kind == KindInit:
	case known && code != 0 && (!killed || explained) && code != codeUnknown,
		known && code == 0 && end.key.attempt > 0 && c.RestartsAlways:
		// The run ended either by itself before the loss of the sandbox, or because the kubelet stopped it. The kubelet
		// makes the first restart without back-off. So if the first run ended with exit code 0, its sandbox cannot have
		// been lost during a back-off.
		end.phase, end.also = PhaseSandboxLost, []Phase{end.phase}
	default:
		end.phase = PhaseSandboxLost
	}
	if c.Kind == KindSidecar && f.failed() && f.stoppedWithPod(end.key) {
		end.also = uniquePhases(end.also, alsoKubeletSync)
	}
	return end
}

// codeUnknown is the exit code that the runtime reports if it does not know the true exit code of a run.
const codeUnknown = 255

// classifyKill reports whether SIGKILL or SIGTERM ended a run, and whether the container itself can be the reason.
//   - The kubelet stops a container if a liveness or startup probe or a post-start hook fails.
//   - The kernel kills a container that exceeds its memory limit or the limit of its pod. If the node runs out of
//     memory, the kernel can also kill a container that does not exceed its limit. The status contains the reason
//     OOMKilled in both cases. containerd derives this reason from the cgroup's counter oom_kill, which counts both
//     kinds of kills.
//
// If no probe, hook or memory limit explains a kill, the reason is outside the pod: the node ran out of memory, or
// somebody killed or stopped the container.
func (f *fold) classifyKill(c *Container, attempt uint16) (killed, explained bool) {
	x := f.e.containers[f.index(c.Name)].exitOf(int(attempt))
	if x == nil {
		return false, false
	}
	killed = x.outOfMemory || x.code == codeKilled || x.code == codeTerminated
	explained = c.LivenessProbe || c.StartupProbe || c.PostStartHook
	if x.outOfMemory {
		explained = c.MemoryLimited
	}
	return killed, explained
}

// undatedKill reports whether SIGKILL or SIGTERM ended the container's run in the phase s. A probe, a hook or the
// container's memory limit can explain such a kill, but somebody might also have killed the container. So the cause of
// the phase can differ from s.Cause.
func (f *fold) undatedKill(s Span) bool {
	if s.Phase != PhaseFailedRun && s.Phase != PhaseInitRun && s.Phase != PhaseSandboxLost {
		return false
	}
	i := slices.IndexFunc(f.containers, func(c *Container) bool { return c.Name == s.Container })
	if i < 0 {
		return false
	}
	killed, _ := f.classifyKill(f.containers[i], clampAttempt(s.Attempt))
	return killed
}

// undatedStart reports whether a failed sidecar might have started before its failure without the agent's knowledge.
// The agent might have missed a status with started=true. After a sidecar has started, the next containers do not wait
// for the end of its run. Without a startup probe, a sidecar counts as started when the kubelet detects that it runs
// (computeInitContainerActions in pkg/kubelet/kuberuntime). For a sidecar with a startup probe, the agent can miss the
// status with started=true only if the agent received the first pod object from a list.
func (f *fold) undatedStart(s Span) bool {
	return s.Phase == PhaseFailedRun && slices.ContainsFunc(f.containers, func(c *Container) bool {
		return c.Name == s.Container && c.Kind == KindSidecar && (!c.StartupProbe || !f.e.firstSeen.live)
	})
}

// stoppedWithPod reports whether a run ended after all init and main containers had ended. After the pod has failed,
// the kubelet stops its sidecars.
func (f *fold) stoppedWithPod(end milestoneKey) bool {
	stopped := f.bounds.find(end)
	for _, c := range f.containers {
		if stopped == nil || c.Kind != KindMain && c.Kind != KindInit {
			continue
		}
		ran, ended := f.latestOf(c, MilestoneRunning), f.latestOf(c, MilestoneFinished)
		if ran != nil && (ended == nil || ended.key.attempt < ran.key.attempt || ended.earliest > stopped.latest) {
			return false
		}
	}
	return stopped != nil
}
