package podwatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/kubeclient"
)

const (
	// verifyPage and verifyPages limit what one comparison requests: the kubelet runs some hundred
	// pods.
	verifyPage, verifyPages = 100, 50
	// verifyPatience is how long the watch may lag behind a list before it counts as wrong.
	verifyPatience = 5 * time.Second
)

// Verify configures the comparison of the pods from the watch with those that the API server lists.
type Verify struct {
	Interval time.Duration // between comparisons, plus or minus a tenth, the first at a random time within it; 0: never
	Report   health.Report // gets the result of each; required unless never
}

// Verification is what comparisons found so far.
type Verification struct {
	Complete uint64 // comparisons with a result
	Failed   uint64 // comparisons that got no response from the API server
	Skipped  uint64 // comparisons while the watch was not open for long enough to be judged
	// Differences that were found and repaired: pods that the watch never reported, pods whose
	// removal it never reported, and pods whose change it never reported.
	Missing, Extra, Stale uint64
	VerifiedAt            time.Time // the time for which the latest result is right; zero for never
}

// verifications counts, for any goroutine.
type verifications struct {
	mu sync.Mutex
	Verification
}

func (v *verifications) add(change func(*Verification)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change(&v.Verification)
}

// Verification returns what comparisons found so far. It may be called from any goroutine.
func (p *Pods) Verification() Verification {
	p.verified.mu.Lock()
	defer p.verified.mu.Unlock()
	return p.verified.Verification
}

// verify compares until ctx ends.
func (p *Pods) verify(ctx context.Context) {
	interval := p.config.Verify.Interval
	wait := rand.N(interval) // spreads agents that start together
	for backoff.Sleep(ctx, wait) {
		p.verifyOnce(ctx)
		wait = interval*9/10 + rand.N(interval/5)
	}
}

var errWatchNotOpen = errors.New("the watch was not open long enough to compare")

func (p *Pods) verifyOnce(ctx context.Context) {
	found, err := p.compare(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errWatchNotOpen):
		p.verified.add(func(v *Verification) { v.Skipped++ })
	case err != nil:
		p.verified.add(func(v *Verification) { v.Failed++ })
		p.config.Verify.Report(false, "compare pods with a list: "+kubeclient.Explain(err, p.remedy()))
	default:
		p.verified.add(func(v *Verification) {
			v.Complete++
			v.Missing += uint64(found.missing)
			v.Extra += uint64(found.extra)
			v.Stale += uint64(found.stale)
			v.VerifiedAt = found.at
		})
		p.config.Objects.verify(found.at)
		if found.missing+found.extra+found.stale > 0 {
			p.config.Verify.Report(false, fmt.Sprintf("repaired: the watch missed %d pods, %d deletions and %d changes",
				found.missing, found.extra, found.stale))
			return
		}
		p.config.Verify.Report(true, fmt.Sprintf("%d pods match the API server's list", found.pods))
	}
}

// findings are the results of one comparison.
type findings struct {
	at                    time.Time
	pods                  int
	missing, extra, stale int
}

// compare lists the pods, finds what the watch has not reported, waits for the watch, and lists
// again what is still open. What two lists show and the watch in between does not is counted, and
// observed in place of the watch.
func (p *Pods) compare(ctx context.Context) (findings, error) {
	if !p.watched() {
		return findings{}, errWatchNotOpen
	}
	found := findings{at: p.config.Now()}
	first := listing{versions: map[string]string{}}
	if err := p.listPages(ctx, &first); err != nil {
		return findings{}, err
	}
	found.pods = len(first.versions)
	if open := p.store.differences(first); len(open) == 0 {
		return found, nil
	}
	if !backoff.Sleep(ctx, p.patience) {
		return findings{}, ctx.Err()
	}
	if !p.watched() {
		return findings{}, errWatchNotOpen
	}
	open := p.store.differences(first)
	if len(open) == 0 {
		return found, nil
	}
	second := listing{versions: map[string]string{}, keep: open, objects: map[string]*arrival{}}
	if err := p.listPages(ctx, &second); err != nil {
		return findings{}, err
	}
	p.store.repair(first, second, &found)
	return found, nil
}

// watched reports whether the watch is open and had time to report everything.
func (p *Pods) watched() bool {
	return p.synced.Load() && p.open.Load() && p.config.Now().Sub(time.Unix(0, p.openedAt.Load())) >= p.patience
}

// listing is what the API server listed.
type listing struct {
	version  string            // of the list
	versions map[string]string // of the pods, by UID
	keep     map[string]bool   // UIDs of pods whose objects are wanted
	objects  map[string]*arrival
}

// listPages lists the current state or a newer one: without a resource version, the API server
// checks whether its watch cache is behind. A watch does not check that.
func (p *Pods) listPages(ctx context.Context, into *listing) error {
	options := metav1.ListOptions{FieldSelector: p.selector(), Limit: verifyPage}
	for range verifyPages {
		page, err := p.resource.list(ctx, options, func(pod *corev1.Pod) {
			into.versions[string(pod.UID)] = pod.ResourceVersion
			if into.keep[string(pod.UID)] {
				into.objects[string(pod.UID)] = p.arrive(pod)
			}
		})
		if err != nil {
			return err
		}
		into.version = page.ResourceVersion
		if options.Continue = page.Continue; options.Continue == "" {
			return nil
		}
	}
	return fmt.Errorf("list pods: more than the limit of %d", verifyPage*verifyPages)
}

// differences returns the UIDs of pods for which the list has something that the watch has not
// reported.
func (s *store) differences(list listing) map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	open := map[string]bool{}
	for uid := range list.versions {
		if s.missing(uid, list) || s.stale(uid, list) {
			open[uid] = true
		}
	}
	for uid := range s.seen {
		if s.extra(uid, list) {
			open[uid] = true
		}
	}
	return open
}

// missing reports whether a list has a pod that the watch has not reported, or whose removal it has
// reported since: a second list decides.
func (s *store) missing(uid string, list listing) bool {
	_, listed := list.versions[uid]
	_, seen := s.seen[uid]
	return listed && !seen
}

// stale reports whether a list has a later version than the watch has reported.
func (s *store) stale(uid string, list listing) bool {
	_, seen := s.seen[uid]
	return seen && before(s.ledger.versions[uid], list.versions[uid])
}

// extra reports whether a list lacks a pod that the watch had reported before.
func (s *store) extra(uid string, list listing) bool {
	_, listed := list.versions[uid]
	return !listed && before(s.ledger.versions[uid], list.version)
}

// repair observes what two lists show and the watch between them did not.
func (s *store) repair(first, second listing, found *findings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.pods.config.Now()
	for uid := range second.keep {
		object := second.objects[uid]
		switch {
		case s.missing(uid, first) && object != nil:
			found.missing++
			s.ledger.removeTombstone(uid)
			s.observe(object, now, false)
		case s.stale(uid, first) && object != nil:
			found.stale++
			s.observe(object, now, false)
		case s.extra(uid, first) && s.extra(uid, second):
			found.extra++
			s.gone(uid, now, false)
			s.ledger.addTombstone(uid)
		}
	}
}
