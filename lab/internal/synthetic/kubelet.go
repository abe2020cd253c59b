package synthetic

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/lab/internal/kube"
)

// Kubelet starts the pods of its node, and reports their status as a real kubelet does.
type Kubelet struct {
	Kube    *kube.Client
	Runtime *Runtime
	Node    string
	Pace    Pace
	Change  func(*corev1.Pod) // changes a pod before its creation; may be nil
}

// Pace contains the durations of the steps of a start-up. There are no pauses between the steps.
type Pace struct {
	Pickup  time.Duration // time from the creation until the kubelet acknowledges the pod
	Volumes time.Duration // time from the previous step until the kubelet requests a sandbox
	Network time.Duration // time from the previous step until the sandbox's network is ready
	Sandbox time.Duration // time from the previous step until the sandbox is running
	Pull    time.Duration // duration of each pull; images that are on the node are not pulled
	Create  time.Duration // duration of the creation of each container
	Start   time.Duration
}

// Usual returns the pace of a node without other load.
func Usual() Pace {
	const ms = time.Millisecond
	return Pace{Pickup: 20 * ms,
		// A real containerd with a network plugin needs about the same time for the network. The synthetic runtime does
		// not report the start and the end of a pull, because CRI has no fields for these times. Therefore, the agent
		// must query the runtime before the sandbox runs, to know whether the image was already on the node. In the
		// lab, this query can take a long time, because the agent shares two cores with an entire cluster.
		Network: 300 * ms,
		Pull:    500 * ms, Create: 20 * ms, Start: 30 * ms}
}

// Started describes what happened during the start-up of one pod.
type Started struct {
	Name string
	// Events is the number of Events that the kubelet sent to the API server. The field does not count the Events
	// Created and Started, because an agent with a connected runtime does not watch these Events.
	Events int
	Pulls  []time.Duration // duration of each container's pull; empty if all images were on the node
}

// Start creates a pod in a namespace, and starts its containers one after the other. If cold is true, the node has to
// pull the images first.
func (k Kubelet) Start(ctx context.Context, namespace, name string, images []string, cold bool) (Started, error) {
	object := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: PodSpec(k.Node, images)}
	if k.Change != nil {
		k.Change(&object)
	}
	var created corev1.Pod
	if err := k.Kube.CreateInto(ctx, podsPath(namespace), object, &created); err != nil {
		return Started{}, fmt.Errorf("create pod: %w", err)
	}
	return k.StartCreated(ctx, created, cold)
}

// StartCreated is like Start, but for a pod that already exists, for example because a controller created it. The pod's
// specification must come from PodSpec.
func (k Kubelet) StartCreated(ctx context.Context, created corev1.Pod, cold bool) (Started, error) {
	p := pod{namespace: created.Namespace, name: created.Name, uid: string(created.UID), node: k.Node}
	for _, container := range created.Spec.Containers {
		p.images = append(p.images, container.Image)
	}
	s := start{Kubelet: k, pod: p, reported: Started{Name: p.name}}
	if err := s.play(ctx, podsPath(p.namespace)+"/"+p.name+"/status", cold); err != nil {
		return Started{}, fmt.Errorf("start pod %s: %w", p.name, err)
	}
	return s.reported, nil
}

func podsPath(namespace string) string { return "/api/v1/namespaces/" + namespace + "/pods" }

// start is the start-up of one pod.
type start struct {
	Kubelet
	pod      pod
	reported Started
}

func (s *start) play(ctx context.Context, statusPath string, cold bool) error {
	if err := pause(ctx, s.Pace.Pickup); err != nil {
		return err
	}
	acknowledgedAt := time.Now()
	if err := s.Kube.MergeLists(ctx, statusPath, s.pod.acknowledged(acknowledgedAt)); err != nil {
		return err
	}
	if err := s.sandbox(ctx); err != nil {
		return err
	}
	var startedAt []time.Time
	var ids []string
	for i, image := range s.pod.images {
		at, id, err := s.container(ctx, containerName(i), image, cold)
		if err != nil {
			return err
		}
		startedAt, ids = append(startedAt, at), append(ids, id)
	}
	return s.Kube.MergeLists(ctx, statusPath, s.pod.runningStatus(time.Now(), acknowledgedAt, startedAt, ids))
}

func (s *start) sandbox(ctx context.Context) error {
	if err := pause(ctx, s.Pace.Volumes); err != nil {
		return err
	}
	stamps := sandboxStamps{begunAt: time.Now()}
	if err := pause(ctx, s.Pace.Network); err != nil {
		return err
	}
	networkReadyAt := time.Now()
	if err := pause(ctx, s.Pace.Sandbox); err != nil {
		return err
	}
	stamps.runningAt = time.Now()
	s.Runtime.addSandbox(s.pod, stamps, networkReadyAt)
	return nil
}

func (s *start) container(ctx context.Context, name, image string,
	cold bool) (startedAt time.Time, id string, err error) {
	if err := s.provideImage(ctx, name, image, cold); err != nil {
		return time.Time{}, "", err
	}
	if err := pause(ctx, s.Pace.Create); err != nil {
		return time.Time{}, "", err
	}
	createdAt := time.Now()
	if err := s.reportEvent(ctx, name, "Created", "Container created"); err != nil {
		return time.Time{}, "", err
	}
	if err := pause(ctx, s.Pace.Start); err != nil {
		return time.Time{}, "", err
	}
	startedAt = time.Now()
	id = s.Runtime.addContainer(s.pod, name, image, createdAt, startedAt)
	return startedAt, id, s.reportEvent(ctx, name, "Started", "Container started")
}

// provideImage provides a container's image, and sends the same Events as a real kubelet. For a pull, it sends the
// Events Pulling and Pulled. For an image that is already on the node, it sends only the Event Pulled.
func (s *start) provideImage(ctx context.Context, name, image string, cold bool) error {
	if !cold {
		return s.reportEvent(ctx, name, "Pulled",
			fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", image))
	}
	pulling := s.pod.event(name, "Pulling", fmt.Sprintf("Pulling image %q", image), time.Now())
	requestedAt := time.Now() // a real kubelet also creates the Event first, and then measures the time of the pull
	if err := s.send(ctx, pulling); err != nil {
		return err
	}
	if err := pause(ctx, s.Pace.Pull-time.Since(requestedAt)); err != nil {
		return err
	}
	s.Runtime.AddImage(image)
	took := time.Since(requestedAt)
	s.reported.Pulls = append(s.reported.Pulls, took)
	whole := took.Truncate(time.Millisecond)
	return s.reportEvent(ctx, name, "Pulled", fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). "+
		"Image size: %d bytes.", image, whole, whole, imageSize))
}

// reportEvent creates an Event of the kubelet, and sends it to the API server.
func (s *start) reportEvent(ctx context.Context, container, reason, message string) error {
	return s.send(ctx, s.pod.event(container, reason, message, time.Now()))
}

func (s *start) send(ctx context.Context, event corev1.Event) error {
	if err := s.Kube.Create(ctx, eventsPath(s.pod.namespace), event); err != nil {
		return fmt.Errorf("send Event: %w", err)
	}
	if event.Reason != "Created" && event.Reason != "Started" {
		s.reported.Events++
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
