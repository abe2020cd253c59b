package scenario

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/lab/internal/bench"
)

// Sizes of large values, in bytes. etcd accepts requests of up to 1.5 MiB. A request contains the name of an Event
// three times, so largeName is less than a third of etcd's limit.
const (
	largeName = 500 << 10
	largeText = 1_400_000
	someText  = 8 << 10 // bytes; smaller than all limits of the agent
	floodOf   = 40      // number of Events in one round of a flood
)

// hostileAttacks returns the list of all attacks. A new attack requires a row in this list, and a function in this file
// or in hostiletenantpods.go.
func hostileAttacks() []hostileAttack {
	large := strings.Repeat("x", largeText)
	return []hostileAttack{
		{name: "Events with names of 0.5 MB", rounds: 4, try: attackAbout(3, func(e *corev1.Event) {
			e.Name += strings.Repeat("n", largeName)
		})},
		{name: "Events with UIDs of 1.4 MB", rounds: 3, try: attackAbout(2, func(e *corev1.Event) {
			e.InvolvedObject.UID += types.UID(large)
		})},
		{name: "Events with hosts of 1.4 MB", rounds: 2, try: attackAbout(2, func(e *corev1.Event) {
			e.Source.Host += large
		})},
		{name: "Events with reasons of 1.4 MB", rounds: 2, try: attackAbout(2,
			func(e *corev1.Event) { e.Reason += large })},
		{name: "Events with messages of 1.4 MB", rounds: 2, try: attackAbout(2, func(e *corev1.Event) {
			e.Message += large
		})},
		{name: "Events with names, UIDs and messages of 8 KB", try: attackAbout(baits, func(e *corev1.Event) {
			text := strings.Repeat("x", someText)
			e.Name, e.Message = e.Name+text, e.Message+text
			e.InvolvedObject.UID += types.UID(text)
		})},
		{name: "a flood of Events about own pods", try: floodOwn},
		{name: "a flood of Events about pods that never existed", try: floodNever},
		{name: "own images pulled in 8760h", try: pulledOf(ownImages, 0, "8760h0m0s")},
		{name: "an absent image pulled", try: pulledOf(ownImages, 0, "1.234s")},
		{name: "others' images pulled in 8760h", try: pulledOf((*tenant).targets, 0, "8760h0m0s")},
		{name: "others' images pulled an hour from now", try: pulledOf((*tenant).targets, time.Hour, "3.5s")},
		{name: "others' images pulled three seconds from now", try: pulledOf((*tenant).targets, 3*time.Second, "6.5s")},
		{name: "others' images pulled a moment ago", try: pulledOf((*tenant).targets, -time.Second, "2.5s")},
		{name: "others' images pulled ten minutes ago", try: pulledOf((*tenant).targets, -10*time.Minute, "4m2.5s")},
		{name: "others' images being pulled", try: statedOf((*tenant).targets, "Pulling", "Pulling image %q")},
		{name: "images already present", try: statedOf(allImages, "Pulled",
			"Container image %q already present on machine")},
		{name: "pulls that failed", try: statedOf(allImages, "Failed", "Failed to pull image %q: code = Unknown "+
			"desc = failed to pull and unpack image: unexpected status from HEAD request: 429 Too Many Requests")},
		{name: "pulls from invented registries", try: statedOf(inventedImages, "Pulled",
			"Successfully pulled image %q in 2m2.5s (2m2.5s including waiting). Image size: 999999999999 bytes.")},
		{name: "failed pulls from invented registries", try: statedOf(inventedImages, "Failed",
			"Failed to pull image %q: failed to resolve reference: dial tcp: lookup: no such host")},
		{name: "volumes that cannot be mounted", try: repeatEvent("FailedMount",
			"MountVolume.SetUp failed for volume \"mallory\" : driver mallory timed out")},
		{name: "a network that is not ready", try: repeatEvent("NetworkNotReady",
			"network is not ready: container runtime network not ready: mallory")},
		{name: "sandboxes that cannot be created",
			try: repeatEvent("FailedCreatePodSandBox", "Failed to create pod sandbox: "+
				"rpc error: code = Unknown desc = plugin type=\"mallory\" failed (add): no address left")},
		{name: "Events stored in others' namespaces", refused: true, try: storeElsewhere},
		{name: "Events that name another namespace", refused: true, try: namedElsewhere},
		{name: "Events with the UIDs of others' pods", try: foreignUID},
		{name: "Events from other hosts", try: attackAbout(baits, func(e *corev1.Event) {
			e.Source.Host, e.ReportingInstance = "node-mallory", "node-mallory"
		})},
		{name: "clocks in the names of Events", try: oddClocks},
		{name: "Events with timestamps far from now", try: oddStamps},
		{name: "Events of the newer API", try: newerAPI},
		{name: "the kubelet's own Events, changed", try: changeKubelets},
		{name: "the kubelet's own Events, deleted", try: deleteKubelets},
		{name: "mirror pods with others' UIDs", try: mirrorPods},
		{name: "pods of 1.4 MB", rounds: 3, try: largePods},
		{name: "pods with 250 containers", rounds: 1, try: manyContainers},
		{name: "pods with images from invented registries", rounds: 2, try: createUnreachable},
		{name: "pods that pose as the cluster's DNS", rounds: 1, try: createPosing},
		{name: "pods with invalid trace parents", rounds: 1, try: oddParents},
	}
}

// somePods returns at most the given number of the tenant's own pods. In each round, somePods returns the next pods of
// the list.
func (t *attackRun) somePods(most int) (pods []corev1.Pod) {
	own := t.ownPods()
	for i := range min(most, len(own)) {
		pods = append(pods, own[(t.round*most+i)%len(own)])
	}
	return pods
}

// attackAbout returns an attack that creates Events about the tenant's own pods. In each round, the attack creates one
// Event for each of at most "most" pods. The function "change" modifies each Event before the tenant sends it.
func attackAbout(most int, change func(*corev1.Event)) func(context.Context, *attackRun) {
	return func(ctx context.Context, t *attackRun) {
		for _, pod := range t.somePods(most) {
			event := t.forge(pod, "Pulling", fmt.Sprintf("Pulling image %q", t.absent))
			change(&event)
			t.createEvent(ctx, event)
		}
	}
}

func floodOwn(ctx context.Context, t *attackRun) {
	own := t.ownPods()
	for i := range floodOf {
		if len(own) == 0 || ctx.Err() != nil {
			return
		}
		reason := []string{"Pulling", "Pulled", "Failed", "BackOff", "Created", "Started", "FailedMount"}[i%7]
		t.createEvent(ctx, t.forge(own[i%len(own)], reason, fmt.Sprintf("Pulling image %q", inventedImage(i))))
	}
}

func floodNever(ctx context.Context, t *attackRun) {
	for range floodOf {
		if ctx.Err() != nil {
			return
		}
		name := bench.FreshName("never-" + invention)
		never := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		t.createEvent(ctx, t.forge(never, "Pulling", fmt.Sprintf("Pulling image %q", t.absent)))
	}
}

// ownImages returns the images of the tenant's own pods. The node has only the second image.
func ownImages(t *tenant) []string { return []string{t.absent, t.bench.BaseImage} }

func allImages(t *tenant) []string { return append(ownImages(t), t.targets()...) }

func inventedImages(*tenant) (images []string) {
	for i := range 8 {
		images = append(images, inventedImage(i))
	}
	return images
}

func inventedImage(i int) string {
	return fmt.Sprintf("registry-%d.%s.example/team/app:1", i, invention)
}

// pulledOf returns an attack that creates Events about the tenant's own pods. The Events claim that images were pulled.
// The time of each Event is the current time plus the argument "from".
func pulledOf(images func(*tenant) []string, from time.Duration, took string) func(context.Context, *attackRun) {
	return func(ctx context.Context, t *attackRun) {
		message := "Successfully pulled image %q in " + took + " (" + took + " including waiting). Image size: 7 bytes."
		createEventsOf(ctx, t, images(t.tenant), "Pulled", message, from)
	}
}

// statedOf returns an attack that creates Events about the tenant's own pods. Each Event contains a claim about an
// image, for example that its pull failed.
func statedOf(images func(*tenant) []string, reason, message string) func(context.Context, *attackRun) {
	return func(ctx context.Context, t *attackRun) { createEventsOf(ctx, t, images(t.tenant), reason, message, 0) }
}

func createEventsOf(ctx context.Context, t *attackRun, images []string, reason, message string, from time.Duration) {
	own := t.ownPods()
	for i, image := range images {
		if len(own) == 0 {
			return
		}
		event := t.forge(own[(i+t.round)%len(own)], reason, fmt.Sprintf(message, image))
		setTime(&event, time.Now().Add(from))
		t.createEvent(ctx, event)
	}
}

// setTime sets the time of an Event in its timestamps and in its name. The kubelet's Events also contain the time in
// their names.
func setTime(event *corev1.Event, at time.Time) {
	event.Name = fmt.Sprintf("%s.%x", event.InvolvedObject.Name, at.UnixNano())
	event.FirstTimestamp, event.LastTimestamp = metav1.NewTime(at), metav1.NewTime(at)
}

// repeatEvent returns an attack that creates the same Event about each of the tenant's own pods.
func repeatEvent(reason, message string) func(context.Context, *attackRun) {
	return attackAbout(baits, func(e *corev1.Event) {
		e.Reason, e.Message, e.Type = reason, message, corev1.EventTypeWarning
		e.InvolvedObject.FieldPath = ""
	})
}

// aboutOthers returns the Events that the tenant tries to create about another tenant's pod.
func (t *tenant) aboutOthers(pod corev1.Pod) []corev1.Event {
	image := t.absent
	if len(pod.Spec.Containers) > 0 {
		image = pod.Spec.Containers[0].Image
	}
	pulled := "Successfully pulled image %q in %[2]s (%[2]s including waiting). Image size: 7 bytes."
	return []corev1.Event{
		t.forge(pod, "Pulled", fmt.Sprintf(pulled, image, "9m9s")),
		t.forge(pod, "Pulled", fmt.Sprintf(pulled, inventedImage(0), "1s")),
		t.forge(pod, "Failed", fmt.Sprintf("Failed to pull image %q: 429 Too Many Requests from %s", image, invention)),
		t.forge(pod, "FailedMount", "MountVolume.SetUp failed for volume \"mallory\" : driver mallory timed out"),
		t.forge(pod, "NetworkNotReady", "network is not ready: mallory"),
	}
}

// storeElsewhere tries to store Events in another tenant's namespace.
func storeElsewhere(ctx context.Context, t *attackRun) {
	for _, pod := range t.others() {
		for _, event := range t.aboutOthers(pod) {
			event.InvolvedObject.Namespace = pod.Namespace
			t.countRequest(ctx, t.kube.Create(ctx, "/api/v1/namespaces/"+pod.Namespace+"/events", event))
		}
	}
}

// namedElsewhere tries to store Events in the tenant's own namespace. Each Event is about a pod in another namespace.
func namedElsewhere(ctx context.Context, t *attackRun) {
	for _, pod := range t.others() {
		for _, event := range t.aboutOthers(pod) {
			event.InvolvedObject.Namespace = pod.Namespace
			t.createEvent(ctx, event)
		}
	}
}

// foreignUID stores Events in the tenant's namespace. The Events contain the name and UID of a pod in another
// namespace.
func foreignUID(ctx context.Context, t *attackRun) {
	for _, pod := range t.others() {
		for _, event := range t.aboutOthers(pod) {
			t.createEvent(ctx, event)
		}
	}
}

func oddClocks(ctx context.Context, t *attackRun) {
	now := time.Now()
	suffixes := []string{"0", "-1", "ffffffffffffffff", "1", "zz", "", fmt.Sprintf("%x", int64(math.MaxInt64))}
	for _, off := range []time.Duration{time.Hour, -time.Hour, 5 * time.Second, -5 * time.Second} {
		suffixes = append(suffixes, fmt.Sprintf("%x", now.Add(off).UnixNano()))
	}
	for _, pod := range t.somePods(2) {
		for _, suffix := range suffixes {
			event := t.forge(pod, "Pulling", fmt.Sprintf("Pulling image %q", t.absent))
			event.Name = fmt.Sprintf("%s-%s.%s", pod.Name, bench.FreshName("odd"), suffix)
			t.createEvent(ctx, event)
		}
	}
}

func oddStamps(ctx context.Context, t *attackRun) {
	stamps := []time.Time{{}, time.Unix(0, 0), time.Now().Add(24 * time.Hour),
		time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)}
	for _, pod := range t.somePods(2) {
		for i, at := range stamps {
			event := t.forge(pod, "Pulled", fmt.Sprintf("Container image %q already present on machine", t.absent))
			event.FirstTimestamp, event.LastTimestamp = metav1.NewTime(at), metav1.NewTime(at)
			event.Count = []int32{0, -1, math.MaxInt32, 2}[i]
			t.createEvent(ctx, event)
		}
	}
}
