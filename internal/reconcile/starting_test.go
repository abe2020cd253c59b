package reconcile

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podlapse/podlapse/pkg/timeline"
)

// The reconciler caches the result of Starting until an observation arrives or the cached result is too old.
func TestStartingIsCachedPerScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, observe, stop := start(t, &desk{}, timeline.Scope{})
		defer stop()
		ask := func() []timeline.Timeline {
			t.Helper()
			all, err := r.Starting(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: object()})
		first := ask()
		time.Sleep(cacheFor)
		if again := ask(); len(first) != 1 || &first[0] != &again[0] {
			t.Errorf("computed twice: %d pods", len(first))
		}
		time.Sleep(time.Nanosecond)
		if later := ask(); later[0].Total != first[0].Total+cacheFor+1 {
			t.Errorf("%s old after %s", later[0].Total, cacheFor+1)
		}
		other := object()
		other.UID, other.Name = "uid-2", "other"
		observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: other})
		if all := ask(); len(all) != 2 {
			t.Errorf("%d pods are starting, want the new one as well", len(all))
		}
	})
}

// A scrape queries the starting pods and their pulls. The reconciler does not fold unchanged pods again. A fold
// takes about twenty allocations for each pod.
func TestScrapeFoldsNoUnchangedPods(t *testing.T) {
	const pods = 500
	synctest.Test(t, func(t *testing.T) {
		r, observe, stop := start(t, &desk{}, timeline.Scope{})
		defer stop()
		for i := range pods {
			pod := object()
			pod.UID, pod.Name = fmt.Sprint("uid-", i), fmt.Sprint("web-", i)
			observe(timeline.PodSeen{ArrivedAt: time.Now(), Live: true, Pod: pod})
		}
		allocations := testing.AllocsPerRun(10, func() {
			time.Sleep(2 * cacheFor)
			starting, err := r.Starting(t.Context())
			pulling, err2 := r.Pulling(t.Context())
			if len(starting) != pods || len(pulling.Timelines) != pods || err != nil || err2 != nil {
				t.Errorf("%d pods are starting, %d may pull, %v, %v", len(starting), len(pulling.Timelines), err, err2)
			}
		})
		t.Logf("%.1f allocations for each of %d pods", allocations/pods, pods)
		if allocations > 5*pods {
			t.Errorf("%.0f allocations", allocations)
		}
	})
}

// When the agent starts, all pods of the node wait for the runtime's responses. A scrape at this time must not fold the
// start-ups that were over long before.
func TestStartingExcludesStartUpsFromBeforeAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		time.Sleep(time.Hour)
		r, observe, stop := start(t, &desk{}, timeline.Scope{Runtime: true, Since: time.Now()})
		defer stop()
		seen := func(name string, readyAt time.Time) {
			pod := object()
			pod.UID, pod.Name, pod.CreatedAt, pod.Conditions = name, name, began, nil
			for _, condition := range []string{"PodScheduled", "Ready"} {
				pod.Conditions = append(pod.Conditions,
					timeline.Condition{Type: condition, True: true, TransitionAt: readyAt})
			}
			observe(timeline.PodSeen{ArrivedAt: time.Now(), Pod: pod})
		}
		seen("old", began)
		seen("lingering", time.Now().Add(-2*time.Second))
		check := func(want string) {
			t.Helper()
			names := ""
			starting, err := r.Starting(t.Context())
			for _, s := range starting {
				names += s.Name + " "
			}
			present, err2 := r.Present(t.Context())
			if names != want || len(present) != 2 || err != nil || err2 != nil {
				t.Errorf("starting: %q of %d pods, want %q, %v, %v", names, len(present), want, err, err2)
			}
		}
		check("lingering ")
		time.Sleep(2 * lingerTime)
		check("")
	})
}
