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
	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// Remedies for requests that the API server refuses.
const (
	remedyPods   = "allow the ServiceAccount to list and watch pods, or use --impersonate-node=on"
	remedyAsNode = "allow impersonate:associated-node (Kubernetes 1.36 or newer), or use --impersonate-node=off"
)

// Config configures the type Pods. Every field is required except Known, AsNode, Traits, Terminations, Keeper,
// Follower, Delays and Verifier.
type Config struct {
	Client   rest.Interface
	NodeName string // node whose pods the source observes
	// Observe receives PodSeen and PodGone, one at a time and in order. While Observe blocks, later events wait in
	// the connection to the API server. Observe must return when the context ends.
	Observe func(context.Context, timeline.Observation)
	// Report receives the status of the pod watch: whether the watch works, and a text for people. Report must not
	// block, and must be safe for concurrent use.
	Report func(up bool, detail string)
	Now    func() time.Time
	// Known lists the UIDs of pods that a previous agent observed. Known can be empty. If the first list does not
	// contain a known pod, the type Pods passes PodGone for this pod to Observe.
	Known []string
	// AsNode must be true if the client impersonates the user of its node, system:node:NodeName (Kubernetes 1.36 or
	// newer). If AsNode is true and the API server refuses a request, the error names the permission to impersonate the
	// node.
	AsNode bool
	// If Traits is true, PodSeen includes timeline.Pod.Traits. Only some record formats need the traits.
	Traits bool
	// If Terminations is true, PodSeen includes the progress of the pod's deletion. If Terminations is true, Observe
	// also receives changes that affect only the progress of a deletion.
	Terminations bool
	// Keeper keeps whole objects. Keeper can be nil.
	Keeper Keeper
	// Follower receives a small copy of each object. Follower can be nil.
	Follower Follower
	// Delays receives the changes that the watch delivers. Delays can be nil.
	Delays Delays
	// Verifier compares the pods from the watch with lists from the API server. Verifier can be nil.
	Verifier Verifier
}

// Pods is the source that observes the pods of one node. The type Pods does not keep whole pod objects.
type Pods struct {
	config   Config
	resource podResource
	restarts *restartCounter
	store    *podStore
	synced   atomic.Bool  // true after a list or after the initial events of a watch
	proven   atomic.Bool  // synced is true, and the watch has stayed open for kubeclient.ProvenAfter
	openedAt atomic.Int64 // when the current watch opened, on the agent's clock in Unix nanoseconds

	open atomic.Bool // whether the watch is open
}

// NewPods creates a source of the observations PodSeen and PodGone.
func NewPods(config Config) *Pods {
	if config.Follower == nil {
		config.Follower = noFollower{}
	}
	if config.Delays == nil {
		config.Delays = noDelays{}
	}
	whole := config.Keeper != nil
	if !whole {
		config.Keeper = noKeeper{}
	}
	if config.Verifier == nil {
		config.Verifier = noVerifier{}
	}
	p := &Pods{
		config:   config,
		resource: newPodResource(config.Client, whole),
		restarts: newRestarts(config.Follower.Restarted),
	}
	p.store = newStore(p)
	return p
}

// Restarts returns how often the kubelet has restarted containers since the agent first saw their pods, by kind and
// reason. If a pair of kind and reason is absent, its count is zero. The counts do not include restarts that happened
// while no agent ran. Any goroutine can call Restarts.
func (p *Pods) Restarts() map[RestartKey]uint64 { return p.restarts.copyCounts() }

// Run observes pods until ctx ends, and always returns nil. Callers must call Run only once.
func (p *Pods) Run(ctx context.Context) error {
	// The reflector must not log, because it would log each retry. Instead, the health board (package internal/health)
	// logs only changes of the state.
	ctx = klog.NewContext(ctx, logr.Discard())
	discard := logr.Discard()
	p.store.ctx = ctx
	if p.config.Verifier != (noVerifier{}) {
		var verifier sync.WaitGroup
		verifier.Go(func() { p.config.Verifier.Run(ctx, p) })
		defer verifier.Wait()
	}
	retries := kubeclient.Retries()
	reflector := cache.NewReflectorWithOptions(p, &corev1.Pod{}, p.store, cache.ReflectorOptions{
		Name:    "pods",
		Logger:  &discard,
		Backoff: &wait.Backoff{Duration: retries.First, Factor: 2, Jitter: 0.5, Steps: 6, Cap: retries.Max},
	})
	for failures := 0; ; failures++ {
		p.synced.Store(false)
		p.proven.Store(false)
		err := reflector.ListAndWatchWithContext(ctx)
		p.config.Keeper.Connected(false)
		if ctx.Err() != nil {
			return nil
		}
		// Only a watch that stays open resets the back-off. A successful list does not reset the back-off. If a list
		// reset the back-off, an agent with permission to list but not to watch would list pods twice a second.
		if p.proven.Load() {
			failures = 0
		}
		if err != nil {
			p.config.Report(false, kubeclient.Explain(err, p.remedy()))
		}
		if !backoff.Sleep(ctx, retries.Delay(failures)) {
			return nil
		}
	}
}

// onSynced receives the number of pods in a list or in the initial events of a watch.
func (p *Pods) onSynced(count int) {
	p.synced.Store(true)
	p.config.Keeper.Connected(true)
	p.config.Report(true, fmt.Sprintf("watching: the latest list had %d pods", count))
}

// ListWithContext implements cache.ListerWatcherWithContext.
func (p *Pods) ListWithContext(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	options.FieldSelector = p.selector()
	list := &metainternalversion.List{}
	var err error
	list.ListMeta, err = p.resource.readList(ctx, options, func(pod *corev1.Pod) {
		list.Items = append(list.Items, p.arrive(pod))
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// WatchWithContext implements cache.ListerWatcherWithContext. If SendInitialEvents is set, the reflector treats
// the first events of a watch as a list (streaming lists, the default since client-go 1.35).
func (p *Pods) WatchWithContext(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.FieldSelector = p.selector()
	w, err := p.resource.Watch(ctx, options)
	if err != nil {
		p.config.Keeper.Connected(false)
		if ctx.Err() == nil {
			p.config.Report(false, "watch pods: "+kubeclient.Explain(err, p.remedy()))
		}
		if options.SendInitialEvents != nil {
			// errors.New hides the type of err, so that the reflector does not recognize a refused connection. If the
			// reflector recognized a refused connection, the reflector would wait internally and ignore the end of ctx.
			// After an error of unknown type, the reflector tries a plain list, and returns to Run if the list fails.
			return nil, errors.New(err.Error())
		}
		return nil, err
	}
	p.openedAt.Store(p.config.Now().UnixNano())
	p.open.Store(true)
	p.config.Keeper.Connected(true)
	proof := time.AfterFunc(kubeclient.ProvenAfter, func() {
		if ctx.Err() == nil && p.synced.Load() {
			p.proven.Store(true)
			p.config.Report(true, "watching")
		}
	})
	return kubeclient.OnStop(w, func() { proof.Stop(); p.open.Store(false) }), nil
}

// List implements cache.ListerWatcher. The reflector's constructor requires this method, but the reflector never
// calls List.
func (p *Pods) List(options metav1.ListOptions) (runtime.Object, error) {
	return p.ListWithContext(context.Background(), options)
}

// Watch implements cache.ListerWatcher. The reflector never calls Watch.
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
