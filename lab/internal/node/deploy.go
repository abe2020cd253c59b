package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/podlapse/podlapse/lab/internal/agentimage"
	"github.com/podlapse/podlapse/lab/internal/build"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/kube"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/manifests"
)

// The names of objects and containers in the manifests.
const (
	AgentNamespace = "podlapse"
	agentDaemonSet = "podlapse-agent"
	agentContainer = "agent"
	// ProxyContainer is the name of the second container of the agent's pod. The Kustomize component that adds this
	// container has the same name.
	ProxyContainer = "runtime-proxy"

	daemonSetPath = "/apis/apps/v1/namespaces/" + AgentNamespace + "/daemonsets/" + agentDaemonSet
	agentPodsPath = "/api/v1/namespaces/" + AgentNamespace + "/pods?labelSelector=app.kubernetes.io%2Fcomponent%3Dagent"
)

// nodeLabel is the label that the DaemonSet's node selector requires.
const nodeLabel = "podlapse-lab/agent"

// fieldManager is the field manager of all objects that the lab applies.
const fieldManager = "podlapse-lab"

// agentImageFile returns the path of a file that contains the reference of the DaemonSet's image.
func (n Node) agentImageFile() string { return n.In("agent-image") }

// AgentImage returns the reference of the agent's image in the lab's registry, or "" if no image was ever set.
func (n Node) AgentImage() string {
	data, err := os.ReadFile(n.agentImageFile())
	if err != nil {
		return ""
	}
	return string(data)
}

// pushAgentImage pushes the agent's image from an OCI archive to the lab's registry. pushAgentImage selects the image
// for the platform of this machine. The script image.sh builds the archive.
func (n Node) pushAgentImage(ctx context.Context, archive string) error {
	dir, err := os.MkdirTemp(n.State, "agent-image-")
	if err != nil {
		return fmt.Errorf("unpack the agent's image: %w", err)
	}
	defer os.RemoveAll(dir)
	index, err := agentimage.Open(archive, dir)
	if err != nil {
		return fmt.Errorf("%w: build the image with \"make image\"", err)
	}
	own, err := ofThisMachine(index)
	if err != nil {
		return fmt.Errorf("read %s: %w", archive, err)
	}
	digest, err := own.Digest()
	if err != nil {
		return fmt.Errorf("read %s: %w", archive, err)
	}
	reference := layout.Address(layout.RegistryPort) + "/podlapse/podlapse:" + digest.Hex[:12]
	if err := image.Push(ctx, n.RegistryGuard(), reference, own); err != nil {
		return err
	}
	if err := os.WriteFile(n.agentImageFile(), []byte(reference), 0o600); err != nil {
		return fmt.Errorf("store the agent's image: %w", err)
	}
	return nil
}

func ofThisMachine(index v1.ImageIndex) (v1.Image, error) {
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, descriptor := range manifest.Manifests {
		if p := descriptor.Platform; p != nil && p.OS == "linux" && p.Architecture == runtime.GOARCH {
			return index.Image(descriptor.Digest)
		}
	}
	return nil, fmt.Errorf("the archive must contain an image for linux/%s", runtime.GOARCH)
}

// labPatch adapts the DaemonSet to the lab's node. The agent listens only on the loopback address, so the probes use
// this address. The node runs no kube-proxy, so the agent cannot use the ClusterIP of the API server's Service.
// Instead, the agent connects to the API server directly.
const labPatch = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: podlapse-agent, namespace: podlapse}
spec:
  template:
    spec:
      nodeSelector: {@label@: here}
      containers:
      - name: agent
        env:
        - {name: KUBERNETES_SERVICE_HOST, value: "@host@"}
        - {name: KUBERNETES_SERVICE_PORT, value: "@port@"}
        - {name: LISTEN_ADDRESS, value: "@listen@"}
        - {name: RECORDS, value: both}
        livenessProbe: {httpGet: {host: "@host@"}}
        readinessProbe: {httpGet: {host: "@host@"}, periodSeconds: 1}
`

// socketPatch sets the path of the runtime's socket for the runtime proxy, or for the agent if there is no proxy.
const socketPatch = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: podlapse-agent, namespace: podlapse}
spec:
  template:
    spec:
      containers:
      - name: @holder@
        env:
        - {name: CONTAINER_RUNTIME_ENDPOINT, value: "unix://@socket@"}
        volumeMounts:
        - {mountPath: /run/containerd, $patch: delete}
        - {name: runtime, mountPath: "@run@", readOnly: true}
      volumes:
      - {name: runtime, hostPath: {path: "@run@", type: Directory}}
`

// filesPatch changes the directory of the Kustomize component "state-dir". With the patch, the agent stores its state
// in a directory of the lab. The agent also writes its observations to this directory.
const filesPatch = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: podlapse-agent, namespace: podlapse}
spec:
  template:
    spec:
      containers:
      - name: agent
        env:
        - {name: RECORD_OBSERVATIONS, value: "@observations@"}
        - {name: STATE_DIR, value: "@state@"}
        volumeMounts:
        - {mountPath: /var/lib/podlapse, $patch: delete}
        - {name: state, mountPath: "@files@"}
      volumes:
      - {name: state, hostPath: {path: "@files@", type: Directory}}
`

// agentManifests renders the agent's manifests for the lab's node, with the given Kustomize components and patches.
func (n Node) agentManifests(components []string, patches ...string) (string, error) {
	source, err := build.FindSource()
	if err != nil {
		return "", err
	}
	scratch := n.In("agent-manifests")
	if err := errors.Join(os.RemoveAll(scratch), os.Mkdir(scratch, 0o700)); err != nil {
		return "", fmt.Errorf("render the agent's manifests: %w", err)
	}
	// kustomize rejects paths with symbolic links
	if scratch, err = filepath.EvalSymlinks(scratch); err != nil {
		return "", fmt.Errorf("render the agent's manifests: %w", err)
	}
	if source, err = filepath.EvalSymlinks(source); err != nil {
		return "", fmt.Errorf("render the agent's manifests: %w", err)
	}
	holder := agentContainer
	if slices.Contains(components, ProxyContainer) {
		holder = ProxyContainer
	}
	patches = append([]string{socketPatch}, patches...)
	values := strings.NewReplacer("@holder@", holder, "@label@", nodeLabel, "@socket@", n.ContainerdSocket(), "@host@",
		layout.Loopback,
		"@port@", fmt.Sprint(layout.APIServerPort), "@listen@", layout.Address(layout.AgentPort), "@observations@",
		n.AgentObservations(), "@state@", n.AgentState(), "@run@", n.Run, "@files@", n.AgentFiles())
	for i, patch := range patches {
		patches[i] = values.Replace(patch)
	}
	return manifests.Compose(Manifests(source), scratch, manifests.Composition{
		Components: append([]string{"host-network"}, components...), Image: n.AgentImage(), Patches: patches})
}

// Manifests returns the path of the manifests directory, which is next to the lab's source directory.
func Manifests(source string) string { return filepath.Join(filepath.Dir(source), "manifests") }

// DeployAgent runs the agent as a DaemonSet with a state directory and the given Kustomize components. DeployAgent
// waits until the DaemonSet's new pod is ready. RestoreAgent or the next Up removes the given components.
func (n Node) DeployAgent(ctx context.Context, components ...string) error {
	return n.deploy(ctx, append([]string{"state-dir"}, components...), labPatch, filesPatch)
}

// DeployBase is like DeployAgent, but without a state directory. Without a state directory, the agent does not run as
// root. The agent then has access to only one path of the node: the directory with the runtime's socket.
func (n Node) DeployBase(ctx context.Context, components ...string) error {
	return n.deploy(ctx, components, labPatch)
}

func (n Node) deploy(ctx context.Context, components []string, patches ...string) error {
	if n.AgentImage() == "" {
		return errors.New("deploy the agent: the agent's image is missing: run \"make image\", and set --image")
	}
	// Two agents must not share a port or a state directory.
	if err := n.stopAgentProcess(); err != nil {
		return err
	}
	rendered, err := n.agentManifests(components, patches...)
	if err != nil {
		return err
	}
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	if err := n.applyAgent(ctx, client, rendered); err != nil {
		return err
	}
	if err := labelNode(ctx, client, "here"); err != nil {
		return err
	}
	return n.awaitRollout(ctx, client)
}

// labelNode sets the label nodeLabel on the node. If the value is nil, labelNode removes the label.
func labelNode(ctx context.Context, client *kube.Client, value any) error {
	change := map[string]any{"metadata": map[string]any{"labels": map[string]any{nodeLabel: value}}}
	if err := client.Merge(ctx, "/api/v1/nodes/"+layout.NodeName, change); err != nil {
		return fmt.Errorf("label the node: %w", err)
	}
	return nil
}

// RestartDeployed restarts the DaemonSet's pod like `kubectl rollout restart`, and waits until the new pod is ready.
func (n Node) RestartDeployed(ctx context.Context) error {
	client, err := n.Kube()
	if err != nil {
		return err
	}
	defer client.Close()
	// Unlike the command `kubectl rollout restart`, the lab writes the time with fractions of a second. With whole
	// seconds, two restarts within one second would count as one restart.
	now := time.Now().Format(time.RFC3339Nano)
	change := map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]any{"kubectl.kubernetes.io/restartedAt": now}}}}}
	if err := client.MergeLists(ctx, daemonSetPath, change); err != nil {
		return fmt.Errorf("restart the agent's DaemonSet: %w", err)
	}
	return n.awaitRollout(ctx, client)
}

// awaitRollout waits until the DaemonSet's new pod is ready, as kubectl rollout status does.
func (n Node) awaitRollout(ctx context.Context, client *kube.Client) error {
	return n.Report.Wait(ctx, "the agent's DaemonSet", startLimit, 100*time.Millisecond,
		func(ctx context.Context) error {
			if err := n.KeepAgentLogs(); err != nil {
				return err
			}
			var set appsv1.DaemonSet
			if err := client.Get(ctx, daemonSetPath, &set); err != nil {
				return err
			}
			s := set.Status
			if s.ObservedGeneration < set.Generation || s.DesiredNumberScheduled != 1 ||
				s.UpdatedNumberScheduled != 1 ||
				s.NumberAvailable != 1 {
				return n.whyNoAgent(ctx, client)
			}
			return nil
		})
}

// whyNoAgent returns an error with the reason why the DaemonSet's pod is missing or not ready.
func (n Node) whyNoAgent(ctx context.Context, client *kube.Client) error {
	pods, err := agentPods(ctx, client)
	if err != nil {
		return err
	}
	if len(pods) > 0 {
		pod := pods[0]
		for _, status := range pod.Status.ContainerStatuses {
			if waiting := status.State.Waiting; waiting != nil {
				return fmt.Errorf("a container of pod %s is waiting: %s %s", pod.Name, waiting.Reason, waiting.Message)
			}
		}
		return fmt.Errorf("pod %s is in phase %s", pod.Name, pod.Status.Phase)
	}
	events, err := client.Events(ctx, AgentNamespace)
	if err != nil {
		return err
	}
	for _, event := range events {
		if event.Type == corev1.EventTypeWarning && event.InvolvedObject.Kind == "DaemonSet" {
			return errors.New(event.Message)
		}
	}
	return errors.New("the agent's DaemonSet has no pod")
}

func agentPods(ctx context.Context, client *kube.Client) ([]corev1.Pod, error) {
	var pods corev1.PodList
	if err := client.Get(ctx, agentPodsPath, &pods); err != nil {
		return nil, fmt.Errorf("list the agent's pods: %w", err)
	}
	return pods.Items, nil
}

// AgentPod returns the pod of the agent's DaemonSet.
func (n Node) AgentPod(ctx context.Context) (corev1.Pod, error) {
	client, err := n.Kube()
	if err != nil {
		return corev1.Pod{}, err
	}
	defer client.Close()
	pods, err := agentPods(ctx, client)
	if err != nil {
		return corev1.Pod{}, err
	}
	if len(pods) != 1 {
		return corev1.Pod{}, fmt.Errorf("list the agent's pods: got %d pods, want 1", len(pods))
	}
	return pods[0], nil
}

// removeAgentPod removes the label nodeLabel from the node and waits until the DaemonSet's pod is deleted.
func (n Node) removeAgentPod(ctx context.Context, client *kube.Client) error {
	if err := labelNode(ctx, client, nil); err != nil {
		return err
	}
	return n.Report.Wait(ctx, "the deletion of the DaemonSet's agent", time.Minute, 100*time.Millisecond,
		func(ctx context.Context) error {
			if err := n.KeepAgentLogs(); err != nil {
				return err
			}
			pods, err := agentPods(ctx, client)
			if err != nil || len(pods) == 0 {
				return err
			}
			return fmt.Errorf("pod %s still exists", pods[0].Name)
		})
}
