package podwatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// retries keeps a dead API server from being asked too often, and one that is back from being missed.
var retries = backoff.Policy{First: 500 * time.Millisecond, Max: 15 * time.Second}

// Config is what Pods needs; every field but Known, AsNode, Traits, Ends, Objects, Follower, Delay
// and Verify is required.
type Config struct {
	Client   rest.Interface
	NodeName string // pods bound to this node are observed
	// Observe takes PodSeen and PodGone, one at a time and in order. While it blocks, what follows
	// waits in the connection to the API server; it must return when the context ends.
	Observe func(context.Context, timeline.Observation)
	Report  health.Report
	Now     func() time.Time
	// Known are the UIDs of pods that an agent before this one had; may be empty. Of those that the first
	// list does not have, PodGone is observed.
	Known []string
	// AsNode says that the client was made of AsNode, for the remedy when it is refused.
	AsNode bool
	// Traits says that PodSeen is to carry timeline.Pod.Traits, which only some records need.
	Traits bool
	// Ends says that PodSeen is to carry what kubelet makes of a deletion, which is more news of each pod.
	Ends bool
	// Objects, if set, keeps the objects as well.
	Objects *Objects
	// Follower, if set, is told of the objects as well.
	Follower Follower
	// Delay, if set, is told how late the watch brought a change, by the time that the object
	// itself has for it. That is in whole seconds, so that up to one second of it is none. Where
	// the control plane made the stamp, its clock is compared with the node's.
	Delay func(Change, time.Duration)
	// Verify, if it has an interval, compares what the watch told with lists.
	Verify Verify
}

// Follower is told of the pods of the node, one thing at a time, on a goroutine of Run, for which it must not block. It
// must not keep or change an object. Of an object it gets what slim keeps: metadata within bounds, the node's name, the
// phase, conditions, and restarts.
type Follower interface {
	// Seen gets the object at every change.
	Seen(*corev1.Pod)
	// Restarted gets what Pods.Restarts counts, before Seen.
	Restarted(*corev1.Pod, Restart)
	// Gone says that the object with a UID is no more.
	Gone(uid string)
}

// Pods observes the pods of one node. It keeps of each only what timeline.Pod holds.
type Pods struct {
	config   Config
	resource resource
	restarts *restarts
	store    *store
	synced   atomic.Bool  // a list or the initial events of a watch were taken in
	proven   atomic.Bool  // and a watch has lasted since
	openedAt atomic.Int64 // when the running watch was opened, agent's clock, Unix nanoseconds

	open     atomic.Bool // the watch
	patience time.Duration
	verified verifications
}

// NewPods makes a source of PodSeen and PodGone.
func NewPods(config Config) *Pods {
	if config.Follower == nil {
		config.Follower = nobody{}
	}
	p := &Pods{
		config:   config,
		resource: resource{client: config.Client, name: "pods"},
		restarts: newRestarts(config.Follower.Restarted),
		patience: verifyPatience,
	}
	p.store = newStore(p)
	return p
}

// Restarts is how often kubelet started containers again since the agent first saw their pods; a
// kind and reason that is absent is zero. What happened while no agent ran is not in it. It may be
// called from any goroutine.
func (p *Pods) Restarts() map[RestartKey]uint64 { return p.restarts.counts() }

// Run observes until ctx ends and then returns nil; it never fails. It may be called once.
func (p *Pods) Run(ctx context.Context) error {
	// The reflector words each retry for its own log; the health board tells changes of state.
	ctx = klog.NewContext(ctx, logr.Discard())
	discard := logr.Discard()
	p.store.ctx = ctx
	if p.config.Verify.Interval > 0 {
		var verifier sync.WaitGroup
		verifier.Go(func() { p.verify(ctx) })
		defer verifier.Wait()
	}
	reflector := cache.NewReflectorWithOptions(p, &corev1.Pod{}, p.store, cache.ReflectorOptions{
		Name:    "pods",
		Logger:  &discard,
		Backoff: &wait.Backoff{Duration: retries.First, Factor: 2, Jitter: 0.5, Steps: 6, Cap: retries.Max},
	})
	for failures := 0; ; failures++ {
		p.synced.Store(false)
		p.proven.Store(false)
		err := reflector.ListAndWatchWithContext(ctx)
		p.config.Objects.connect(false)
		if ctx.Err() != nil {
			return nil
		}
		// a list alone is no success: where the watch is refused it would be asked for twice a
		// second
		if p.proven.Load() {
			failures = 0
		}
		if err != nil {
			p.config.Report(false, worded(err, p.remedy()))
		}
		if !backoff.Sleep(ctx, retries.Delay(failures)) {
			return nil
		}
	}
}

// onSynced is told how many pods a list or the initial events of a watch held.
func (p *Pods) onSynced(count int) {
	p.synced.Store(true)
	p.config.Objects.connect(true)
	p.config.Report(true, fmt.Sprintf("watching; the latest list had %d pods", count))
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (p *Pods) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.FieldSelector = p.selector()
	list := &metainternalversion.List{}
	var err error
	list.ListMeta, err = p.resource.listPods(ctx, options, func(pod *corev1.Pod) {
		list.Items = append(list.Items, p.arrive(pod))
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// WatchWithContext implements cache.ListerWatcherWithContext. With SendInitialEvents the reflector
// takes a watch's first events as a list (streaming lists, client-go ≥ 1.35 by default).
func (p *Pods) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = p.selector()
	w, err := p.resource.watch(ctx, options)
	if err != nil {
		p.config.Objects.connect(false)
		if ctx.Err() == nil {
			p.config.Report(false, "watch pods: "+worded(err, p.remedy()))
		}
		if options.SendInitialEvents != nil {
			// For a refused connection the reflector would wait inside, deaf to the end of ctx. An
			// error that it does not know makes it try a plain list and then come back to Run.
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
	p.openedAt.Store(p.config.Now().UnixNano())
	p.open.Store(true)
	p.config.Objects.connect(true)
	proof := time.AfterFunc(provenAfter, func() {
		if ctx.Err() == nil && p.synced.Load() {
			p.proven.Store(true)
			p.config.Report(true, "watching")
		}
	})
	return stoppable{w, func() { proof.Stop(); p.open.Store(false) }}, nil
}

// List implements cache.ListerWatcher, which the reflector's constructor asks for and never uses.
func (p *Pods) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher like List.
func (p *Pods) Watch(options metav1.ListOptions) (watch.Interface, error) {
	return p.WatchWithContext(context.Background(), options)
}

func (p *Pods) remedy() string {
	if p.config.AsNode {
		return remedyAsNode
	}
	return remedyPods
}

func (p *Pods) selector() string {
	return fields.OneTermEqualSelector("spec.nodeName", p.config.NodeName).String()
}

// nobody follows.
type nobody struct{}

func (nobody) Seen(*corev1.Pod)               {}
func (nobody) Restarted(*corev1.Pod, Restart) {}
func (nobody) Gone(string)                    {}
