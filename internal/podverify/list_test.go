package podverify

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// listedSource is a source with two pods. The test supplies each page of a list.
type listedSource struct {
	*podwatch.Pods
	closed   bool // whether the watch is closed
	verifier *Verifier
	reported []string // the reports of comparisons

	mu        sync.Mutex
	requested []url.Values
}

// page is one page of a list. If the status is not 200, the page is an error response.
type page struct {
	status  int
	names   []string // pod names, which are also their UIDs
	version string   // version of the list
	more    bool     // another page follows
}

func (p page) String() string {
	if p.status != http.StatusOK {
		return fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"no page","code":%d}`,
			p.status)
	}
	var items []string
	for _, name := range p.names {
		items = append(items, fmt.Sprintf(`{"metadata":{"namespace":"ns","name":%q,"uid":%q,"resourceVersion":"5"}}`,
			name, name))
	}
	next := ""
	if p.more {
		next = "on"
	}
	return fmt.Sprintf(
		`{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":%q,"continue":%q},"items":[%s]}`, p.version,
		next, strings.Join(items, ","))
}

// OpenFor replaces the method of podwatch.Pods, because the source does not run.
func (l *listedSource) OpenFor(time.Duration) bool { return !l.closed }

// count returns the number of watched pods.
func (l *listedSource) count() (pods int) {
	l.Change(func(now podwatch.Changes) {
		for range now.UIDs() {
			pods++
		}
	})
	return pods
}

func responseLists(t *testing.T, response func(requested int) page) *listedSource {
	l := &listedSource{}
	client,
		err := kubeclient.New(&rest.Config{Host: "http://lists",
		Transport: kubeclienttest.RoundTripper(func(r *http.Request) *http.Response {
			l.mu.Lock()
			l.requested = append(l.requested, r.URL.Query())
			requested := len(l.requested)
			l.mu.Unlock()
			p := response(requested)
			recorder := httptest.NewRecorder()
			recorder.Header().Set("Content-Type", "application/json")
			recorder.WriteHeader(p.status)
			fmt.Fprint(recorder, p)
			return recorder.Result()
		})})
	if err != nil {
		t.Fatal(err)
	}
	now := kubeclienttest.Begun()
	l.verifier = New(Config{
		Interval: time.Hour, Registerer: prometheus.NewRegistry(), Now: func() time.Time { return now },
		Report: func(up bool, detail string) { l.reported = append(l.reported, fmt.Sprint(up, " ", detail)) },
	})
	l.verifier.patience = time.Millisecond
	l.Pods = podwatch.NewPods(podwatch.Config{
		Client: client, NodeName: nodeName, Observe: func(context.Context, timeline.Observation) {},
		Report: func(bool, string) {}, Now: func() time.Time { return now }, Verifier: l.verifier,
	})
	first := pod("first", "first")
	first.ResourceVersion = "5"
	second := pod("second", "second")
	second.ResourceVersion = "6"
	if err := storeOf(t, l.Pods).Replace([]any{first, second}, "6"); err != nil {
		t.Fatal(err)
	}
	return l
}

// TestPartialListIsIgnored checks that a failed page of a list makes the agent ignore the whole list. The pods
// on the failed page can still exist.
func TestPartialListIsIgnored(t *testing.T) {
	// Status 410 (Gone) means that the API server can no longer continue the list.
	for _, status := range []int{http.StatusInternalServerError, http.StatusGone} {
		l := responseLists(t, func(requested int) page {
			if requested%2 == 1 { // also the first page of a possible second list
				return page{status: http.StatusOK, names: []string{"first"}, version: "9", more: true}
			}
			return page{status: status}
		})
		l.verifier.verify(t.Context(), l)
		if got := verdictOf(l.verifier); got != (verdict{Failed: 1}) || l.count() != 2 {
			t.Errorf("%d: found %+v, and %d pods are left", status, got, l.count())
		}
		if len(l.reported) != 1 || l.reported[0][:5] != "false" {
			t.Errorf("reported %q", l.reported)
		}
	}
	// The second list, which the agent requests because of a difference, must be complete too.
	l := responseLists(t, func(requested int) page {
		if requested == 1 {
			return page{status: http.StatusOK, names: []string{"first"}, version: "9"}
		}
		return page{status: http.StatusInternalServerError}
	})
	l.verifier.verify(t.Context(), l)
	if got := verdictOf(l.verifier); got != (verdict{Failed: 1}) || l.count() != 2 {
		t.Errorf("found %+v, and %d pods are left", got, l.count())
	}
}

func TestEndlessListIsAborted(t *testing.T) {
	var l *listedSource
	synctest.Test(t, func(t *testing.T) { // the client sends at most five requests per second
		l = responseLists(t, func(int) page {
			return page{status: http.StatusOK, names: []string{"first", "second"}, version: "9", more: true}
		})
		l.verifier.verify(t.Context(), l)
	})
	if got := verdictOf(l.verifier); got != (verdict{Failed: 1}) || len(l.requested) != verifyPages {
		t.Errorf("found %+v after %d pages", got, len(l.requested))
	}
	for i, requested := range l.requested {
		// Without a version, the API server checks that its cache is current. With any version, even 0, the API
		// server does not check this.
		if requested.Has("resourceVersion") || requested.Get("limit") != fmt.Sprint(verifyPage) ||
			requested.Get("fieldSelector") != "spec.nodeName="+nodeName ||
			(requested.Get("continue") == "on") != (i > 0) {
			t.Errorf("requests %v", requested)
		}
	}
}

// TestWatchEndsDuringVerify checks that the agent skips a comparison if the watch ends during the comparison.
func TestWatchEndsDuringVerify(t *testing.T) {
	var l *listedSource
	l = responseLists(t, func(int) page {
		l.closed = true
		return page{status: http.StatusOK, names: []string{"first"}, version: "9"}
	})
	l.verifier.verify(t.Context(), l)
	if got := verdictOf(l.verifier); got != (verdict{Skipped: 1}) || len(l.requested) != 1 {
		t.Errorf("found %+v after %d lists", got, len(l.requested))
	}
}

// TestVerifyIntervalIsJittered checks that the first comparison starts at a random time within the interval. The
// next comparisons must follow after the interval ±10 %.
func TestVerifyIntervalIsJittered(t *testing.T) {
	first := map[time.Duration]bool{}
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			const interval = 10 * time.Minute
			verifier := New(Config{Interval: interval, Report: func(bool, string) {},
				Registerer: prometheus.NewRegistry(), Now: time.Now})
			pods := podwatch.NewPods(podwatch.Config{NodeName: nodeName, Verifier: verifier, Now: time.Now,
				Observe: func(context.Context, timeline.Observation) {}, Report: func(bool, string) {}})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan struct{})
			begunAt := time.Now()
			go func() { defer close(ended); verifier.Run(ctx, pods) }()
			var at []time.Duration // the verifier skips each comparison, because no watch is open
			for len(at) < 4 && time.Since(begunAt) < 5*interval {
				time.Sleep(time.Second)
				synctest.Wait()
				if verdictOf(verifier).Skipped > uint64(len(at)) {
					at = append(at, time.Since(begunAt))
				}
			}
			stop()
			<-ended
			if len(at) < 4 || at[0] > interval+time.Second {
				t.Fatalf("compared after %v", at)
			}
			first[at[0]] = true
			for i := range 3 {
				if pause := at[i+1] - at[i]; pause < interval*9/10-time.Second || pause > interval*11/10+time.Second {
					t.Errorf("compared %s after the previous time", pause)
				}
			}
		})
	}
	if len(first) < 10 {
		t.Errorf("the first comparisons of 20 agents start after %v", first)
	}
}

func TestDeletedPodsAreForgotten(t *testing.T) {
	l := &ledger{versions: map[string]string{}}
	for i := range 2 * maxTombstones {
		l.addTombstone(fmt.Sprint(i))
	}
	if len(l.tombstones) != maxTombstones || l.Older(fmt.Sprint(maxTombstones-1), "1") ||
		!l.Older(fmt.Sprint(maxTombstones), "1") {
		t.Errorf("%d tombstones, the first of them %s", len(l.tombstones), l.tombstones[0])
	}
}
