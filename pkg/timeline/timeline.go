package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// State is the progress of a pod's start-up.
type State string

// The states. In all states except StateStarting, the start-up is over.
const (
	StateStarting  State = "starting"
	StateReady     State = "ready"
	StateSucceeded State = "succeeded" // the pod ran to completion and was never ready
	StateFailed    State = "failed"
	StateDeleted   State = "deleted"  // the pod was deleted before it was ready
	StateGivenUp   State = "given_up" // the pod was not ready an hour after the agent first saw the pod
)

// Timeline holds the known facts about one pod's start-up. Timeline is a value that never changes after
// Evidence.Timeline returns it.
type Timeline struct {
	Namespace, Name, UID, Node string
	StaticUID                  string    // the UID that the kubelet gave a static pod; empty for other pods
	ReadAt                     time.Time // when the kubelet read a static pod's manifest; zero for other pods
	Owner                      Owner
	Traits                     Traits
	State                      State
	// Reason is the pod object's reason for a failure, for example OutOfcpu or Evicted. If the pod object contains no
	// reason, Reason depends on the state. In StateFailed, Reason is the reason why the containers ended, for example
	// StartError. In StateStarting, StateDeleted and StateGivenUp, Reason is the reason why a container waits, for
	// example CreateContainerConfigError.
	Reason string
	// Partial is true if more evidence can arrive, because the start-up is in progress or has only just ended.
	Partial bool

	CreatedAt time.Time
	// SettledAt is the time when the start-up ended. SettledAt is zero in StateStarting. After SettledAt, late
	// evidence can arrive. So Evidence.Settled returns true only some time after SettledAt. The name of the field is
	// kept for compatibility with the field settled_at of the API.
	SettledAt time.Time
	// Total is SettledAt minus CreatedAt. In StateStarting, Total is the time since CreatedAt. Total equals the sum of
	// the phases' durations exactly. TotalError is the error bound of Total: the maximum of |Total − truth|.
	Total, TotalError time.Duration
	Reached           // the milestones that the pod reached, with their times

	Phases []Span // the phases from CreatedAt, without gaps or overlaps
	Pulls  []Pull
	Probes []Probe // the startup probes and readiness probes of the containers
	// EphemeralPulls are the pulls for ephemeral containers. The pulls for ephemeral containers are not part of the
	// start-up and can happen after the start-up.
	EphemeralPulls []Pull
	Milestones     []MilestoneEvidence
	Conflicts      []Conflict
	Skew           Skew // the skew of the clocks when the timeline was computed
	// Missing lists milestones without evidence, in the form milestone[/container][#attempt]. Missing can also contain
	// MissingClock, and texts about limits that the agent reached.
	Missing []string
	// Unreported lists the milestones that lack evidence because the runtime can never report them. The entries have
	// the same form as in Missing. Missing does not contain the milestones in Unreported.
	Unreported []string
	// LostEvents lists Events that the agent did not receive, although an Event watch was open and the kubelet must
	// have created the Events. Each entry has the form reason/container.
	LostEvents []string
	// Incomplete is true if Missing is not empty. Incomplete is also true if the duration of a pull is unattributed
	// because of lost Events. After 25 Events about a pod, the kubelet's client drops Events by design. These dropped
	// Events do not make a timeline incomplete.
	Incomplete bool
	// EventMessage lists the kubelet's Events from Event watches, in order of time. The list contains at most the 32
	// earliest Events, and no Events after the end of the start-up.
	EventMessage []EventMessage

	Revision    string // see Pod.Revision
	TraceParent string // see Pod.TraceParent; not validated
	Labels      string // see Pod.Labels

	// Termination describes the pod's termination, which is not part of the start-up. Termination is nil if there is
	// no deletion request or if the agent does not follow terminations.
	Termination *Termination

	// Reconstructed is true under two conditions: the start-up was over before the agent saw the pod, and the pod did
	// not reach the node after Scope.Since. The agent collected the evidence for a reconstructed timeline after the
	// start-up. The agent shows a reconstructed timeline, but counts the start-up only in
	// podlapse_evidence_reconstructed_total.
	Reconstructed bool
}

// ID identifies the start-up in all outputs. If the agent reports a start-up again, for example after a crash, the ID
// is the same. For most pods, the ID is the pod's UID followed by "/0", because the agent measures only the first
// start-up of a pod. For a static pod, the ID is StaticUID, a slash and ReadAt as Unix time in nanoseconds. A new
// object for the same static pod has another UID. So the ID of a static pod does not contain the UID of the pod's
// object.
func (t Timeline) ID() string { return startUpID(t.UID, t.StaticUID, t.ReadAt) }

// StartUpID returns the Timeline.ID of the pod's start-up.
func (p Pod) StartUpID() string { return startUpID(p.UID, p.RuntimeUID, p.ReadAt) }

func startUpID(uid, staticUID string, readAt time.Time) string {
	if readAt.IsZero() {
		return uid + "/0"
	}
	return staticUID + "/" + strconv.FormatInt(readAt.UnixNano(), 10)
}

// Sorted returns timelines sorted by namespace and name. If several pods have the same name, the latest pod
// comes first.
func Sorted(timelines []Timeline) []Timeline {
	order := make([]*Timeline, len(timelines)) // timelines are large, so sort pointers
	for i := range timelines {
		order[i] = &timelines[i]
	}
	slices.SortFunc(order, func(a, b *Timeline) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
			b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.UID, b.UID))
	})
	all := make([]Timeline, len(timelines))
	for i, t := range order {
		all[i] = *t
	}
	return all
}

// Span is one phase of a timeline.
type Span struct {
	Phase     Phase
	Cause     Cause
	Container string // the container of the phase; empty for phases of the whole pod
	Attempt   int    // the number of the attempt, from 0, if the step can be repeated
	StartAt   time.Time
	EndAt     time.Time
	// Error is the error bound of the duration: the maximum of |EndAt − StartAt − truth|.
	Error   time.Duration
	Sources []Source
	// MergedWith lists the phases that the evidence could not separate from this phase. A group phase, such as
	// PhaseUnattributed, stands for several phases. For a group phase, MergedWith lists all possible phases.
	MergedWith []Phase
	// Open is true if the phase is in progress. If Open is true, EndAt is the argument "now" of Evidence.Timeline.
	Open bool
	// Pressure is the node's pressure during the phase; nil if not measured.
	Pressure *Pressure
	// ImageLoading is true if the image is lazy (Pull.Lazy), so the snapshotter might still have been downloading the
	// image during the phase. ImageLoading is set only for phases in which the container starts or runs.
	ImageLoading bool
}

// Duration returns the length of the span.
func (s Span) Duration() time.Duration { return s.EndAt.Sub(s.StartAt) }

// appendWithPart appends the span s to the list "spans", and changes the part of s between two times. The times must
// lie within s. If the part does not cover the whole span, appendWithPart divides s into up to three spans.
func appendWithPart(spans []Span, s Span, from, until time.Time, change func(part *Span)) []Span {
	before, part, after := s, s, s
	before.EndAt, before.Open = from, false
	part.StartAt, part.EndAt, part.Open = from, until, s.Open && until.Equal(s.EndAt)
	after.StartAt = until
	change(&part)
	if before.Duration() > 0 {
		spans = append(spans, before)
	}
	spans = append(spans, part)
	if after.Duration() > 0 {
		spans = append(spans, after)
	}
	return spans
}

// Pull is one attempt to get one container's image. If a time is unknown, its field is zero. A duration is zero if its
// start or its end is unknown.
type Pull struct {
	Container string
	Kind      ContainerKind // the kind of the container
	Image     string        // the reference in the spec; imagepull.UnknownImage if the reference might have changed
	Registry  string        // host and port
	Digest    string
	Outcome   imagepull.Outcome
	Failure   imagepull.Failure // the reason for the failure, if Outcome is imagepull.OutcomeFailed
	Attempt   int               // from 0

	RequestedAt  time.Time // when the kubelet requested the pull, before the wait in the node's pull queue
	StartedAt    time.Time // when the kubelet asked the runtime to pull, after the wait in the queue
	DownloadedAt time.Time // when the last byte arrived; zero if unknown
	FinishedAt   time.Time // when the runtime responded

	Queue time.Duration // StartedAt minus RequestedAt, if QueueTimed
	Pull  time.Duration // FinishedAt minus StartedAt, if Timed
	// Timed is true if Pull is known, and QueueTimed is true if Queue is known. Pull and Queue differ from the truth
	// by at most Error. For a failed pull, the evidence cannot separate Queue from Pull. In this case, the time from
	// RequestedAt to FinishedAt differs from the sum of Queue and Pull by at most Error.
	Timed, QueueTimed bool
	Error             time.Duration

	SizeBytes int64 // 0 if unknown
	// Layers lists the layers that this pull downloaded, the bottom layer first. Layers is empty if the runtime does
	// not report layers. Shared[i] is true if Layers[i] arrived with another pod's pull. The bytes of a shared layer
	// belong to another pod's pull, and not to this pull.
	Layers  []Layer
	Shared  []bool
	Sources []Source

	// Resumed is true if the image's manifest was on the node before this pull began. An earlier, interrupted attempt
	// might have downloaded some layers, and containerd does not download these layers again. So the number of bytes
	// of a resumed pull is unknown.
	Resumed bool

	// Confirmed is true if the runtime or the kubelet's container status shows a successful pull of the image during
	// the start-up. Events alone confirm nothing, because tenants can create Events.
	Confirmed bool
	// Unconfirmed is true if only Events report the Failure of a failed pull. The same failure in the pod's status
	// would confirm the failed pull, because tenants cannot write the status. The pod's status arrives some seconds
	// after the Event, and does not report every attempt.
	Unconfirmed bool

	// Credentials is the part of the pull's duration that a credential plugin of the kubelet might have used.
	// Credentials is zero if the pod object proves that the kubelet has version 1.33 or later: see
	// Pod.KubeletGeneration.
	Credentials time.Duration

	// Lazy is true if a snapshotter mounted layers directly from the registry. The snapshotter downloads the content
	// of mounted layers while the container runs.
	Lazy bool

	// BlockedBy is the pull that delayed this pull the longest in the node's queue. BlockedBy is nil if the blocking
	// pull is unknown, or if no evidence shows that the node pulls one image at a time. Ahead is the number of known
	// pulls that were ahead of this pull in the node's queue, including running pulls. Ahead is 0 if unknown.
	BlockedBy *Blocker
	Ahead     int
	// Beside is the highest number of other pulls that ran on the node at the same time, during this pull. Pulls that
	// run in parallel share the node's network link.
	Beside int

	// reportedError is the error bound of Pull if it depends only on the duration that the kubelet reported.
	// reportedError is zero if the kubelet reported no duration.
	reportedError time.Duration

	early    bool    // another pull might have downloaded some bytes before this pull began
	waited   bool    // another pull's unpacking might have delayed the download of this pull
	absentAt instant // when the runtime responded that the image is absent; zero without such a response

	// PullLog.Complete uses the fields below and then clears them.
	imageLayers []Layer // all layers of the image; nil if the runtime does not report them
	resolvedAt  instant // when the image's manifest arrived on the node; zero if unknown
	// stampedAt is the timestamp of the image that gave the pull its end (FinishedAt). The pull of another pod might
	// have written this timestamp. stampedAt is zero if no timestamp of the image gave the pull its end. If stampedAt
	// is ignored, endsSince is the earliest possible end of the pull.
	stampedAt, endsSince instant
}

// Blocker is a pull of another pod that delayed this pod's pull.
type Blocker struct {
	Namespace, Pod, Container, Image string
	Waited                           time.Duration // how long the other pull ran while this pod's pull waited
}

// MilestoneEvidence describes when a milestone happened. The true time lies in the interval from Earliest to Latest.
type MilestoneEvidence struct {
	Milestone Milestone
	Container string
	Attempt   int
	At        time.Time // the estimated time; the phases use the same estimate
	Earliest  time.Time
	Latest    time.Time
	Sources   []Source
}

// Conflict is a contradiction between sources.
type Conflict struct {
	Milestone Milestone
	Container string
	Detail    string // the two contradictory statements and their sources, as text
}
