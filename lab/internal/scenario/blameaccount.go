package scenario

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/blame"
	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/registry"
	"github.com/podlapse/podlapse/lab/internal/workload"
)

// collectEvidence collects the evidence about a pod from all logs that are independent of the agent. The pod must still
// exist, because the kubelet deletes the pod's log with the pod.
func (x *examPod) collectEvidence(ctx context.Context, timeline agent.Timeline) (blame.Account, error) {
	a := blame.Account{CreatedAt: x.createdAt, Until: x.until, SandboxFault: x.sandboxFault, Faults: x.faults,
		Stopped: x.exam.stoppages()}
	if a.Until.IsZero() {
		a.Until = timeline.SettledAt
	}
	b := x.bench()
	a.BoundAt, _ = b.BoundAt(ctx, x.name)  // the pod might never have been bound
	a.PickedUpAt, _ = b.PickedUpAt(x.name) // the kubelet might never have picked up the pod
	calls, err := x.exam.calls.Of(x.uid())
	if err != nil {
		return a, err
	}
	networks, err := cni.ReadLog(b.Node.CNILog(), b.Namespace)
	if err != nil {
		return a, err
	}
	var pauses []registry.Access
	if x.pauseImage != "" {
		if pauses, err = x.registryRequests(ctx, x.pauseImage); err != nil {
			return a, err
		}
	}
	for _, call := range calls {
		a.Calls = append(a.Calls, x.convertCall(call, networks, pauses))
		if call.Kind != bench.CallStart {
			continue
		}
		run, err := x.runOf(call)
		if err != nil {
			return a, err
		}
		a.Runs = append(a.Runs, run)
	}
	return a, x.addPulls(ctx, &a)
}

// convertCall converts a call from the kubelet to the container runtime into a blame.Call. If the call creates a
// sandbox, convertCall adds two things that happened during the call: the runs of the network plugin, and the download
// of the pause image.
func (x *examPod) convertCall(call bench.RuntimeCall, networks []cni.Entry, pauses []registry.Access) blame.Call {
	c := blame.Call{Span: blame.Span{From: call.StartAt, To: call.EndAt}, Kind: call.Kind, Container: call.Container,
		Attempt: call.Attempt, Failed: call.Failed,
		Waited: x.exam.waits.waitedNear(bench.Span{StartAt: call.StartAt, EndAt: call.StartAt})}
	if call.Kind != bench.CallSandbox {
		return c
	}
	c.ReturnWaited = x.exam.waits.waitedNear(bench.Span{StartAt: call.EndAt, EndAt: call.EndAt})
	within := func(at time.Time) bool {
		return !at.Before(call.StartAt) && (call.EndAt.IsZero() || at.Before(call.EndAt))
	}
	for _, entry := range networks {
		if entry.Pod == x.name && within(entry.StartAt) {
			c.Network = append(c.Network, blame.Span{From: entry.StartAt, To: entry.EndAt})
			c.NetworkFailed = c.NetworkFailed || entry.Error != ""
			c.NetworkWaited = x.exam.waits.waitedNear(bench.Span{StartAt: entry.EndAt, EndAt: entry.EndAt})
		}
	}
	for _, access := range pauses {
		if !within(access.StartAt) {
			continue
		}
		if c.PauseImage.From.IsZero() || access.StartAt.Before(c.PauseImage.From) {
			c.PauseImage.From = access.StartAt
		}
		if access.LastByteAt.After(c.PauseImage.To) {
			c.PauseImage.To = access.LastByteAt
		}
	}
	return c
}

// runOf returns what happened to a container after the given call had started it. For example, the result contains the
// time when the container exited.
func (x *examPod) runOf(call bench.RuntimeCall) (blame.Run, error) {
	r := blame.Run{Container: call.Container, Attempt: call.Attempt,
		StartedAt: x.exam.starts.Of(call), ExitedAt: call.ExitedAt, ExitSeenAt: call.ExitSeenAt}
	stated, err := x.bench().WorkloadLogOfRun(x.name, x.uid(), call.Container, call.Attempt)
	if err != nil {
		return r, err
	}
	r.BegunAt = stated[workload.WordStarted]
	r.Waited = x.exam.waits.waitedNear(bench.Span{StartAt: r.BegunAt, EndAt: r.BegunAt})
	for _, c := range x.spec.InitContainers {
		if c.Name == call.Container {
			r.Init = c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways
			r.Hooked = hasHook(c)
		}
	}
	for _, c := range x.spec.Containers {
		if c.Name == call.Container {
			r.Hooked = hasHook(c)
			r.ReadyAt = stated[workload.WordReady]
			if c.ReadinessProbe == nil && c.StartupProbe != nil {
				r.ReadyAt = stated[workload.WordStartup]
			}
		}
	}
	if r.Hooked {
		r.HookedAt = stated[workload.WordHookDone]
	}
	return r, nil
}

func hasHook(c corev1.Container) bool { return c.Lifecycle != nil && c.Lifecycle.PostStart != nil }

// addPulls adds the runtime's pull calls for the pod's images, and the kubelet's Events about pulls and back-offs.
func (x *examPod) addPulls(ctx context.Context, a *blame.Account) error {
	events, err := x.exam.events.All()
	if err != nil {
		return err
	}
	for _, event := range events {
		if event.Pod == x.name && event.Reason == "Pulling" {
			a.Requested = append(a.Requested, blame.Request{Container: event.Container, At: event.At})
		}
		if event.Pod == x.name && event.Reason == "BackOff" {
			a.BackedOff = append(a.BackedOff, blame.Request{Container: event.Container, At: event.At})
		}
	}
	for container, reference := range x.images {
		pulls, err := x.exam.pulls.Of(reference)
		if err != nil {
			return err
		}
		accesses, err := x.registryRequests(ctx, repositoryOf(reference))
		if err != nil {
			return err
		}
		for _, pull := range pulls {
			call := blame.Call{
				Span:      blame.Span{From: pull.StartAt, To: pull.EndAt},
				Kind:      blame.Pull,
				Container: container,
				Failed:    pull.Failed != "",
			}
			for _, access := range accesses {
				if !access.StartAt.Before(pull.StartAt.Add(-logRounding)) &&
					(pull.EndAt.IsZero() || access.StartAt.Before(pull.EndAt)) &&
					access.LastByteAt.After(call.LastByteAt) {
					call.LastByteAt = access.LastByteAt
				}
			}
			a.Calls = append(a.Calls, call)
		}
	}
	slices.SortStableFunc(a.Calls, func(p, q blame.Call) int { return p.From.Compare(q.From) })
	return nil
}

// A timestamp in containerd's log can be late by up to logRounding.
const logRounding = 2 * time.Millisecond

// registryRequests searches the logs of all registries. registryRequests returns the requests that the node sent to
// read from the given repository.
func (x *examPod) registryRequests(ctx context.Context, repository string) ([]registry.Access, error) {
	var all []registry.Access
	for _, client := range x.exam.registries {
		log, err := client.Log(ctx, repository)
		if err != nil {
			return nil, err
		}
		all = append(all, log...)
	}
	return slices.DeleteFunc(all, func(a registry.Access) bool {
		return strings.HasPrefix(a.Client, image.Pusher) || a.Method != http.MethodGet && a.Method != http.MethodHead
	}), nil
}

// repositoryOf returns an image reference without its registry, tag and digest.
func repositoryOf(reference string) string {
	_, rest, _ := strings.Cut(reference, "/")
	if end := strings.IndexAny(rest, ":@"); end >= 0 {
		rest = rest[:end]
	}
	return rest
}

// stoppages returns the periods in which containerd was stopped.
func (e *exam) stoppages() []blame.Stop {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.stopped)
}
