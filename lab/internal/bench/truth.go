package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/cni"
	"github.com/podlapse/podlapse/lab/internal/image"
	"github.com/podlapse/podlapse/lab/internal/metrics"
)

// Span is a period of wall-clock time.
type Span struct{ StartAt, EndAt time.Time }

// Length returns the duration of the period.
func (s Span) Length() time.Duration { return s.EndAt.Sub(s.StartAt) }

// Dated executes a function and returns the times before and after the call.
func Dated(call func() error) (Span, error) {
	sentAt := time.Now()
	err := call()
	return Span{sentAt, time.Now()}, err
}

// PullTruth returns the period in which the registry served the named image of this bench. The period starts with the
// first request and ends with the last byte that the registry sent.
func (b *Bench) PullTruth(ctx context.Context, name string) (Span, error) {
	log, err := b.Registry.Log(ctx, b.Namespace+"/"+name)
	if err != nil {
		return Span{}, err
	}
	var span Span
	for _, access := range log {
		// The log also contains the requests of the lab's own pushes.
		if strings.HasPrefix(access.Client, image.Pusher) {
			continue
		}
		if span.StartAt.IsZero() || access.StartAt.Before(span.StartAt) {
			span.StartAt = access.StartAt
		}
		if access.LastByteAt.After(span.EndAt) {
			span.EndAt = access.LastByteAt
		}
	}
	if span.StartAt.IsZero() {
		return Span{}, fmt.Errorf("find the pull of %s: the registry received no request for this image", name)
	}
	return span, nil
}

// NetworkTruth returns the period in which the network plugin set up a pod's network. The period starts with the
// plugin's first run for the pod and ends when a run succeeds.
func (b *Bench) NetworkTruth(pod string) (Span, error) {
	entries, err := cni.ReadLog(b.Node.CNILog(), b.Namespace)
	if err != nil {
		return Span{}, err
	}
	var first time.Time
	for _, entry := range entries {
		if entry.Pod != pod {
			continue
		}
		if first.IsZero() {
			first = entry.StartAt
		}
		if entry.Error == "" {
			return Span{first, entry.EndAt}, nil
		}
	}
	return Span{}, fmt.Errorf("find the network setup of pod %s: the network plugin has not set up the network", pod)
}

// PullRequestedAt returns the time of the pod's first Pulling Event, on the kubelet's clock. The kubelet creates this
// Event when it adds the pull to its queue of pulls. The name of the Event contains the time in nanoseconds.
func (b *Bench) PullRequestedAt(ctx context.Context, pod string) (time.Time, error) {
	return b.eventNamedAt(ctx, pod, "Pulling")
}

// StopBegunAt returns the time of the pod's first Killing Event. The kubelet creates this Event when it starts to stop
// a container. The name of the Event contains the time in nanoseconds.
func (b *Bench) StopBegunAt(ctx context.Context, pod string) (time.Time, error) {
	return b.eventNamedAt(ctx, pod, "Killing")
}

// eventNamedAt returns the time of the kubelet's first Event that concerns the pod and has the given reason. The name
// of an Event contains the time of the Event on the kubelet's clock.
func (b *Bench) eventNamedAt(ctx context.Context, pod, reason string) (first time.Time, err error) {
	events, err := b.Kube.Events(ctx, b.Namespace)
	if err != nil {
		return time.Time{}, err
	}
	for _, event := range events {
		if event.Reason != reason || event.InvolvedObject.Name != pod {
			continue
		}
		suffix := event.Name[strings.LastIndexByte(event.Name, '.')+1:]
		nanoseconds, err := strconv.ParseInt(suffix, 16, 64)
		if err != nil {
			return time.Time{}, fmt.Errorf("determine the time of Event %s: %w", event.Name, err)
		}
		if at := time.Unix(0, nanoseconds); first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if first.IsZero() {
		err = fmt.Errorf("find the kubelet's Events about pod %s: the API server has no Event with the reason %q",
			pod, reason)
	}
	return first, err
}

// BoundAt returns the time of the scheduler's Event about the binding of the pod. The scheduler creates this Event
// shortly after the binding.
func (b *Bench) BoundAt(ctx context.Context, pod string) (time.Time, error) {
	events, err := b.Kube.Events(ctx, b.Namespace)
	if err != nil {
		return time.Time{}, err
	}
	for _, event := range events {
		if event.Reason == "Scheduled" && event.InvolvedObject.Name == pod {
			return event.EventTime.Time, nil
		}
	}
	return time.Time{}, errors.New("find the scheduling time of pod " + pod +
		": the API server has no Event with the reason \"Scheduled\"")
}

// KubeletPullSeconds returns the total duration of all image pulls since the kubelet started. The value is from the
// kubelet's metrics.
func (b *Bench) KubeletPullSeconds(ctx context.Context) (float64, error) {
	client, err := b.Node.Kubelet()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	text, err := client.Text(ctx, "/metrics")
	if err != nil {
		return 0, fmt.Errorf("read the kubelet's metrics: %w", err)
	}
	return metrics.Sum(text, "kubelet_image_pull_duration_seconds_sum")
}
