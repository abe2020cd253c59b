package podverify

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

const (
	// verifyPage is the maximum number of pods in a page of a list. verifyPages is the maximum number of pages in one
	// list. Even a large node has only several hundred pods.
	verifyPage, verifyPages = 100, 50
	// verifyPatience is the minimum time between the two lists of a comparison. In this time, the watch can report the
	// changes that the first list shows. If the watch reports a change later, the change can count as a difference.
	verifyPatience = 5 * time.Second
)

// Config configures a Verifier. Every field is required.
type Config struct {
	// Interval is the mean time between comparisons. Each interval is up to 10 % shorter or longer than the mean. The
	// first comparison starts at a random time within the first interval.
	Interval   time.Duration
	Report     health.Report // receives the result of each comparison
	Registerer prometheus.Registerer
	Now        func() time.Time
}

// Verifier implements podwatch.Verifier.
type Verifier struct {
	*ledger
	config   Config
	verified *comparisonCounts
	patience time.Duration
}

// watched is the part of podwatch.Pods that a Verifier uses.
type watched interface {
	OpenFor(atLeast time.Duration) bool
	ListPage(ctx context.Context, options metav1.ListOptions, take func(*corev1.Pod)) (metav1.ListMeta, error)
	Compact(pod *corev1.Pod) runtime.Object
	Change(change func(podwatch.Changes))
	Verified(at time.Time)
	Explain(err error) string
}

// New creates a Verifier and registers its metrics.
func New(config Config) *Verifier {
	return &Verifier{
		ledger: &ledger{versions: map[string]string{}}, config: config,
		verified: newVerification(config.Registerer), patience: verifyPatience,
	}
}

// Run implements podwatch.Verifier. Run compares the watched pods with a list once per interval until ctx is done.
func (v *Verifier) Run(ctx context.Context, pods *podwatch.Pods) { v.run(ctx, pods) }

func (v *Verifier) run(ctx context.Context, pods watched) {
	interval := v.config.Interval
	wait := rand.N(interval) // spreads the requests of agents that start at the same time
	for backoff.Sleep(ctx, wait) {
		v.verify(ctx, pods)
		wait = interval*9/10 + rand.N(interval/5)
	}
}

var errWatchNotOpen = errors.New("the pod watch was not open for long enough to compare the pods")

// verify makes one comparison and reports the result.
func (v *Verifier) verify(ctx context.Context, pods watched) {
	found, err := v.compareTwice(ctx, pods)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errWatchNotOpen):
		v.verified.skipped.Inc()
	case err != nil:
		v.verified.failed.Inc()
		v.config.Report(false, "compare pods with a list: "+pods.Explain(err))
	default:
		v.verified.add(found)
		pods.Verified(found.at)
		if found.missing+found.extra+found.stale > 0 {
			v.config.Report(false, fmt.Sprintf("repaired: the watch missed %d pods, %d deletions and %d changes",
				found.missing, found.extra, found.stale))
			return
		}
		v.config.Report(true, fmt.Sprintf("%d pods match the API server's list", found.pods))
	}
}

// compareTwice lists the pods and compares the list with the pods in the store. If the list differs from the store,
// compareTwice waits, because the watch might still report the changes. If some pods still differ after this wait,
// compareTwice lists the pods again. Finally, compareTwice repairs and counts each pod whose state in the store differs
// from both lists. If the watch reports a change before the repair, compareTwice does not count this change as a
// difference.
func (v *Verifier) compareTwice(ctx context.Context, pods watched) (findings, error) {
	if !pods.OpenFor(v.patience) {
		return findings{}, errWatchNotOpen
	}
	found := findings{at: v.config.Now()}
	first := listing{versions: map[string]string{}}
	if err := v.listPages(ctx, pods, &first); err != nil {
		return findings{}, err
	}
	found.pods = len(first.versions)
	if open := v.differences(pods, first); len(open) == 0 {
		return found, nil
	}
	if !backoff.Sleep(ctx, v.patience) {
		return findings{}, ctx.Err()
	}
	if !pods.OpenFor(v.patience) {
		return findings{}, errWatchNotOpen
	}
	open := v.differences(pods, first)
	if len(open) == 0 {
		return found, nil
	}
	second := listing{versions: map[string]string{}, keep: open, objects: map[string]runtime.Object{}}
	if err := v.listPages(ctx, pods, &second); err != nil {
		return findings{}, err
	}
	v.repair(pods, first, second, &found)
	return found, nil
}

// listPages lists the pods page by page and adds them to the listing. The requests have no resource version, so the API
// server returns the most recent state. A watch can deliver an older state, because the API server's watch cache can be
// stale.
func (v *Verifier) listPages(ctx context.Context, pods watched, into *listing) error {
	options := metav1.ListOptions{Limit: verifyPage}
	for range verifyPages {
		page, err := pods.ListPage(ctx, options, func(pod *corev1.Pod) {
			into.versions[string(pod.UID)] = pod.ResourceVersion
			if into.keep[string(pod.UID)] {
				into.objects[string(pod.UID)] = pods.Compact(pod)
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
	return fmt.Errorf("list pods: the node has more pods than the limit of %d", verifyPage*verifyPages)
}
