package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/podlapse/podlapse/internal/redact"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// decodeHeader parses the first line of a recording.
func decodeHeader(line []byte) (Header, error) {
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return Header{}, fmt.Errorf("not a header: %w", err)
	}
	switch {
	case h.Kind != kindHeader:
		return Header{}, fmt.Errorf(`not a header: must be {"kind":"header","version":%d}, got kind %.40q`,
			Version, h.Kind)
	case h.Version < 1:
		return Header{}, fmt.Errorf("header without a version: must be 1 to %d", Version)
	case h.Version > Version:
		return Header{}, fmt.Errorf("unknown format version %d, must be 1 to %d: use the podlapse-agent that "+
			"recorded it, or a newer one",
			h.Version, Version)
	}
	return Header{Agent: h.Agent, Scope: timeline.Scope{Runtime: h.Runtime, Events: h.Events, Since: h.Since.Time},
		Ends: h.Ends}, nil
}

// decode parses one observation.
func decode(kind string, line []byte) (timeline.Observation, error) {
	switch kind {
	case kindPodSeen:
		return parse(line, toPodSeen)
	case kindPodGone:
		return parse(line, func(o podGone) timeline.PodGone {
			return timeline.PodGone{UID: o.UID, ArrivedAt: o.ArrivedAt.Time, Live: o.Live}
		})
	case kindEventSeen:
		return parse(line, toEventSeen)
	case kindWatched:
		return parse(line, func(o eventsWatched) timeline.EventsWatched {
			return timeline.EventsWatched{UID: o.UID, ArrivedAt: o.ArrivedAt.Time, OpenedAt: o.OpenedAt.Time}
		})
	case kindLost:
		return parse(line, func(o eventsLost) timeline.EventsLost {
			return timeline.EventsLost{UID: o.UID, ArrivedAt: o.ArrivedAt.Time}
		})
	case kindRuntimeSeen:
		return parse(line, toRuntimeSeen)
	case kindClockSeen:
		return parse(line, func(o clockSeen) timeline.ClockSeen {
			return timeline.ClockSeen{SentAt: o.SentAt.Time, ArrivedAt: o.ArrivedAt.Time,
				ControlPlaneAt: o.ControlPlaneAt.Time}
		})
	case kindSilent:
		return parse(line, func(o runtimeSilent) timeline.RuntimeSilent {
			return timeline.RuntimeSilent{ArrivedAt: o.ArrivedAt.Time, From: o.From.Time, Until: o.Until.Time}
		})
	case kindPressure:
		return parse(line, func(o pressureSeen) timeline.PressureSeen {
			return timeline.PressureSeen{ArrivedAt: o.ArrivedAt.Time,
				Stalled: timeline.Stalled{CPU: o.CPU, IO: o.IO, Memory: o.Memory}}
		})
	}
	return nil,
		fmt.Errorf("observation of unknown kind %.40q: use the podlapse-agent that recorded it, or a newer one", kind)
}

func parse[Wire any, O timeline.Observation](line []byte, convert func(Wire) O) (timeline.Observation, error) {
	var wire Wire
	if err := json.Unmarshal(line, &wire); err != nil {
		return nil, err
	}
	o := convert(wire)
	if o.PodUID() == "" && !ofNoPod(o) {
		return nil, errors.New("observation without the pod's uid")
	}
	if arrivedAt(o).IsZero() {
		return nil, errors.New("observation without arrived_at")
	}
	return o, nil
}

// ofNoPod reports whether an observation is about the node, or the control plane.
func ofNoPod(o timeline.Observation) bool {
	switch o.(type) {
	case timeline.ClockSeen, timeline.PressureSeen, timeline.RuntimeSilent:
		return true
	}
	return false
}

func toPodSeen(o podSeen) timeline.PodSeen {
	return timeline.PodSeen{ArrivedAt: o.ArrivedAt.Time, Live: o.Live, Pod: timeline.Pod{
		UID: o.Pod.UID, RuntimeUID: o.Pod.RuntimeUID, Namespace: o.Pod.Namespace, Name: o.Pod.Name, Node: o.Pod.Node,
		Owner: timeline.Owner(o.Pod.Owner), Traits: toTraits(o.Pod.Traits), Revision: o.Pod.Revision,
		TraceParent: o.Pod.TraceParent, Labels: o.Pod.Labels, CreatedAt: o.Pod.CreatedAt.Time,
		ReadAt: o.Pod.ReadAt.Time, AcknowledgedAt: o.Pod.AcknowledgedAt.Time,
		DeletedAt: o.Pod.DeletedAt.Time, DeletionGrace: o.Pod.DeletionGrace, DeletionObserved: o.Pod.DeletionObserved,
		Finalizers: o.Pod.Finalizers, Disruption: o.Pod.Disruption,
		Phase: o.Pod.Phase, Reason: o.Pod.Reason, ReadinessGates: o.Pod.ReadinessGates,
		Generation: o.Pod.Generation, KubeletGeneration: o.Pod.KubeletGeneration,
		UnschedulableAt: o.Pod.UnschedulableAt.Time,
		FieldsManaged:   o.Pod.FieldsManaged, HostNetwork: o.Pod.HostNetwork, ResourceClaims: o.Pod.ResourceClaims,
		VolumeClaims: o.Pod.VolumeClaims, RemoteVolumes: o.Pod.RemoteVolumes,
		Conditions: each(o.Pod.Conditions, func(c condition) timeline.Condition {
			return timeline.Condition{Type: c.Type, True: c.True, TransitionAt: c.TransitionAt.Time}
		}),
		Containers: each(o.Pod.Containers, toContainer),
	}}
}

func toTraits(t traits) *timeline.Traits {
	if t == (traits{}) {
		return nil
	}
	return &timeline.Traits{
		Controller: timeline.Owner(t.Controller), QOSClass: t.QOSClass, PriorityClass: t.PriorityClass,
		RuntimeClass: t.RuntimeClass, App: timeline.AppLabels(t.App),
	}
}

func toContainer(c container) timeline.Container {
	out := timeline.Container{
		Name: c.Name, Kind: timeline.ContainerKind(c.Kind), Image: redact.Text(c.Image),
		PullPolicy:   timeline.PullPolicy(c.PullPolicy),
		StartupProbe: c.StartupProbe, ReadinessProbe: c.ReadinessProbe, PostStartHook: c.PostStartHook,
		PreStopHook: c.PreStopHook, RestartsAlways: c.RestartsAlways, State: timeline.ContainerState(c.State),
		WaitingReason: c.WaitingReason, PullFailure: imagepull.Failure(c.PullFailure), Attempt: c.Attempt,
		StartedAt:  c.StartedAt.Time,
		FinishedAt: c.FinishedAt.Time, ExitCode: c.ExitCode, EndReason: c.EndReason, Started: c.Started, Ready: c.Ready,
	}
	if last := c.LastRun; last != nil {
		out.LastRun = &timeline.Run{StartedAt: last.StartedAt.Time, FinishedAt: last.FinishedAt.Time,
			ExitCode: last.ExitCode, Reason: last.Reason}
	}
	return out
}

// toEventSeen redacts messages again: agents up to v0.1 recorded them unchanged.
func toEventSeen(o eventSeen) timeline.EventSeen {
	return timeline.EventSeen{
		UID: o.UID, ArrivedAt: o.ArrivedAt.Time, Live: o.Live, Container: o.Container, Reason: o.Reason,
		Message: redact.Message(o.Reason, o.Message), NamedAt: o.NamedAt.Time, FirstAt: o.FirstAt.Time,
		LastAt: o.LastAt.Time, StoredAt: o.StoredAt.Time, Count: o.Count,
	}
}

func toRuntimeSeen(o runtimeSeen) timeline.RuntimeSeen {
	return timeline.RuntimeSeen{
		UID: o.UID, AskedAt: o.AskedAt.Time, ArrivedAt: o.ArrivedAt.Time, NetworkDown: o.NetworkDown,
		NetworkUp: o.NetworkUp,
		Sandboxes: each(o.Sandboxes, func(s sandbox) timeline.Sandbox {
			return timeline.Sandbox{
				ID: s.ID, Attempt: s.Attempt, Ready: s.Ready, BegunAt: s.BegunAt.Time,
				NetworkReadyAt: s.NetworkReadyAt.Time, RunningAt: s.RunningAt.Time, CreatedAt: s.CreatedAt.Time,
				ImageResolvedAt: s.ImageResolvedAt.Time, ImagePulledAt: s.ImagePulledAt.Time, ImageKnown: s.ImageKnown,
			}
		}),
		Containers: each(o.Containers, func(r containerRun) timeline.ContainerRun {
			return timeline.ContainerRun{
				Name: r.Name, ID: r.ID, Attempt: r.Attempt, CreatedAt: r.CreatedAt.Time,
				StartedAt: r.StartedAt.Time, FinishedAt: r.FinishedAt.Time, ExitCode: r.ExitCode, Reason: r.Reason,
			}
		}),
		Images: each(o.Images, func(i image) timeline.Image {
			return timeline.Image{
				Ref: i.Ref, Present: i.Present, FirstPulledAt: i.FirstPulledAt.Time, PulledAt: i.PulledAt.Time,
				SizeBytes: i.SizeBytes, Digest: i.Digest, ResolvedAt: i.ResolvedAt.Time, Layered: i.Layered,
				Incomplete: i.Incomplete,
				Layers: each(i.Layers, func(l layer) timeline.Layer {
					return timeline.Layer{
						Digest: l.Digest, SizeBytes: l.SizeBytes, DownloadedAt: l.DownloadedAt.Time,
						UnpackedAt: l.UnpackedAt.Time, Remote: l.Remote,
					}
				}),
			}
		}),
	}
}

// arrivedAt returns when the agent received the observation, on its own clock.
func arrivedAt(o timeline.Observation) time.Time {
	switch o := o.(type) {
	case timeline.PodSeen:
		return o.ArrivedAt
	case timeline.PodGone:
		return o.ArrivedAt
	case timeline.EventSeen:
		return o.ArrivedAt
	case timeline.EventsLost:
		return o.ArrivedAt
	case timeline.EventsWatched:
		return o.ArrivedAt
	case timeline.RuntimeSeen:
		return o.ArrivedAt
	case timeline.ClockSeen:
		return o.ArrivedAt
	case timeline.PressureSeen:
		return o.ArrivedAt
	case timeline.RuntimeSilent:
		return o.ArrivedAt
	}
	return time.Time{}
}
