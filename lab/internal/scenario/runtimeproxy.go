package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/node"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// proxySocket is the path of the runtime proxy's socket in the agent's container.
const proxySocket = "/run/podlapse/runtime.sock"

// runtimeProxy deploys an agent that has only the socket of the runtime proxy, and no socket of the container runtime.
// The agent must report correct timelines. Then runtimeProxy tries what an attacker in the agent's container could do.
func runtimeProxy(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if err := b.Node.DeployBase(ctx, node.ProxyContainer); err != nil {
		return err
	}
	if err := firstLight(ctx, b, v); err != nil {
		return err
	}
	if err := b.ResetFaults(ctx); err != nil {
		return err
	}
	pod, err := b.Node.AgentPod(ctx)
	if err != nil {
		return err
	}
	agent, err := b.Node.AgentPID(pod, "agent")
	if err != nil {
		return err
	}
	proxy, err := b.Node.AgentPID(pod, node.ProxyContainer)
	if err != nil {
		return err
	}
	through, err := grpc.NewClient(
		fmt.Sprintf("unix:///proc/%d/root%s", agent, proxySocket),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		return err
	}
	defer through.Close()
	direct, err := grpc.NewClient(
		"unix://"+b.Node.ContainerdSocket(),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		return err
	}
	defer direct.Close()
	if err := tryForbidden(ctx, b, v, direct, through); err != nil {
		return err
	}
	if err := lookForSockets(b, v, agent, proxy); err != nil {
		return err
	}
	if err := tryFromInside(ctx, b, v, pod); err != nil {
		return err
	}
	judgeProxyProcess(v, proxy)
	if err := measureProxy(ctx, v, direct, through, proxy); err != nil {
		return err
	}
	return restartBehindProxy(ctx, b, v)
}

// tryForbidden sends calls through the socket in the agent's container, and requires that the proxy refuses these
// calls. Without the proxy, most of these calls could change the runtime, or return more data than the agent needs. If
// the proxy forwarded the call StopContainer, a running container would stop.
func tryForbidden(ctx context.Context, b *bench.Bench, v *Verdict, direct, through *grpc.ClientConn) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	runtime := runtimeapi.NewRuntimeServiceClient(direct)
	running := &runtimeapi.ListContainersRequest{Filter: &runtimeapi.ContainerFilter{
		State: &runtimeapi.ContainerStateValue{State: runtimeapi.ContainerState_CONTAINER_RUNNING},
		LabelSelector: map[string]string{
			"io.kubernetes.pod.namespace":  b.Namespace,
			"io.kubernetes.container.name": "main",
		}}}
	list, err := runtime.ListContainers(ctx, running)
	if err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	if len(list.GetContainers()) == 0 {
		v.Problem("no container is running, want at least one to stop: the scenario is not conclusive")
		return nil
	}
	victim := list.GetContainers()[0].GetId()
	evil, images := runtimeapi.NewRuntimeServiceClient(through), runtimeapi.NewImageServiceClient(through)
	calls := map[string]func() error{
		"RunPodSandbox": func() error {
			_, err := evil.RunPodSandbox(ctx, &runtimeapi.RunPodSandboxRequest{})
			return err
		},
		"ExecSync": func() error {
			_, err := evil.ExecSync(ctx, &runtimeapi.ExecSyncRequest{ContainerId: victim, Cmd: []string{"/workload"}})
			return err
		},
		"StopContainer": func() error {
			_, err := evil.StopContainer(ctx, &runtimeapi.StopContainerRequest{ContainerId: victim})
			return err
		},
		"RemoveContainer": func() error {
			_, err := evil.RemoveContainer(ctx, &runtimeapi.RemoveContainerRequest{ContainerId: victim})
			return err
		},
		"PullImage": func() error { _, err := images.PullImage(ctx, &runtimeapi.PullImageRequest{}); return err },
		"ContainerStatus, verbose": func() error {
			_, err := evil.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: victim, Verbose: true})
			return err
		},
		"ListContainers of all pods": func() error {
			_, err := evil.ListContainers(ctx, &runtimeapi.ListContainersRequest{})
			return err
		},
	}
	for _, method := range []string{
		"/containerd.services.containers.v1.Containers/List", "/containerd.services.tasks.v1.Tasks/Exec",
		"/containerd.services.content.v1.Content/Delete", "/containerd.services.leases.v1.Leases/Create",
		"/grpc.health.v1.Health/Check",
	} {
		calls[method] = func() error {
			return through.Invoke(ctx, method, &runtimeapi.VersionRequest{}, &runtimeapi.VersionResponse{})
		}
	}
	for name, call := range calls {
		v.Compared++
		if err := call(); status.Code(err) != codes.PermissionDenied {
			v.Problem("%s through the proxy: got code %s, want PermissionDenied", name, status.Code(err))
		}
	}
	if _, err := evil.ContainerStatus(ctx, &runtimeapi.ContainerStatusRequest{ContainerId: victim}); err != nil {
		v.Problem("ContainerStatus through the proxy must succeed, because otherwise the refusals prove "+
			"nothing, but returned: %v", err)
	}
	if list, err = runtime.ListContainers(ctx, running); err != nil {
		return fmt.Errorf("list containers: %w", err)
	}
	if !slices.ContainsFunc(list.GetContainers(), func(c *runtimeapi.Container) bool { return c.GetId() == victim }) {
		v.Problem("container %s was stopped through the proxy, want it running", victim)
	}
	v.Note(
		"the proxy refused %d forbidden calls; one of the calls would have stopped container %.12s, which still "+
			"runs",
		len(calls),
		victim,
	)
	return nil
}

// measureProxy compares the duration of calls through the proxy with the duration of direct calls. measureProxy also
// checks the proxy's memory, and notes its CPU time.
func measureProxy(ctx context.Context, v *Verdict, direct, through *grpc.ClientConn, proxy int) error {
	const calls = 1000
	took := map[string][]time.Duration{}
	for range calls { // direct calls and proxy calls alternate, so that the machine's load affects both kinds equally
		for way, conn := range map[string]*grpc.ClientConn{"direct": direct, "through the proxy": through} {
			ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
			begunAt := time.Now()
			_, err := runtimeapi.NewRuntimeServiceClient(conn).Version(ctx, &runtimeapi.VersionRequest{})
			cancel()
			if err != nil {
				return fmt.Errorf("measure a runtime call (%s): %w", way, err)
			}
			took[way] = append(took[way], time.Since(begunAt))
		}
	}
	for _, way := range []string{"direct", "through the proxy"} {
		slices.Sort(took[way])
		v.Note(
			"Version of containerd, %s: median %s, 99th percentile %s",
			way,
			took[way][calls/2],
			took[way][calls*99/100],
		)
	}
	const most = 5 * time.Millisecond // negligible compared with the agent's timeout
	v.Compared++
	if added := took["through the proxy"][calls/2] - took["direct"][calls/2]; added > most {
		v.Problem("the proxy adds %s to a call, want at most %s", added, most)
	}
	id, err := process.Identify(proxy)
	if err != nil {
		return err
	}
	usage, err := id.Usage()
	if err != nil {
		return err
	}
	const budget = 15 << 20 // memory request of the proxy in the manifests
	v.Compared++
	if usage.Own > budget {
		v.Problem("the proxy's own memory is %d KiB, want at most %d KiB", usage.Own>>10, budget>>10)
	}
	v.Note("the proxy's resident memory is %.1f MiB, including %.1f MiB of its own memory, after %s of CPU",
		float64(usage.Memory)/(1<<20), float64(usage.Own)/(1<<20), usage.CPU)
	return nil
}

// restartBehindProxy restarts containerd, which creates a new socket. The agent must report the next pod as usual.
func restartBehindProxy(ctx context.Context, b *bench.Bench, v *Verdict) error {
	if err := b.Node.StopContainerd(); err != nil {
		return err
	}
	if err := b.Node.StartContainerd(ctx); err != nil {
		return err
	}
	if err := b.Node.AwaitReady(ctx); err != nil {
		return err
	}
	const delay = 2 * time.Second
	if err := b.DelayNetwork(delay); err != nil {
		return err
	}
	timeline, err := startPlain(ctx, b, "after", b.BaseImage)
	if err != nil {
		return err
	}
	truth, err := b.NetworkTruth("after")
	if err != nil {
		return err
	}
	v.Phase(timeline, "network", "", delay, truth.Length(), limit)
	v.Contract(timeline)
	stdout, stderr, err := checkRuntimeInAgent(ctx, b)
	v.Compared++
	if err != nil || !strings.Contains(stdout, "ok       runtime ") {
		v.Problem("podlapse-agent check must find the runtime after containerd restarted, but returned: %v\n%s%s",
			err, stdout, stderr)
	}
	return nil
}
