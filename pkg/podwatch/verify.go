package podwatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/backoff"
	"github.com/podlapse/podlapse/internal/health"
	"github.com/podlapse/podlapse/internal/kubeclient"
)

const (
	// verifyPage and verifyPages limit the pods in one comparison. A kubelet runs several hundred pods.
	verifyPage, verifyPages = 100, 50
	// verifyPatience is the maximum delay of the watch behind a list. After a longer delay, the watch counts as
	// wrong.
	verifyPatience = 5 * time.Second
)

// Verify configures the comparison of the watched pods with the API server's list. Without an interval, there is
// no comparison, and the other fields are not used.
type Verify struct {
	// Interval is the mean time between comparisons. Each interval varies by up to a tenth. The first comparison is
	// at a random time within the first interval.
	Interval   time.Duration
	Report     health.Report // receives the result of each comparison
	Registerer prometheus.Registerer
}

// verify compares at intervals until ctx ends.
func (p *Pods) verify(ctx context.Context) {
	interval := p.config.Verify.Interval
	wait := rand.N(interval) // spreads the requests of agents that start at the same time
	for backoff.Sleep(ctx, wait) {
		p.verifyOnce(ctx)
		wait = interval*9/10 + rand.N(interval/5)
	}
}

var errWatchNotOpen = errors.New("the watch was not open for long enough to compare the pods")

func (p *Pods) verifyOnce(ctx context.Context) {
	found, err := p.compare(ctx)
	switch {
	case ctx.Err() != nil:
	case errors.Is(err, errWatchNotOpen):
		p.verified.skipped.Inc()
	case err != nil:
		p.verified.failed.Inc()
		p.config.Verify.Report(false, "compare pods with a list: "+kubeclient.Explain(err, p.remedy()))
	default:
		p.verified.add(found)
		p.config.Objects.verify(found.at)
		if found.missing+found.extra+found.stale > 0 {
			p.config.Verify.Report(false, fmt.Sprintf("repaired: the watch missed %d pods, %d deletions and %d changes",
				found.missing, found.extra, found.stale))
			return
		}
		p.config.Verify.Report(true, fmt.Sprintf("%d pods match the API server's list", found.pods))
	}
}

// compare lists the pods and finds changes that the watch has not reported. It waits for the watch, and then lists
// again the pods that still differ. It counts and observes the differences that the two lists show and that the watch
// did not report in the meantime.
func (p *Pods) compare(ctx context.Context) (findings, error) {
	if !p.isWatched() {
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
	if !p.isWatched() {
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

// isWatched reports whether the watch is open and has had time to report all changes.
func (p *Pods) isWatched() bool {
	return p.synced.Load() && p.open.Load() && p.config.Now().Sub(time.Unix(0, p.openedAt.Load())) >= p.patience
}

// listPages requests the list of pods as of the time of the request or later. Without a resource version, the API
// server checks whether its watch cache is behind. The API server makes no such check for a watch.
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
	return fmt.Errorf("list pods: the node has more pods than the limit of %d", verifyPage*verifyPages)
}
