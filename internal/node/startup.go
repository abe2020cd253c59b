package node

import (
	"context"
	"sync"
	"time"

	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/nodestart"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// startUpPoll is the interval between two calls of requestObjects while the node starts. Each call lists the
	// agent's own Node object. The list proves which taints the node still had at the time of the request.
	startUpPoll = time.Second
	// startUpPollLate replaces startUpPoll when the agent has run for startUpLate.
	startUpPollLate = 10 * time.Second
	startUpLate     = 3 * time.Minute
	// startUpSettles is the minimum time that the agent runs before it creates the final record of the node's start-up.
	// Within startUpSettles, the agent usually receives the list of the node's pods.
	startUpSettles = 5 * time.Second
	// eventsArrive is the minimum time from the readiness of the node until the agent requests the kubelet's Events
	// about the node. During this wait, the kubelet can send the Events.
	eventsArrive = 3 * time.Second
	// The agent reports a completed start-up only if less than reportedFor has passed since the end of the start-up.
	// Without this limit, the agent would report the same start-up again after each restart.
	reportedFor = time.Hour
	// requestTimeout limits a single request to the API server.
	requestTimeout = 5 * time.Second
)

// StartUpConfig configures a StartUp. Every field except Events is required.
type StartUpConfig struct {
	ProcDir  string         // directory of the proc file system
	Client   rest.Interface // lists the Node object
	Events   rest.Interface // lists the kubelet's Events about the node; nil to use no Events
	NodeName string
	// Present returns the timelines of all pods of the node. Skew returns the difference between the clocks of the
	// control plane and of the node. Present and Skew can block until ctx is done.
	Present func(ctx context.Context) ([]timeline.Timeline, error)
	Skew    func(ctx context.Context) (timeline.Skew, error)
	// PodsListed reports whether the agent has received the list of the node's pods.
	PodsListed func() bool
	// Settled receives the final record, once. If the start-up has been over for reportedFor or longer, the agent does
	// not call Settled. If no workload pod became ready, and the agent started an hour or more (nodestart.GiveUpAfter)
	// after the boot, the agent does not call Settled. Settled must not block.
	Settled func(api.NodeStartUpRecord)
	Report  health.Report
	Now     func() time.Time
	Logger  *zap.Logger
}

// StartUp follows the start-up of the node itself, until the first workload pod is ready. After the start-up, StartUp
// keeps only the record. StartUp is safe for concurrent use.
type StartUp struct {
	config StartUpConfig

	mu              sync.Mutex
	evidence        *nodestart.Evidence // nil if the boot time is unknown or the record is final
	boot            nodestart.Booted
	unready         map[string]bool // UIDs of pods from before the boot; the agent saw that these pods were not ready
	readyAt         time.Time       // arrival of the first Node object that reports a ready node
	requestedEvents bool            // the agent has requested the Events
	record          *api.NodeStartUpRecord
}

// NewStartUp creates a StartUp. NewStartUp reads the boot time at once, so that the StartUp can use the first Node
// object.
func NewStartUp(config StartUpConfig) *StartUp {
	s := &StartUp{config: config, unready: map[string]bool{}}
	boot, err := ReadBoot(config.ProcDir, config.Now())
	if err != nil {
		config.Report(false, err.Error())
		return s
	}
	s.boot, s.evidence = boot, &nodestart.Evidence{}
	s.evidence.Observe(boot)
	config.Report(true, "follows the node's start-up")
	return s
}

var _ podwatch.Follower = (*StartUp)(nil)

// observe adds an observation to the evidence. If s.evidence is nil, observe does nothing.
func (s *StartUp) observe(o nodestart.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evidence != nil {
		s.evidence.Observe(o)
	}
}

// SeeNode receives each version of the Node object, or nil if the object does not exist. See WatchConfig.Seen.
func (s *StartUp) SeeNode(n *corev1.Node, requestedAt time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evidence == nil {
		return
	}
	seen := nodeSeen(n, requestedAt, s.config.Now())
	s.evidence.Observe(seen)
	// After a boot, the Node object can still say that the node is ready, until the kubelet updates the object.
	ofBoot := s.boot.BootID == "" || seen.BootID == s.boot.BootID
	if isReady(n) && ofBoot && s.readyAt.IsZero() {
		s.readyAt = seen.ArrivedAt
	}
}

// Seen implements podwatch.Follower. Seen ignores pods that were created after the boot. For such a pod, the agent has
// a timeline, which contains more facts than the Pod object.
func (s *StartUp) Seen(pod *corev1.Pod) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evidence == nil || !pod.CreationTimestamp.Time.Before(s.boot.At) {
		return
	}
	again, ready := podReady(pod, s.config.Now())
	switch {
	case !ready:
		s.unready[again.UID] = true
	case !again.ReadyAt.Before(s.boot.At):
		again.Turned = s.unready[again.UID]
		s.evidence.Observe(again)
	}
}

// Restarted implements podwatch.Follower.
func (s *StartUp) Restarted(*corev1.Pod, podwatch.Restart) {}

// Gone implements podwatch.Follower.
func (s *StartUp) Gone(uid string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.unready, uid)
	if s.evidence != nil {
		s.evidence.Observe(nodestart.PodGone{UID: uid})
	}
}

// Record returns the record of the start-up. The second result is false if the boot time is unknown. Until makeFinal
// creates the final record, Record returns a partial record, because the kubelet's Events about the node can be
// missing.
func (s *StartUp) Record() (api.NodeStartUpRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record != nil {
		return *s.record, true
	}
	if s.evidence == nil {
		return api.NodeStartUpRecord{}, false
	}
	t, ok := s.evidence.Timeline(s.config.Now())
	t.Partial = true
	return s.recordOf(t), ok
}

func (s *StartUp) recordOf(t nodestart.Timeline) api.NodeStartUpRecord {
	t.Node = s.config.NodeName
	return nodestart.Record(t)
}

// finalRecord returns the final record. The second result is false if no final record exists yet.
func (s *StartUp) finalRecord() (api.NodeStartUpRecord, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record == nil {
		return api.NodeStartUpRecord{}, false
	}
	return *s.record, true
}

// Run follows the start-up until the record is final, and then waits until ctx is done. Run always returns nil.
func (s *StartUp) Run(ctx context.Context) error {
	startedAt := s.config.Now()
	ticker := time.NewTicker(startUpPoll)
	defer ticker.Stop()
	late := false
	for s.following() {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		age := s.config.Now().Sub(startedAt)
		if !late && age > startUpLate {
			late = true
			ticker.Reset(startUpPollLate)
		}
		s.requestObjects(ctx)
		if s.mustRequestEvents() {
			s.addEvents(ctx)
		}
		if age >= startUpSettles && s.config.PodsListed() {
			s.makeFinal(ctx)
		}
	}
	ticker.Stop()
	<-ctx.Done()
	return nil
}

func (s *StartUp) following() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.evidence != nil
}

// requestObjects requests the Node object and the timelines of the pods. A failed request makes the timeline less
// precise, but has no other effect.
func (s *StartUp) requestObjects(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	requestedAt := s.config.Now()
	if node, _, err := listNode(ctx, s.config.Client, s.config.NodeName); err == nil {
		s.SeeNode(node, requestedAt)
	} else {
		s.config.Logger.Debug("cannot list the Node object", zap.Error(err))
	}
	s.readBootAgain()
	if skew, err := s.config.Skew(ctx); err == nil {
		s.observe(nodestart.SkewSeen{Skew: skew})
	}
	present, err := s.config.Present(ctx)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evidence == nil {
		return
	}
	for _, t := range present {
		if !t.SettledAt.IsZero() && t.SettledAt.Before(s.boot.At) {
			continue // the pod's start-up was over before the boot
		}
		s.evidence.Observe(nodestart.StartUpSeen{Timeline: t})
	}
}

// readBootAgain reads the boot time again, because the kernel reports another boot time after the clock was set.
func (s *StartUp) readBootAgain() {
	boot, err := ReadBoot(s.config.ProcDir, s.config.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	same := boot.BootID != "" && boot.BootID == s.boot.BootID
	if err != nil || s.evidence == nil || !same || boot.At.Equal(s.boot.At) {
		return
	}
	s.config.Logger.Info("the node's clock was set after the boot, so the phases of the node's start-up are unknown",
		zap.Duration("change", boot.At.Sub(s.boot.At)))
	s.boot.At = boot.At
	s.evidence.Observe(boot)
}

// makeFinal creates the final record if the start-up is over and the timeline is not partial.
func (s *StartUp) makeFinal(ctx context.Context) {
	s.mu.Lock()
	t, ok := s.evidence.Timeline(s.config.Now())
	s.mu.Unlock()
	if !ok || t.State == nodestart.StateStarting || t.Partial {
		return
	}
	s.addEvents(ctx)
	s.mu.Lock()
	t, _ = s.evidence.Timeline(s.config.Now())
	record := s.recordOf(t)
	s.record, s.evidence, s.unready = &record, nil, nil
	s.mu.Unlock()
	s.config.Report(true, "the node's start-up is over")
	late := t.State == nodestart.StateGivenUp && t.Reconstructed
	if !late && s.config.Now().Sub(record.SettledAt.Time) < reportedFor {
		s.config.Settled(record)
	}
}

// mustRequestEvents reports whether the agent must request the kubelet's Events. The agent waits for eventsArrive after
// the node became ready, and then requests the Events once.
func (s *StartUp) mustRequestEvents() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.requestedEvents && !s.readyAt.IsZero() && s.config.Now().Sub(s.readyAt) >= eventsArrive
}

// addEvents requests the kubelet's Events about its node, at most once. If the boot was more than eventsKept ago,
// addEvents skips the request, because Events might have expired.
func (s *StartUp) addEvents(ctx context.Context) {
	s.mu.Lock()
	skip := s.requestedEvents || s.config.Events == nil || s.config.Now().Sub(s.boot.At) > eventsKept
	s.requestedEvents = true
	s.mu.Unlock()
	if skip {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	listed, err := s.requestEvents(ctx)
	if err != nil {
		s.config.Logger.Info("cannot list the kubelet's Events about the node", zap.Error(err))
		return
	}
	s.observe(listed)
}
