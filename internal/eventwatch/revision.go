package eventwatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
)

// Limits on samples. A sample contains a revision (resource version) of the API server's Events, and the time at which
// the agent received this revision.
const (
	// sampleInterval is the minimum time between the latest sample and a new request for a sample. If a pod arrives
	// less than sampleInterval after a sample, the agent takes no further sample for this pod.
	sampleInterval = 5 * time.Second
	// The agent also takes samples from the Events of open watches. eventInterval is the minimum time between the
	// latest sample and a new sample from an Event.
	eventInterval = usualAge
	// When a pod arrives, a sample should be at least usualAge old. If a sample is at least usualAge old, the agent
	// assumes that the sample is older than all Events of the pod. A sample that is younger than usualAge might be
	// newer than the pod's first Event. There are two reasons: the kubelet's timestamps have a resolution of one
	// second, and the pod watch can deliver the pod late. If all usable samples are younger than usualAge, the Event
	// watch begins at the oldest usable sample.
	usualAge = 2 * time.Second
	// When a pod arrives, a sample is usable only if its age is at most maxBefore. If a watch begins at an older
	// revision, etcd must read more revisions.
	maxBefore = 12 * time.Second
	// A new sample is usable for a pod only if the agent takes it within maxAfter of the pod's arrival. The kubelet
	// takes a few tenths of a second to create the pod's first Event.
	maxAfter = time.Second
	// likelyFor is how long the agent takes samples for new pods after a request for a pod's Events. If no start-up on
	// a node needs Events, the agent takes no samples. For example, a start-up might need no Events if all images are
	// already on the node.
	likelyFor = 5 * time.Minute
	// maxSampleAge is how long the agent keeps a sample. maxSampleAge is shorter than the interval at which the API
	// server compacts etcd (--etcd-compaction-interval).
	maxSampleAge = 4 * time.Minute
)

// To take a sample, the agent requests a list with a field selector for the name of one Event. With this field
// selector, etcd reads only one key, even if the namespace contains many Events. The Event that sampleSelector names
// does not need to exist. The namespace sampleNamespace exists in every cluster.
const (
	sampleNamespace = "kube-node-lease"
	sampleSelector  = "metadata.name=podlapse-revision"
)

var errNoRevision = errors.New("the API server's response has no resource version")

// position contains a revision (resource version) of the API server's Events at which a watch can begin. If a pod has a
// position, the agent has observed all Events about the pod from the time `since` up to the revision.
type position struct {
	revision uint64
	since    time.Time // on the agent's clock; zero if the agent has observed all Events up to the revision
	// limited is true if the agent did not read the Events that are older than the time `since`, because the namespace
	// is large.
	limited bool
}

// revisions holds the latest samples. The lock of Source guards revisions.
type revisions struct {
	samples []position // oldest first
	pending bool       // true from the request for a sample until the result arrives
	// changed is closed and replaced when a sample is complete or has failed.
	changed chan struct{}
	wake    chan struct{} // wakes the goroutine that takes samples; has capacity 1
	urgent  chan struct{} // ends the random wait before the sample; has capacity 1
}

func newRevisions() revisions {
	return revisions{changed: make(chan struct{}), wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1)}
}

// For a pod that arrived at arrivedAt, sampleBefore returns the sample at which the pod's watch must begin.
// sampleBefore chooses the newest usable sample that was at least usualAge old when the pod arrived. If all usable
// samples were younger than usualAge, sampleBefore chooses the oldest usable sample.
func (r *revisions) sampleBefore(arrivedAt time.Time) (position, bool) {
	var best position
	for _, sample := range r.samples {
		age := arrivedAt.Sub(sample.since)
		if age > maxBefore || age < -maxAfter {
			continue
		}
		if best.revision == 0 || age >= usualAge {
			best = sample
		}
	}
	return best, best.revision != 0
}

// latest returns the latest sample if its age is at most the parameter oldest.
func (r *revisions) latest(now time.Time, oldest time.Duration) (position, bool) {
	n := len(r.samples)
	if n == 0 || now.Sub(r.samples[n-1].since).Abs() > oldest {
		return position{}, false
	}
	return r.samples[n-1], true
}

// add adds a sample, and removes the samples that are too old.
func (r *revisions) add(p position) {
	for len(r.samples) > 0 && p.since.Sub(r.samples[0].since).Abs() > maxSampleAge {
		r.samples = r.samples[1:]
	}
	r.samples = append(r.samples, p)
}

// recordRevision stores the revision of a new Event as a sample. So while a watch delivers Events, the agent does not
// need to request samples. recordRevision takes the lock.
func (s *Source) recordRevision(revision uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, now := &s.revisions, s.config.Now()
	if n := len(r.samples); n > 0 &&
		(now.Sub(r.samples[n-1].since).Abs() < eventInterval || revision <= r.samples[n-1].revision) {
		return
	}
	r.add(position{revision: revision, since: now})
}

// PodStarting requests a sample if a pod that starts now is likely to need the sample. The agent calls PodStarting as
// soon as the pod watch delivers a new pod. A later sample might be newer than the pod's first Events. PodStarting does
// not block. While no pods start, PodStarting requests no samples.
func (s *Source) PodStarting() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, n := s.config.Now(), len(s.revisions.samples)
	if now.Sub(s.requestedAt).Abs() <= likelyFor &&
		(n == 0 || now.Sub(s.revisions.samples[n-1].since).Abs() >= sampleInterval) {
		_, covered := s.revisions.sampleBefore(now)
		s.requestSample(!covered)
	}
}

// requestSample wakes the goroutine that takes samples. The parameter urgent is false if an earlier sample is usable
// for the new pod. If urgent is false, the goroutine first waits for a random duration. The random wait spreads the
// load when the pods of a new DaemonSet arrive on all nodes at the same time. An urgent sample must be complete before
// the kubelet creates the pod's first Events, so the goroutine does not wait. The caller must hold the lock of Source.
func (s *Source) requestSample(urgent bool) {
	if urgent {
		signal(s.revisions.urgent)
	}
	if !s.revisions.pending {
		s.revisions.pending = true
		signal(s.revisions.wake)
	}
}

// takeSamples takes the requested samples until ctx is done.
func (s *Source) takeSamples(ctx context.Context) {
	for {
		select {
		case <-s.revisions.wake:
		case <-ctx.Done():
			return
		}
		s.awaitJitter(ctx)
		p, err := s.takeSample(ctx, sampleNamespace)
		if ctx.Err() != nil {
			return
		}
		s.storeSample(p, err)
	}
}

// awaitJitter waits for a random duration, or until an urgent sample is requested.
func (s *Source) awaitJitter(ctx context.Context) {
	if s.jitter <= 0 {
		return
	}
	timer := time.NewTimer(rand.N(s.jitter))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.revisions.urgent:
	case <-ctx.Done():
	}
}

// takeSample requests the current revision with a list in the given namespace, and counts the request.
func (s *Source) takeSample(ctx context.Context, namespace string) (position, error) {
	limited, cancel := context.WithTimeout(ctx, sampleInterval)
	defer cancel()
	events := kubeclient.Resource{Client: s.config.Client, Namespace: namespace, Name: "events"}
	var p position
	list, err := events.List(limited, metav1.ListOptions{FieldSelector: sampleSelector, Limit: 1})
	if err == nil {
		p, _, err = s.positionOf(list)
	}
	switch {
	case err == nil:
		s.metrics.samples.taken.Inc()
	case ctx.Err() == nil:
		s.metrics.samples.failed.Inc()
		err = fmt.Errorf("list events: %w", err)
	}
	return p, err
}

// takeSampleFor takes a sample for a watch on the given namespace. If the agent has no permission to list Events in
// sampleNamespace, takeSampleFor uses the namespace of the watch. For a watch on all namespaces, takeSampleFor returns
// the error, because a list in all namespaces would read all Events.
func (s *Source) takeSampleFor(ctx context.Context, namespace string) (position, error) {
	p, err := s.takeSample(ctx, sampleNamespace)
	if apierrors.IsForbidden(err) && namespace != "" {
		return s.takeSample(ctx, namespace)
	}
	return p, err
}

// positionOf returns the revision of a list of Events and the current time as a position. positionOf also returns the
// number of Events that the list omits because of the request's limit.
func (s *Source) positionOf(list any) (p position, omitted int64, err error) {
	meta, ok := list.(metav1.ListMetaAccessor)
	if !ok {
		return position{}, 0, errNoRevision
	}
	revision := revisionOf(meta.GetListMeta().GetResourceVersion())
	if revision == 0 {
		return position{}, 0, errNoRevision
	}
	if n := meta.GetListMeta().GetRemainingItemCount(); n != nil {
		omitted = *n
	}
	return position{revision: revision, since: s.config.Now()}, omitted, nil
}

// storeSample stores a sample. If err is not nil, the request for the sample has failed. After a failed request, pods
// without a usable earlier sample stop waiting, and their watches begin without a sample.
func (s *Source) storeSample(p position, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := &s.revisions
	r.pending = false
	select {
	case <-r.urgent: // the result also answers an urgent request, so remove the request
	default:
	}
	if err != nil {
		for _, request := range s.requests {
			if s.setPosition(request); request.position == nil {
				request.arrivedAt = time.Time{}
			}
		}
		if apierrors.IsForbidden(err) {
			s.listRefused = kubeclient.Explain(err, remedy)
		}
	} else {
		s.listRefused = ""
		r.add(p)
	}
	close(r.changed)
	r.changed = make(chan struct{})
	for _, w := range s.shared {
		w.refresh()
	}
}

// revisionOf parses a resource version. revisionOf returns zero if the version is not a number.
func revisionOf(version string) uint64 {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
