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

// Timeline is what is known of one pod's start-up. It is a value: never changed after Fold made it.
type Timeline struct {
	Namespace, Name, UID, Node string
	StaticUID                  string    // UID that the kubelet knows a static pod by; empty for others
	ReadAt                     time.Time // when the kubelet read a static pod's manifest; zero for others
	Owner                      Owner
	Traits                     Traits
	State                      State
	// Reason is why it failed, in the pod object's word, e.g. OutOfcpu, Evicted; while it starts, or if it ended so,
	// why a container waits, e.g. CreateContainerConfigError.
	Reason string
	// Partial says that more evidence may come: the start-up goes on, or is over only just.
	Partial bool

	CreatedAt time.Time
	// SettledAt is the end of start-up; zero while StateStarting.
	SettledAt time.Time
	// Total is SettledAt less CreatedAt, or the age so far while StateStarting; it equals the sum of
	// the phases' durations exactly. TotalError bounds |Total − truth|.
	Total, TotalError time.Duration
	Reached           // how far the pod came, and when

	Phases []Span // end to end from CreatedAt: no gap, no overlap
	Pulls  []Pull
	// Debug are the pulls for ephemeral containers, which are no part of the start-up and may come after it.
	Debug     []Pull
	Marks     []MarkEvidence
	Conflicts []Conflict
	Skew      Skew     // of the clocks when the timeline was made
	Missing   []string // marks that lack evidence, as mark[/container][#attempt]
	// LostEvents are Events that the kubelet must have made and that an open watch never got, as reason/container.
	LostEvents []string
	// Said is what the kubelet said on the way, as far as an Event watch was open; the earliest 32 Events, in order.
	Said []Said

	Revision    string // of Owner, as in Pod
	TraceParent string // as in Pod: not validated
	Labels      string // as in Pod

	// Termination is how the pod ends, or has ended; nil while nobody asked to delete it, and where nobody follows that. It is
	// no part of the start-up.
	Termination *Termination
	// Later is what has just happened to a pod whose start-up is over; nil but in what is handed out for that alone.
	Later *Later

	// Reconstructed says that the pod was there, and its start-up over, before the agent's time
	// (Scope.Since), so that the timeline rests on what could be read afterwards. Such a timeline is
	// shown, never counted.
	Reconstructed bool
}

// ID names the start-up in all that leaves the agent: the pod's UID, a slash, and which of its start-ups
// this is, from 0. Only the first is timed so far. Of a static pod it is the kubelet's UID and the nanosecond at which
// the kubelet read the manifest: the object in the API server may be made again, with another UID. What is reported
// again, as after a crash of the agent, has the same ID.
func (t Timeline) ID() string { return startUpID(t.UID, t.StaticUID, t.ReadAt) }

// StartUpID is Timeline.ID of the pod's start-up.
func (p Pod) StartUpID() string { return startUpID(p.UID, p.RuntimeUID, p.ReadAt) }

func startUpID(uid, staticUID string, readAt time.Time) string {
	if readAt.IsZero() {
		return uid + "/0"
	}
	return staticUID + "/" + strconv.FormatInt(readAt.UnixNano(), 10)
}

// Sorted is timelines in the order of lists: by namespace and name, the latest of a name first.
func Sorted(timelines []Timeline) []Timeline {
	order := make([]*Timeline, len(timelines)) // they are large: only where they go is sorted
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
	Container string // empty for phases of the whole pod
	Attempt   int    // from 0, for phases of something repeated
	StartAt   time.Time
	EndAt     time.Time
	// Error bounds |EndAt − StartAt − truth|.
	Error   time.Duration
	Sources []Source
	// MergedWith lists the phases that evidence could not tell apart from this one; of
	// PhaseUnattributed, all that may lie in it.
	MergedWith []Phase
	// Open says that the phase still goes on; EndAt is then the time of asking.
	Open bool
	// Pressure is the node's meanwhile; nil where nobody measured it.
	Pressure *Pressure
	// ImageLoading says that the container's content may still have come from the registry meanwhile, since the image
	// is lazy, as in Pull: of phases in which the container is started or runs.
	ImageLoading bool
}

// Duration is the length of the span.
func (s Span) Duration() time.Duration { return s.EndAt.Sub(s.StartAt) }

// Pull is one attempt to get one container's image. Instants that are not known are zero, and the
// lengths between them too.
type Pull struct {
	Container string
	Kind      ContainerKind // of the container
	Image     string        // as written in the spec
	Registry  string        // host and port
	Digest    string
	Outcome   imagepull.Outcome
	Failure   imagepull.Failure // why, of imagepull.OutcomeFailed
	Attempt   int               // from 0

	RequestedAt  time.Time // the kubelet asked for the pull; then it waits for the node's pull queue
	StartedAt    time.Time // the runtime was asked to pull
	DownloadedAt time.Time // the last byte had come, and is unpacked; zero when nobody tells
	FinishedAt   time.Time // the runtime answered

	Queue time.Duration // StartedAt less RequestedAt; known if QueueTimed
	Pull  time.Duration // FinishedAt less StartedAt; known if Timed
	// Timed and QueueTimed say that Pull and Queue are known; what is is within Error of the truth. Of a pull that failed
	// nobody tells the two apart: Error is then of the time from RequestedAt to FinishedAt.
	Timed, QueueTimed bool
	Error             time.Duration

	SizeBytes int64 // 0 when unknown
	// Layers are those that came with this pull, the bottom one first; empty when the runtime does not tell. Shared says
	// of each whether the pull of a pod that settled before brought it as well, so that its bytes count there.
	Layers  []Layer
	Shared  []bool
	Sources []Source

	// Resumed says that the image's manifest was on the node before this pull began, so that an attempt which was
	// broken off may have brought a part of the layers: containerd goes on where that one ended. How much came with
	// this pull is not known then.
	Resumed bool

	// Confirmed says that the runtime, or the kubelet's status of the container, shows that a pull of the image ended well during the
	// start-up. What Events alone tell is not confirmed: tenants may create Events.
	Confirmed bool
	// Unconfirmed says of a pull that failed that only Events tell of its Failure: no status of the pod did, which tenants cannot
	// write. The kubelet's status follows the Event by some seconds, and may skip attempts.
	Unconfirmed bool

	// Credentials is for how much of Pull a credential plugin of the kubelet may have run; zero since kubelet 1.33.
	Credentials time.Duration

	// Lazy says that a snapshotter mounted layers from the registry: their content comes while the container runs.
	Lazy bool

	// BlockedBy is the pull that this one waited for the longest in the node's queue; nil when none is known, and
	// unless evidence shows that the node pulls one image after the other. Ahead is how many pulls of the node are
	// known to have been before this one in the queue, those that went on included; 0 when not known.
	BlockedBy *Blocker
	Ahead     int
	// Beside is how many other pulls of the node went on at once, at most, while this one did: they shared the node's
	// link.
	Beside int

	early    bool    // some of its bytes may have come before it began, with another pull
	absentAt instant // when the runtime was asked and did not have the image; zero if it did, or nobody asked
}

// Blocker is the pull of another pod that a pull waited for.
type Blocker struct {
	Namespace, Pod, Container, Image string
	Waited                           time.Duration // the time both overlapped
}

// MarkEvidence is the interval known to hold a mark's true instant.
type MarkEvidence struct {
	Mark      Mark
	Container string
	Attempt   int
	At        time.Time // the estimate, as in the phases that it bounds
	Earliest  time.Time
	Latest    time.Time
	Sources   []Source
}

// Conflict is a contradiction between sources.
type Conflict struct {
	Mark      Mark
	Container string
	Detail    string // both sides with their source, in words
}
