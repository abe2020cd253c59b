package record

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// Version is the version of the format that this package writes. It reads this and every older
	// one.
	Version = 2
	// MaxLine limits a line, including its end, in bytes. A pod of a hundred containers takes a
	// tenth.
	MaxLine = 1 << 20
)

// Header describes the agent that recorded.
type Header struct {
	Agent string         // version of the agent
	Scope timeline.Scope // what it could observe
	Ends  bool           // it followed the ends of pods
}

// EncodeHeader encodes the first line of a recording.
func EncodeHeader(h Header) ([]byte, error) {
	return encodeLine(header{
		tag: tag{kindHeader}, Version: Version, Agent: h.Agent, Runtime: h.Scope.Runtime, Events: h.Scope.Events,
		Since: utc(h.Scope.Since), Ends: h.Ends,
	})
}

// Encode encodes an observation as one line. Bytes that are not UTF-8 become U+FFFD, and an empty
// list becomes an absent one; everything else survives decoding. An instant in a year that the core
// cannot represent, or a line longer than MaxLine, is an error.
func Encode(o timeline.Observation) ([]byte, error) {
	switch o := o.(type) {
	case timeline.PodSeen:
		return encodeLine(fromPodSeen(o))
	case timeline.PodGone:
		return encodeLine(podGone{tag{kindPodGone}, o.UID, utc(o.ArrivedAt), o.Live})
	case timeline.EventSeen:
		return encodeLine(fromEventSeen(o))
	case timeline.EventsWatched:
		return encodeLine(eventsWatched{tag{kindWatched}, o.UID, utc(o.ArrivedAt), utc(o.OpenedAt)})
	case timeline.EventsLost:
		return encodeLine(eventsLost{tag{kindLost}, o.UID, utc(o.ArrivedAt)})
	case timeline.RuntimeSeen:
		return encodeLine(fromRuntimeSeen(o))
	case timeline.ClockSeen:
		return encodeLine(clockSeen{tag{kindClockSeen}, utc(o.SentAt), utc(o.ArrivedAt), utc(o.ControlPlaneAt)})
	case timeline.PressureSeen:
		return encodeLine(pressureSeen{tag{kindPressure}, utc(o.ArrivedAt), o.Stalled.CPU, o.Stalled.IO,
			o.Stalled.Memory})
	case timeline.RuntimeSilent:
		return encodeLine(runtimeSilent{tag{kindSilent}, utc(o.ArrivedAt), utc(o.From), utc(o.Until)})
	}
	return nil, fmt.Errorf("encode observation: no kind for %T", o)
}

func encodeLine(value any) ([]byte, error) {
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false) // keeps messages and image references readable
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("encode observation: %w", err)
	}
	if line.Len() > MaxLine {
		return nil, fmt.Errorf("encode observation: %d bytes exceed the limit of %d per line", line.Len(), MaxLine)
	}
	return line.Bytes(), nil
}

func fromPodSeen(o timeline.PodSeen) podSeen {
	return podSeen{tag: tag{kindPodSeen}, ArrivedAt: utc(o.ArrivedAt), Live: o.Live, Pod: pod{
		UID: o.Pod.UID, RuntimeUID: o.Pod.RuntimeUID, Namespace: o.Pod.Namespace, Name: o.Pod.Name, Node: o.Pod.Node,
		Owner: owner(o.Pod.Owner), Traits: fromTraits(o.Pod.Traits), Revision: o.Pod.Revision,
		TraceParent: o.Pod.TraceParent, Labels: o.Pod.Labels, CreatedAt: utc(o.Pod.CreatedAt),
		ReadAt: utc(o.Pod.ReadAt), AcknowledgedAt: utc(o.Pod.AcknowledgedAt),
		DeletedAt: utc(o.Pod.DeletedAt), DeletionGrace: o.Pod.DeletionGrace, DeletionObserved: o.Pod.DeletionObserved,
		Finalizers: o.Pod.Finalizers, Disruption: o.Pod.Disruption,
		Phase: o.Pod.Phase, Reason: o.Pod.Reason, ReadinessGates: o.Pod.ReadinessGates,
		Generation: o.Pod.Generation, KubeletGeneration: o.Pod.KubeletGeneration,
		UnschedulableAt: utc(o.Pod.UnschedulableAt),
		FieldsManaged:   o.Pod.FieldsManaged, HostNetwork: o.Pod.HostNetwork, ResourceClaims: o.Pod.ResourceClaims,
		VolumeClaims: o.Pod.VolumeClaims, RemoteVolumes: o.Pod.RemoteVolumes,
		Conditions: each(o.Pod.Conditions, func(c timeline.Condition) condition {
			return condition{c.Type, c.True, utc(c.TransitionAt)}
		}),
		Containers: each(o.Pod.Containers, fromContainer),
	}}
}

func fromTraits(t *timeline.Traits) traits {
	if t == nil {
		return traits{}
	}
	return traits{owner(t.Controller), t.QOSClass, t.PriorityClass, t.RuntimeClass, appLabels(t.App)}
}

func fromContainer(c timeline.Container) container {
	out := container{
		Name: c.Name, Kind: string(c.Kind), Image: c.Image, PullPolicy: string(c.PullPolicy),
		StartupProbe: c.StartupProbe, ReadinessProbe: c.ReadinessProbe, PostStartHook: c.PostStartHook,
		PreStopHook: c.PreStopHook, RestartsAlways: c.RestartsAlways, State: string(c.State),
		WaitingReason: c.WaitingReason, PullFailure: string(c.PullFailure), Attempt: c.Attempt,
		StartedAt:  utc(c.StartedAt),
		FinishedAt: utc(c.FinishedAt), ExitCode: c.ExitCode, EndReason: c.EndReason, Started: c.Started, Ready: c.Ready,
	}
	if last := c.LastRun; last != nil {
		out.LastRun = &run{utc(last.StartedAt), utc(last.FinishedAt), last.ExitCode, last.Reason}
	}
	return out
}

func fromEventSeen(o timeline.EventSeen) eventSeen {
	return eventSeen{
		tag: tag{kindEventSeen}, UID: o.UID, ArrivedAt: utc(o.ArrivedAt), Live: o.Live, Container: o.Container,
		Reason: o.Reason, Message: o.Message, NamedAt: utc(o.NamedAt), FirstAt: utc(o.FirstAt), LastAt: utc(o.LastAt),
		StoredAt: utc(o.StoredAt), Count: o.Count,
	}
}

func fromRuntimeSeen(o timeline.RuntimeSeen) runtimeSeen {
	return runtimeSeen{
		tag: tag{kindRuntimeSeen}, UID: o.UID, AskedAt: utc(o.AskedAt), ArrivedAt: utc(o.ArrivedAt),
		NetworkDown: o.NetworkDown, NetworkUp: o.NetworkUp,
		Sandboxes: each(o.Sandboxes, func(s timeline.Sandbox) sandbox {
			return sandbox{
				ID: s.ID, Attempt: s.Attempt, Ready: s.Ready,
				BegunAt: utc(s.BegunAt), NetworkReadyAt: utc(s.NetworkReadyAt), RunningAt: utc(s.RunningAt),
				CreatedAt:       utc(s.CreatedAt),
				ImageResolvedAt: utc(s.ImageResolvedAt), ImagePulledAt: utc(s.ImagePulledAt), ImageKnown: s.ImageKnown,
			}
		}),
		Containers: each(o.Containers, func(r timeline.ContainerRun) containerRun {
			return containerRun{r.Name, r.ID, r.Attempt, utc(r.CreatedAt), utc(r.StartedAt), utc(r.FinishedAt),
				r.ExitCode, r.Reason}
		}),
		Images: each(o.Images, func(i timeline.Image) image {
			return image{i.Ref, i.Present, utc(i.FirstPulledAt), utc(i.PulledAt), i.SizeBytes, i.Digest,
				utc(i.ResolvedAt),
				each(i.Layers, func(l timeline.Layer) layer {
					return layer{l.Digest, l.SizeBytes, utc(l.DownloadedAt), utc(l.UnpackedAt), l.Remote}
				}), i.Layered, i.Incomplete}
		}),
	}
}

// each converts a list; an empty one becomes nil.
func each[From, To any](list []From, convert func(From) To) []To {
	if len(list) == 0 {
		return nil
	}
	converted := make([]To, len(list))
	for i, item := range list {
		converted[i] = convert(item)
	}
	return converted
}
