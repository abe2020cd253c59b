package timeline

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// State is how far a pod's start-up has come.
type State string

// The states. All but StateStarting are settled.
const (
	StateStarting  State = "starting"
	StateReady     State = "ready"
	StateSucceeded State = "succeeded" // ran to completion without ever being seen ready
	StateFailed    State = "failed"
	StateDeleted   State = "deleted"  // deleted before it was ready
	StateGivenUp   State = "given_up" // still not ready an hour after the agent first saw it
)

// Timeline holds what is known about one pod's start-up. It is a value: it does not change after Evidence.Timeline
// returned it.
type Timeline struct {
	Namespace, Name, UID, Node string
	StaticUID                  string    // the kubelet's UID of a static pod; empty for others
	ReadAt                     time.Time // when the kubelet read a static pod's manifest; zero for others
	Owner                      Owner
	Traits                     Traits
	State                      State
	// Reason is why it failed, from the pod object, e.g. OutOfcpu, Evicted. While it starts, or if it ended without
	// becoming ready, it is why a container waits, e.g. CreateContainerConfigError.
	Reason string
	// Partial says that more evidence may arrive: the start-up is in progress, or ended only just now.
	Partial bool

	CreatedAt time.Time
	// SettledAt is the end of start-up; zero while StateStarting.
	SettledAt time.Time
	// Total is SettledAt minus CreatedAt, or the age so far while StateStarting. It equals the sum of the phases'
	// durations exactly. TotalError bounds |Total − truth|.
	Total, TotalError time.Duration
	Reached           // how far the pod came, and when

	Phases []Span // contiguous from CreatedAt on, without gaps and overlaps
	Pulls  []Pull
	// EphemeralPulls are the pulls for ephemeral containers, which are not part of the start-up and may come after it.
	EphemeralPulls []Pull
	Milestones     []MilestoneEvidence
	Conflicts      []Conflict
	Skew           Skew     // of the clocks when the timeline was computed
	Missing        []string // milestones that lack evidence, as milestone[/container][#attempt]
	// Unreported lists the milestones that lack evidence because this runtime can never report them, in the form of
	// Missing. Missing does not contain them.
	Unreported []string
	// LostEvents are Events that the kubelet must have created and that never arrived although a watch was open, as
	// reason/container.
	LostEvents []string
	// EventMessage is the kubelet's Events during the start-up, as far as an Event watch was open: the earliest 32, in
	// order.
	EventMessage []EventMessage

	Revision    string // of Owner, as in Pod
	TraceParent string // as in Pod: not validated
	Labels      string // as in Pod

	// Termination is how the pod terminates, or has terminated; nil without a deletion request, and if terminations
	// are not followed. It is not part of the start-up.
	Termination *Termination

	// Reconstructed says that the start-up was over before the agent's time (Scope.Since), so the timeline is based on
	// evidence that was read afterwards. Such a timeline is shown, but not counted.
	Reconstructed bool
}

// ID identifies the start-up in all outputs: the pod's UID, a slash, and the number of the start-up, from 0. Only
// the first start-up is timed so far. For a static pod it is the kubelet's UID and the nanosecond at which the
// kubelet read the manifest, because the object in the API server may be created again with another UID. A repeated
// report, for example after a crash of the agent, has the same ID.
func (t Timeline) ID() string { return startUpID(t.UID, t.StaticUID, t.ReadAt) }

// StartUpID is Timeline.ID of the pod's start-up.
func (p Pod) StartUpID() string { return startUpID(p.UID, p.RuntimeUID, p.ReadAt) }

func startUpID(uid, staticUID string, readAt time.Time) string {
	if readAt.IsZero() {
		return uid + "/0"
	}
	return staticUID + "/" + strconv.FormatInt(readAt.UnixNano(), 10)
}

// Sorted returns timelines in the order of lists: by namespace and name, the latest of a name first.
func Sorted(timelines []Timeline) []Timeline {
	order := make([]*Timeline, len(timelines)) // they are large, so pointers are sorted
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
	Container string // from 0, for phases of a repeated step
	Attempt   int    // from 0, for phases of something repeated
	StartAt   time.Time
	EndAt     time.Time
	// Error bounds |EndAt − StartAt − truth|.
	Error   time.Duration
	Sources []Source
	// MergedWith lists the phases that the evidence could not separate from this one; for PhaseUnattributed, all phases
	// that it may contain.
	MergedWith []Phase
	// Open says that the phase is in progress. EndAt is then the time of the request.
	Open bool
	// Pressure is the node's pressure during the phase; nil if not measured.
	Pressure *Pressure
	// ImageLoading says that the container's content may still have been downloaded during the phase, because the
	// image is lazy (see Pull.Lazy). It is set for phases in which the container is started or runs.
	ImageLoading bool
}

// Duration is the length of the span.
func (s Span) Duration() time.Duration { return s.EndAt.Sub(s.StartAt) }

// Pull is one attempt to get one container's image. Unknown instants, and the durations between them, are zero.
type Pull struct {
	Container string
	Kind      ContainerKind // of the container
	Image     string        // as written in the spec
	Registry  string        // host and port
	Digest    string
	Outcome   imagepull.Outcome
	Failure   imagepull.Failure // why, for imagepull.OutcomeFailed
	Attempt   int               // from 0

	RequestedAt  time.Time // the kubelet requested the pull; then it waits in the node's pull queue
	StartedAt    time.Time // the runtime was asked to pull
	DownloadedAt time.Time // the last byte had arrived, and is unpacked next; zero if unknown
	FinishedAt   time.Time // the runtime answered

	Queue time.Duration // StartedAt minus RequestedAt; known if QueueTimed
	Pull  time.Duration // FinishedAt minus StartedAt; known if Timed
	// Timed and QueueTimed say that Pull and Queue are known, within Error of the truth. For a failed pull the two
	// cannot be separated: Error is then that of the time from RequestedAt to FinishedAt.
	Timed, QueueTimed bool
	Error             time.Duration

	SizeBytes int64 // 0 if unknown
	// Layers are those that came with this pull, the bottom one first; empty if the runtime does not say. Shared
	// says for each layer whether the pull of a pod that settled before also brought it, so that its bytes count
	// there.
	Layers  []Layer
	Shared  []bool
	Sources []Source

	// Resumed says that the image's manifest was on the node before this pull began, so an interrupted attempt may
	// have brought a part of the layers, and containerd continued from there. If so, it is unknown how much came with
	// this pull.
	Resumed bool

	// Confirmed says that the runtime, or the kubelet's status of the container, shows a successful pull of the
	// image during the start-up. Events alone do not confirm, because tenants may create them.
	Confirmed bool
	// Unconfirmed says that only Events report the Failure of a failed pull, and no status of the pod, which tenants
	// cannot write. The kubelet's status follows the Event by some seconds, and may skip attempts.
	Unconfirmed bool

	// Credentials is the part of Pull that a credential plugin of the kubelet may have taken; zero since kubelet
	// 1.33.
	Credentials time.Duration

	// Lazy says that a snapshotter mounted layers from the registry: their content is downloaded while the container
	// runs.
	Lazy bool

	// BlockedBy is the pull that this one waited for the longest in the node's queue; nil if unknown, or if no evidence
	// shows that the node pulls one image at a time. Ahead is the number of pulls of the node, including running ones,
	// that are known to have been ahead of this one in the queue; 0 if unknown.
	BlockedBy *Blocker
	Ahead     int
	// Beside is the highest number of other pulls of the node that ran at the same time during this one and shared
	// the node's link.
	Beside int

	early    bool    // some of its bytes may have arrived before it began, with another pull
	absentAt instant // when the runtime was asked and did not have the image; zero if it did, or was not asked
}

// Blocker is the pull of another pod that a pull waited for.
type Blocker struct {
	Namespace, Pod, Container, Image string
	Waited                           time.Duration // the time that both overlapped
}

// MilestoneEvidence is the interval that holds a milestone's true instant.
type MilestoneEvidence struct {
	Milestone Milestone
	Container string
	Attempt   int
	At        time.Time // the estimate, as in the phases that it bounds
	Earliest  time.Time
	Latest    time.Time
	Sources   []Source
}

// Conflict is a contradiction between sources.
type Conflict struct {
	Milestone Milestone
	Container string
	Detail    string // both sides with their source, as text
}
