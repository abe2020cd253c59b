package annotate

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/client-go/util/workqueue"

	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

const (
	// perSecond and burst limit the requests of one agent. The limit matters after a restart, when the agent might have
	// to annotate all pods of the node.
	perSecond, burst = 5, 10
	firstRetry       = 100 * time.Millisecond
	maxRetry         = time.Minute
	// refusedRetry is how long the agent waits before it retries a write that the API server refused. The agent retries
	// even if the pod has not changed, because an administrator can change a role or a policy.
	refusedRetry = 5 * time.Minute
	// changesWithin is the wait between a change of a timeline and the write attempt. Several changes of a pod within
	// changesWithin cause only one write attempt. The wait avoids useless attempts, because the timeline changes often
	// before the start-up completes.
	changesWithin = 250 * time.Millisecond
)

// Config configures an Annotator. Every field is required.
type Config struct {
	Client   rest.Interface // client for core/v1, with the agent's own identity
	NodeName string         // the annotator never changes pods of other nodes
	// Timelines returns the timelines of existing pods. While a pod is starting, the field Partial of its timeline is
	// true.
	Timelines  func(ctx context.Context, uids []string) ([]timeline.Timeline, error)
	Now        func() time.Time
	Report     health.Report
	Registerer prometheus.Registerer
}

// Annotator writes annotations. New starts the goroutines of the Annotator. Run stops the goroutines of the Annotator
// before it returns.
type Annotator struct {
	config   Config
	requests *prometheus.CounterVec // write requests by result
	limit    flowcontrol.RateLimiter
	queue    workqueue.TypedDelayingInterface[string] // UIDs of pods that request annotations; no UID is queued twice
	retries  workqueue.TypedRateLimiter[string]

	// provenAt is the time when a policy last refused a test request of checkPolicy. The refusal proves that the
	// policy is in force. Only the goroutine of Run uses provenAt.
	provenAt time.Time

	mu   sync.Mutex
	pods map[string]*pendingPod // pods of this node that request annotations, by UID
}

type pendingPod struct {
	annotationRequest
	notBefore time.Time // earliest time of the next write to this pod
}

// New creates an Annotator. The caller must call Run.
func New(config Config) *Annotator {
	a := &Annotator{
		config: config,
		limit:  flowcontrol.NewTokenBucketRateLimiter(perSecond, burst),
		queue:  workqueue.NewTypedDelayingQueue[string](),
		// The rate limiter has at most one entry for each pod that requests annotations.
		retries: workqueue.NewTypedItemExponentialFailureRateLimiter[string](firstRetry, maxRetry),
		pods:    map[string]*pendingPod{},
	}
	a.requests = newMetrics(config.Registerer, a.waiting)
	return a
}

// Run writes annotations until ctx is done, and then returns nil. The caller can call Run only once.
func (a *Annotator) Run(ctx context.Context) error {
	a.config.Report(true, "idle")
	stop := context.AfterFunc(ctx, a.queue.ShutDown)
	defer stop()
	defer a.queue.ShutDown()
	for {
		uid, ended := a.queue.Get()
		if ended {
			return nil
		}
		a.serve(ctx, uid)
		a.queue.Done(uid)
	}
}

// Seen handles a new state of a pod's object. Seen keeps data only about pods that request annotations.
func (a *Annotator) Seen(pod *corev1.Pod) {
	uid := string(pod.UID)
	now, asks := readRequest(pod)
	if !asks || pod.Spec.NodeName != a.config.NodeName {
		a.Gone(uid)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	before := a.pods[uid]
	if before == nil {
		before = &pendingPod{}
		a.pods[uid] = before
	}
	if before.startUp != now.startUp || before.time != now.time {
		before.notBefore = time.Time{} // no delay, because the missing annotations have changed
	}
	before.annotationRequest = now
	a.queue.Add(uid)
}

// Gone forgets a pod.
func (a *Annotator) Gone(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods, uid)
}

// Changed notifies the annotator that a pod's timeline might have changed. Changed is cheap and does not block.
func (a *Annotator) Changed(uid string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pods[uid] != nil {
		a.queue.AddAfter(uid, changesWithin)
	}
}

func (a *Annotator) waiting() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.pods)
}

// requestOf returns the annotations that a pod requests, and the earliest time of the next write to the pod.
func (a *Annotator) requestOf(uid string) (annotationRequest, time.Time, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.pods[uid]
	if p == nil {
		return annotationRequest{}, time.Time{}, false
	}
	return p.annotationRequest, p.notBefore, true
}

// serve writes the requested annotations of a pod. serve omits annotations whose values are not available yet.
func (a *Annotator) serve(ctx context.Context, uid string) {
	p, notBefore, asks := a.requestOf(uid)
	if !asks {
		a.retries.Forget(uid)
		return
	}
	if wait := notBefore.Sub(a.config.Now()); wait > 0 {
		a.queue.AddAfter(uid, wait)
		return
	}
	startUpValue := ""
	if p.startUp {
		startUpValue = a.startUpValue(ctx, uid)
	}
	if !p.time && startUpValue == "" {
		a.retries.Forget(uid)
		return // package reconcile calls Changed when the start-up is complete
	}
	if a.limit.Wait(ctx) != nil {
		return
	}
	// The pod might have changed during the wait for the rate limit. Therefore, serve reads the latest state.
	if p, _, asks = a.requestOf(uid); !asks {
		a.retries.Forget(uid)
		return
	}
	values := maps.Clone(p.owned)
	had := len(values)
	if p.time {
		values[Time] = a.config.Now().UTC().Format(time.RFC3339)
	}
	if p.startUp && startUpValue != "" {
		values[StartUp] = startUpValue
	}
	if len(values) == had {
		return
	}
	err := a.checkPolicy(ctx, p)
	if err == nil {
		err = a.apply(ctx, p, values, "")
	}
	a.handleResult(uid, p, values, err)
}

// startUpValue returns the value of the annotation "podlapse.dev/startup", or "" if the value is not available.
func (a *Annotator) startUpValue(ctx context.Context, uid string) string {
	timelines, err := a.config.Timelines(ctx, []string{uid})
	if err != nil || len(timelines) != 1 || timelines[0].Partial {
		return "" // the agent is stopping, or the start-up is in progress
	}
	text, err := startUpText(timelines[0])
	if err != nil {
		a.config.Report(false, err.Error())
	}
	return text
}

// handleResult handles the API server's response to a write.
func (a *Annotator) handleResult(uid string, p annotationRequest, values map[string]string, err error) {
	result := resultOf(err)
	a.requests.WithLabelValues(result).Inc()
	switch result {
	case resultWritten:
		a.retries.Forget(uid)
		a.storeWritten(uid, p, values)
		a.config.Report(true, "writing")
	case resultGone:
		a.retries.Forget(uid) // the pod watch will deliver the new state
	case resultConflict:
		a.queue.AddAfter(uid, a.retries.When(uid)) // a change from the pod watch ends this wait early
	case resultRefused:
		a.retries.Forget(uid)
		a.delayWrite(uid, refusedRetry)
		a.config.Report(false, worded(err))
	default:
		wait := a.retries.When(uid)
		if seconds, ok := apierrors.SuggestsClientDelay(err); ok {
			wait = max(wait, min(time.Duration(seconds)*time.Second, maxRetry))
		}
		a.delayWrite(uid, wait)
		a.config.Report(false, worded(err))
	}
}

// storeWritten stores the annotations of a pod after a write. If the pod watch has already delivered a newer state,
// storeWritten does nothing.
func (a *Annotator) storeWritten(uid string, p annotationRequest, values map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.pods[uid]
	if now == nil || now.version != p.version {
		return
	}
	now.owned = values // the map "values" includes the annotations that the agent wrote earlier (see serve)
	now.startUp = now.startUp && values[StartUp] == ""
	now.time = now.time && values[Time] == ""
	if !now.startUp && !now.time {
		delete(a.pods, uid)
	}
}

// delayWrite delays the next write to a pod. If the set of missing annotations changes, Seen ends the delay. Other
// changes of the pod do not end the delay.
func (a *Annotator) delayWrite(uid string, wait time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.pods[uid]; p != nil {
		p.notBefore = a.config.Now().Add(wait)
		a.queue.AddAfter(uid, wait)
	}
}
