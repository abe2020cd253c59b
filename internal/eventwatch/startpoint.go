package eventwatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/kubeclient"
)

// If a namespace has at most maxHistory Events, a watch can begin with all existing Events of the namespace. The API
// server has no watch cache for Events, so it reads all existing Events from etcd. To read maxHistory Events, the API
// server needs about 10 ms of CPU time.
const maxHistory = 1000

// largeFor is how long the agent assumes that a namespace still has more than maxHistory Events.
const largeFor = time.Minute

// maxJitter limits the random wait before the agent opens a watch with an unknown start revision. maxJitter also limits
// the random wait before the agent takes a sample that is not urgent (see requestSample). When a new version of the
// agent rolls out, many agents open watches with an unknown start revision at the same time.
const maxJitter = 2 * time.Second

// startPoint is the point at which a watch begins.
type startPoint struct {
	position
	// history is true if the watch begins with all Events that the API server holds.
	history bool
	// gap is true if the watch skips the earlier Events of its pods. The watch skips these Events if the API server
	// would have to read too many Events.
	gap bool
}

// listOptions returns the list options of a watch that begins at the point b.
func (b startPoint) listOptions(selector string) metav1.ListOptions {
	options := metav1.ListOptions{FieldSelector: selector}
	if !b.history {
		options.ResourceVersion = strconv.FormatUint(b.revision, 10)
	}
	return options
}

// errSlowList means that the API server did not respond to a list of one Event in time.
var errSlowList = errors.New("list events: no response from the API server")

// errNotNeeded means that a shared watch no longer serves any pod.
var errNotNeeded = errors.New("no pod needs this Event watch")

// startOf returns the point at which a watch must begin. If a pod needs a sample of the current revision (see type
// revisions), startOf waits for this sample.
func (s *Source) startOf(lease context.Context, w *watcher) (startPoint, error) {
	for {
		if w.alone == nil && s.stopIfUnused(w) {
			return startPoint{}, errNotNeeded
		}
		from, wait := s.positionFor(w)
		switch {
		case from.revision != 0:
			return startPoint{position: from}, nil
		case wait == nil:
			return s.startWithoutPosition(lease, w)
		}
		select {
		case <-wait:
		case <-lease.Done():
			return startPoint{}, lease.Err()
		}
	}
}

// positionFor returns the earliest known position of the pods that the watch serves. If a pod must wait for a sample of
// the current revision (see type revisions), positionFor also returns a channel. The channel is closed when the sample
// is complete or has failed.
func (s *Source) positionFor(w *watcher) (earliest position, wait <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range w.requests() {
		switch s.setPosition(p); {
		case p.position != nil:
			if earliest.revision == 0 || p.position.revision < earliest.revision {
				earliest = *p.position
			}
		case !p.arrivedAt.IsZero():
			s.requestSample(true)
			wait = s.revisions.changed
		}
	}
	return earliest, wait
}

// If the agent took a usable sample near the time of the pod's arrival (see sampleBefore), setPosition sets the pod's
// position to this sample. If no usable sample exists, and a new sample would be too late (maxAfter), setPosition
// clears arrivedAt. The caller must hold the lock.
func (s *Source) setPosition(p *request) {
	if p.position != nil || p.arrivedAt.IsZero() {
		return
	}
	if at, ok := s.revisions.sampleBefore(p.arrivedAt); ok {
		p.position = &at
	} else if s.config.Now().Sub(p.arrivedAt) > maxAfter {
		p.arrivedAt = time.Time{}
	}
}

// requestSampleFor requests a sample of the current revision if no earlier sample is usable for the pod.
// requestSampleFor requests the sample even if the watch still waits for a slot, because a watch that begins at a
// sample from after the wait could miss Events of the pod. In a costly namespace, the pod's watch cannot open soon, so
// the pod needs no sample. The caller must hold the lock.
func (s *Source) requestSampleFor(p *request) {
	if s.costly.has(p.watch.Namespace, s.config.Now()) {
		return
	}
	if s.setPosition(p); p.position == nil && !p.arrivedAt.IsZero() {
		s.requestSample(true)
	}
}

// startWithoutPosition returns the start point of a watch whose pods have no position. If the namespace has few Events,
// the watch begins with all existing Events. If the namespace has many Events, the watch skips the earlier Events, and
// begins at the oldest recent sample. If there is no recent sample, or if an earlier start revision of the watch has
// expired (see watcher.expiries), the watch begins at the current revision.
func (s *Source) startWithoutPosition(ctx context.Context, w *watcher) (startPoint, error) {
	recent, known := s.oldestRecentSample()
	if s.jitter > 0 && !backoff.Sleep(ctx, rand.N(s.jitter)) {
		return startPoint{}, ctx.Err()
	}
	from, large, err := s.sizeOf(ctx, w.namespace)
	switch {
	case apierrors.IsForbidden(err): // earlier versions of the ClusterRole do not allow lists of Events
		return startPoint{history: true}, nil
	case err != nil:
		return startPoint{}, err
	case !large:
		return startPoint{position: position{revision: from.revision}, history: true}, nil
	}
	if known && w.expiries == 0 { // if an earlier start revision has expired, the recent sample might have expired too
		from = recent
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range w.requests() {
		if p.position == nil {
			p.position = &position{from.revision, observedSince(from, p), true}
		}
	}
	return startPoint{position: from, gap: true}, nil
}

// oldestRecentSample returns the oldest sample at which a watch can begin (see maxBefore).
func (s *Source) oldestRecentSample() (position, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.config.Now()
	for _, sample := range s.revisions.samples {
		if now.Sub(sample.since).Abs() <= maxBefore {
			return sample, true
		}
	}
	return position{}, false
}

// observedSince returns the time after which a watch delivers all Events about a pod. The watch begins at the given
// position. If the agent learned this position at most maxBefore before it requested the pod's Events, the result is
// the position's time. If the wall clock shows more than maxBefore from the position to the request, the clock was set.
// Then, and if the position is newer than the request, the result is the later of the two times (see laterByWallClock).
func observedSince(from position, p *request) time.Time {
	if from.since.Before(p.requestedAt) && p.requestedAt.Round(0).Sub(from.since.Round(0)) <= maxBefore {
		return from.since
	}
	return laterByWallClock(from.since, p.requestedAt)
}

// healthText returns the health status of an open watch.
func (s *Source) healthText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listRefused != "" {
		return "watching, but new watches cannot begin when their pods arrive: list events: " + s.listRefused
	}
	return "watching"
}

// laterByWallClock compares two times by the wall clock, and returns the later time. The time a is the current time,
// and the time b is the time of the request for the pod's Events. If the clock was set back after the request, the
// current time can be earlier than the start of the pod. If observedSince then returned the current time, the agent
// would not notice that Events of the start-up are missing.
func laterByWallClock(a, b time.Time) time.Time {
	if a.Round(0).Before(b.Round(0)) { // Round removes the reading of the monotonic clock
		return b
	}
	return a
}

// sizeOf returns the current position, and whether a namespace has more than maxHistory Events. The API server counts
// the Events without reading them, but even the count takes time in a large namespace. To avoid repeated counts, sizeOf
// remembers large namespaces.
func (s *Source) sizeOf(ctx context.Context, namespace string) (at position, large bool, err error) {
	if large = s.isLarge(namespace); !large {
		at, large, err = s.countEvents(ctx, namespace)
	}
	if err == nil && at.revision == 0 {
		at, err = s.takeSampleFor(ctx, namespace)
	}
	return at, large, err
}

// countEvents reports whether a namespace has more than maxHistory Events. To find out, countEvents requests a list
// with at most one Event. The response also contains the number of further Events. Even one Event can be large, so only
// one goroutine at a time requests such a list. The timeout of the list is sampleInterval, so a slow namespace does not
// block other namespaces for long. After a timeout, countEvents takes a sample of the revision instead. If this sample
// succeeds, the namespace counts as large. If the namespace is already known to be large, countEvents returns no
// position.
func (s *Source) countEvents(ctx context.Context, namespace string) (at position, large bool, err error) {
	if err := s.sizing.Acquire(ctx, 1); err != nil {
		return position{}, false, err
	}
	defer s.sizing.Release(1)
	if s.isLarge(namespace) {
		return position{}, true, nil
	}
	at, number, err := s.listOneEvent(ctx, namespace)
	large = number > maxHistory
	if errors.Is(err, errSlowList) {
		large = true
		at, err = s.takeSampleFor(ctx, namespace)
	}
	if err == nil && large {
		s.markLarge(namespace)
	}
	return at, large, err
}

// listOneEvent returns the number of Events in a namespace, and the revision of the response. If the API server does
// not respond within sampleInterval, the error is errSlowList. The caller must hold Source.sizing.
func (s *Source) listOneEvent(ctx context.Context, namespace string) (at position, number int64, err error) {
	limited, cancel := context.WithTimeout(ctx, sampleInterval)
	defer cancel()
	events := kubeclient.Resource{Client: s.config.Client, Namespace: namespace, Name: "events"}
	list, err := events.List(limited, metav1.ListOptions{Limit: 1})
	switch {
	case err != nil && limited.Err() != nil && ctx.Err() == nil:
		return position{}, 0, errSlowList
	case err != nil:
		return position{}, 0, fmt.Errorf("list events: %w", err)
	}
	at, omitted, err := s.positionOf(list)
	return at, int64(meta.LenList(list)) + omitted, err
}

func (s *Source) isLarge(namespace string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.large.has(namespace, s.config.Now())
}

func (s *Source) markLarge(namespace string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.large.set(namespace, s.config.Now().Add(largeFor))
}

// dropExpired handles the error that the API server no longer holds the revision at which a watch begins. If a pod of
// the watch has a position at or before this revision, dropExpired deletes the pod's position. So the next watch does
// not begin at this revision again. At the second expired revision in a row, dropExpired deletes all positions that are
// older than maxBefore. dropExpired returns false for every other error, and for a watch that began with all existing
// Events.
func (s *Source) dropExpired(w *watcher, from startPoint, err error) bool {
	if from.history || !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
		return false
	}
	s.metrics.expired.Inc()
	w.expiries++
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range w.requests() {
		if p.position == nil {
			continue
		}
		// If two start revisions of the watch in a row had expired, the revisions of all old positions have probably
		// expired too.
		old := s.config.Now().Sub(p.position.since) > maxBefore
		if p.position.revision <= from.revision || w.expiries > 1 && old {
			p.forgetPosition()
		}
	}
	return true
}

// deliversAll reports whether a watch delivers every Event about a pod, except Events that the agent has already
// observed.
func (s *Source) deliversAll(from startPoint, openedAt time.Time, p *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.position == nil && !from.history && !p.arrivedAt.IsZero() && p.arrivedAt.Sub(openedAt) >= usualAge {
		p.position = &position{revision: from.revision, since: openedAt} // the watch was open before the pod arrived
	}
	s.setPosition(p)
	return from.history || p.position != nil && p.position.revision >= from.revision
}

// awaitsSample reports whether the pod's position will come from a sample of the revision. If the result is true,
// awaitsSample also requests the sample.
func (s *Source) awaitsSample(p *request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requestSampleFor(p)
	return p.position == nil && !p.arrivedAt.IsZero()
}

// advancePosition records that the agent has observed all Events about the pod up to the given revision. If history is
// true, no Event from before the revision is missing. advancePosition returns the new position. If history is false and
// the pod has no position, the result "known" is false. If "known" is false, the agent cannot know whether it lacks
// Events of the pod. For example, a pod has no position after its position expired.
func (s *Source) advancePosition(p *request, revision uint64, history bool) (now position, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.position == nil && !history:
		return position{}, false
	case p.position == nil && revision == 0:
		return position{}, true // the revision is unknown, for example without permission to list Events
	case p.position == nil:
		p.position = &position{}
	}
	p.position.revision = max(p.position.revision, revision)
	if history && revision > 0 {
		p.position.since, p.position.limited = time.Time{}, false
	}
	return *p.position, true
}
