package scenario

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// The tenant creates pods that never start. For such pods, the agent requests more evidence. There are so many of these
// pods that the agent opens one watch for the whole namespace.
const (
	baitPrefix = "bait-"
	baits      = 6
)

// createWaitingPods creates pods that wait for a ConfigMap that is never created. Half of the pods use an image that
// the node does not have. The pods exist until the scenario deletes the tenant's namespace.
func (t *tenant) createWaitingPods(ctx context.Context) error {
	if err := t.listPods(ctx); err != nil || len(t.ownPods()) > 0 {
		return err
	}
	for i := range baits {
		pod := corev1.Pod{Spec: t.waitingSpec(ownImages(t)[i%2])}
		pod.Name = fmt.Sprintf("%s%d", baitPrefix, i)
		if err := t.kube.Create(ctx, t.apiPath("pods"), pod); err != nil {
			return fmt.Errorf("create a pod of the tenant: %w", err)
		}
	}
	return nil
}

// waitingSpec returns a pod that is bound to the node, but never gets a sandbox.
func (t *tenant) waitingSpec(image string) corev1.PodSpec {
	spec := corev1.PodSpec{NodeName: layout.NodeName, Containers: []corev1.Container{{Name: mainName, Image: image}}}
	spec.Volumes = []corev1.Volume{bench.ConfigMapVolume("never-comes")}
	spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: spec.Volumes[0].Name, MountPath: "/data"}}
	return spec
}

// rejectedSpec returns a pod that is bound to the node. The kubelet rejects the pod, and the failed pod stays in the
// cluster.
func (t *tenant) rejectedSpec(image string) corev1.PodSpec {
	return corev1.PodSpec{NodeName: layout.NodeName, NodeSelector: map[string]string{"no-such": "label"},
		Containers: []corev1.Container{{Name: mainName, Image: image}}}
}

// newerAPI creates Events through the API events.k8s.io/v1, which the kubelet does not use. The agent's watch selects
// Events by their source. Events of this API lack a source, so the agent does not receive these Events.
func newerAPI(ctx context.Context, t *attackRun) {
	for _, pod := range t.somePods(2) {
		event := map[string]any{
			"metadata": map[string]any{"name": bench.FreshName(pod.Name)},
			"reason":   "Pulled", "action": "Pull", "type": "Normal",
			"note":                fmt.Sprintf("Successfully pulled image %q in 8760h0m0s", t.absent),
			"regarding":           t.forge(pod, "", "").InvolvedObject,
			"eventTime":           time.Now().UTC().Format("2006-01-02T15:04:05.000000Z"),
			"reportingController": "kubelet", "reportingInstance": layout.NodeName,
		}
		t.countRequest(ctx, t.kube.Create(ctx, "/apis/events.k8s.io/v1/namespaces/"+t.namespace+"/events", event))
	}
}

// kubeletEvents returns the names of at most "most" FailedMount Events that the kubelet itself created. In the tenant's
// namespace, only the kubelet creates Events whose message contains "never-comes".
func (t *attackRun) kubeletEvents(ctx context.Context, most int) []string {
	var list corev1.EventList
	if err := t.kube.Get(ctx, t.apiPath("events")+"?limit=300&fieldSelector=reason%3DFailedMount", &list); err != nil {
		t.countRequest(ctx, err)
		return nil
	}
	var names []string
	for _, event := range list.Items {
		if strings.Contains(event.Message, "never-comes") && len(names) < most {
			names = append(names, event.Name)
		}
	}
	return names
}

// changeKubelets changes the kubelet's own Events, for example their messages and times.
func changeKubelets(ctx context.Context, t *attackRun) {
	for i, name := range t.kubeletEvents(ctx, 4) {
		at := time.Now().Add([]time.Duration{time.Hour, -time.Hour}[i%2]).UTC().Format(time.RFC3339)
		message := fmt.Sprintf("Successfully pulled image %q in 8760h0m0s (8760h0m0s including waiting).", t.absent)
		change := map[string]any{"reason": "Pulled", "message": message, "count": 1_000_000,
			"firstTimestamp": at, "lastTimestamp": at}
		t.countRequest(ctx, t.kube.Merge(ctx, t.apiPath("events")+"/"+name, change))
	}
}

func deleteKubelets(ctx context.Context, t *attackRun) {
	if t.round == 0 {
		return // the first round keeps the kubelet's Events, so that changeKubelets can change them
	}
	for _, name := range slices.Backward(t.kubeletEvents(ctx, 8)) {
		t.countRequest(ctx, t.kube.Delete(ctx, t.apiPath("events")+"/"+name))
	}
}

// mirrorPods creates one pod for each pod of other tenants. Each new pod poses as the mirror pod of a static pod. The
// annotations of the new pod claim that the static pod has the UID of the other tenant's pod.
func mirrorPods(ctx context.Context, t *attackRun) {
	for _, pod := range t.others() {
		if t.mirrored[pod.UID] {
			continue
		}
		t.mirrored[pod.UID] = true
		uid, no := string(pod.UID), false
		annotations := map[string]string{"kubernetes.io/config.mirror": uid, "kubernetes.io/config.hash": uid,
			"kubernetes.io/config.source": "file"}
		spec := corev1.PodSpec{NodeName: layout.NodeName, AutomountServiceAccountToken: &no,
			Containers: []corev1.Container{{Name: mainName, Image: t.absent}}}
		t.create(ctx, bench.FreshName("mirror"), annotations, nil, spec)
	}
}

// largePods creates pods of the maximum size. One pod waits on the node, and the kubelet rejects the other pods.
func largePods(ctx context.Context, t *attackRun) {
	text := strings.Repeat("x", largeText/10)
	for i := range 3 {
		spec := t.rejectedSpec(t.absent)
		if i == 0 {
			spec = t.waitingSpec(t.absent)
		}
		c := &spec.Containers[0]
		for j := range 5 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("LARGE_%d", j), Value: text})
			c.Args = append(c.Args, text)
		}
		t.create(ctx, bench.FreshName("large"), nil, nil, spec)
	}
}

// manyContainers creates pods with more containers than any real pod. One pod waits on the node, the kubelet rejects
// one pod, and two pods have no node.
func manyContainers(ctx context.Context, t *attackRun) {
	unbound := corev1.PodSpec{NodeSelector: map[string]string{"no-such": "label"}}
	specs := []corev1.PodSpec{t.waitingSpec(t.absent), t.rejectedSpec(t.absent), unbound, unbound}
	for _, spec := range specs {
		spec.Containers = nil
		for i := range 250 {
			spec.Containers = append(spec.Containers, corev1.Container{Name: fmt.Sprintf("c-%d", i), Image: t.absent})
		}
		if len(spec.Volumes) > 0 {
			spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: spec.Volumes[0].Name, MountPath: "/data"}}
		}
		t.create(ctx, bench.FreshName("many"), nil, nil, spec)
	}
}

// createUnreachable creates pods whose images come from registries that do not exist. The pulls of these images fail
// immediately, so they do not delay other pulls.
func createUnreachable(ctx context.Context, t *attackRun) {
	for i := range 4 {
		image := fmt.Sprintf("127.0.0.1:%d/image:1", 2+4*t.round+i)
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: image}}}
		t.create(ctx, bench.FreshName("unreachable"), nil, nil, spec)
	}
}

// createPosing creates two pods with the labels of cluster add-ons such as kube-dns. One of the pods crashes.
func createPosing(ctx context.Context, t *attackRun) {
	labels := map[string]string{"k8s-app": "kube-dns", "app.kubernetes.io/name": "podlapse", "tier": "node"}
	for i := range 2 {
		c := corev1.Container{Name: mainName, Image: t.bench.BaseImage}
		if i == 1 {
			crash(&c, 500*time.Millisecond)
		}
		t.create(ctx, bench.FreshName("kube-dns"), nil, labels, corev1.PodSpec{Containers: []corev1.Container{c}})
	}
}

// oddParents creates pods whose annotation "traceparent" is invalid. The pods start immediately.
func oddParents(ctx context.Context, t *attackRun) {
	for _, value := range []string{
		"00-ffffffffffffffffffffffffffffffff-ffffffffffffffff-ff",
		"00-00000000000000000000000000000000-0000000000000000-00",
		"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		strings.Repeat("0", 200<<10),
		"00-\x1b[31m\u202e-\n",
	} {
		spec := corev1.PodSpec{Containers: []corev1.Container{{Name: mainName, Image: t.bench.BaseImage}}}
		t.create(ctx, bench.FreshName("traced"), map[string]string{"traceparent": value}, nil, spec)
	}
}
