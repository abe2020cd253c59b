package annotate

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// fakeServer is a fake API server in a synctest bubble, and records the times of the requests.
type fakeServer struct {
	agent        *Annotator
	requestTimes []time.Duration // times of the requests since the start; only the requesting goroutine uses this field
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// inTime runs an agent in a synctest bubble for the given length.
func inTime(t *testing.T, length time.Duration, response func(a *fakeServer, r *http.Request) (*http.Response, error),
	begin func(a *fakeServer), judge func(a *fakeServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, begunAt := &fakeServer{}, time.Now()
		client, err := kubeclient.New(&rest.Config{Host: "http://server",
			Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.URL.Query().Get("dryRun") != "" {
					return refusedByPolicy()
				}
				a.requestTimes = append(a.requestTimes, time.Since(begunAt))
				return response(a, r)
			})})
		if err != nil {
			t.Fatal(err)
		}
		a.agent = New(Config{
			Client: client, NodeName: nodeName, Now: time.Now, Report: func(bool, string) {},
			Registerer: prometheus.NewRegistry(),
			Timelines:  func(context.Context, []string) ([]timeline.Timeline, error) { return nil, nil },
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- a.agent.Run(ctx) }()
		begin(a)
		time.Sleep(length)
		synctest.Wait()
		judge(a)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// refusedByPolicy returns the API server's response to a patch that the policy forbids.
func refusedByPolicy() (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	recorder.WriteHeader(http.StatusForbidden)
	fmt.Fprint(recorder, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,`+
		`"message":"pods \"web\" is forbidden: ValidatingAdmissionPolicy 'podlapse-agent-annotate' with binding `+
		`'podlapse-agent-annotate' denied request: no"}`)
	return recorder.Result(), nil
}

// acceptPatch returns the API server's response to an accepted patch.
func acceptPatch() (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Content-Type", "application/json")
	fmt.Fprint(recorder, `{"kind":"Pod","apiVersion":"v1"}`)
	return recorder.Result(), nil
}

// rejectAsBusy returns the API server's response to a request that API Priority and Fairness rejects.
func rejectAsBusy(retryAfter string) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	recorder.Header().Set("Retry-After", retryAfter)
	http.Error(recorder, "Too many requests, please try again later.", http.StatusTooManyRequests)
	return recorder.Result(), nil
}

func (a *fakeServer) count(result string) float64 {
	return testutil.ToFloat64(a.agent.requests.WithLabelValues(result))
}

// TestRequestsAreRateLimited gives the agent all pods of the node at once, as after a restart. The agent must send ten
// requests immediately, and then five per second.
func TestRequestsAreRateLimited(t *testing.T) {
	const pods = 40
	inTime(t, 10*time.Second, func(*fakeServer, *http.Request) (*http.Response, error) { return acceptPatch() },
		func(a *fakeServer) {
			for i := range pods {
				a.agent.Seen(pod(fmt.Sprint("pod-", i), map[string]string{RequestTime: ""}))
			}
		},
		func(a *fakeServer) {
			if len(a.requestTimes) != pods {
				t.Fatalf("requested %d times", len(a.requestTimes))
			}
			for i, at := range a.requestTimes {
				soonest := time.Duration(max(0, i-burst)) * time.Second / perSecond
				if at < soonest || at > soonest+time.Second {
					t.Errorf("request %d after %s, want %s", i, at, soonest)
				}
			}
		})
}

// TestLatestPodIsAnnotated checks that a write that waited for the rate limit uses the latest version of the pod.
func TestLatestPodIsAnnotated(t *testing.T) {
	versions := []string{}
	inTime(t, 5*time.Second, func(_ *fakeServer, r *http.Request) (*http.Response, error) {
		body := make([]byte, 4096)
		n, _ := r.Body.Read(body)
		versions = append(versions, string(body[:n]))
		return acceptPatch()
	}, func(a *fakeServer) {
		for a.agent.limit.TryAccept() { // the rate limit allows the next request after 0.2 s
		}
		waits := pod("waits", map[string]string{RequestTime: ""})
		waits.ResourceVersion = "old"
		goes := pod("goes", map[string]string{RequestTime: ""})
		a.agent.Seen(waits)
		a.agent.Seen(goes)
		synctest.Wait()
		waits.ResourceVersion = "new"
		a.agent.Seen(waits)
		a.agent.Gone("uid-goes")
	}, func(*fakeServer) {
		if len(versions) != 1 || !strings.Contains(versions[0], `"resourceVersion":"new"`) {
			t.Errorf("wrote %q", versions)
		}
	})
}

// TestBusyAPIServer checks that an API server without responses does not block the agent forever, and that the agent
// respects Retry-After.
func TestBusyAPIServer(t *testing.T) {
	inTime(t, responseTimeout+time.Second, func(_ *fakeServer, r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}, func(a *fakeServer) { a.agent.Seen(pod("web", map[string]string{RequestTime: ""})) },
		func(a *fakeServer) {
			if a.count(resultFailed) != 1 {
				t.Errorf("%v requests failed, requests at %v", a.count(resultFailed), a.requestTimes)
			}
		})
	inTime(t, time.Minute, func(a *fakeServer, _ *http.Request) (*http.Response, error) {
		if len(a.requestTimes) == 1 {
			return rejectAsBusy("20")
		}
		return acceptPatch()
	}, func(a *fakeServer) {
		a.agent.Seen(pod("web", map[string]string{RequestTime: ""}))
		synctest.Wait()
		// The change does not shorten the wait.
		a.agent.Seen(pod("web", map[string]string{RequestTime: "", "changed": "x"}))
	}, func(a *fakeServer) {
		if len(a.requestTimes) != 2 || a.requestTimes[1] < 20*time.Second || a.requestTimes[1] > 25*time.Second ||
			a.count(resultWritten) != 1 {
			t.Errorf("requested at %v", a.requestTimes)
		}
	})
}

// TestWatchEventBeforePatchResponse checks a watch event that arrives before the API server's response to a patch. The
// event shows a newer version of the pod without the annotation.
func TestWatchEventBeforePatchResponse(t *testing.T) {
	a := New(Config{Registerer: prometheus.NewRegistry()})
	defer a.queue.ShutDown()
	newer := annotationRequest{uid: "1", version: "2", time: true}
	a.pods["1"] = &pendingPod{annotationRequest: newer}
	a.storeWritten("1", annotationRequest{uid: "1", version: "1", time: true}, map[string]string{Time: "now"})
	if p, _, ok := a.requestOf("1"); !ok || !p.time || len(p.owned) != 0 {
		t.Errorf("the pod requests %+v, %t", p, ok)
	}
	a.storeWritten("1", newer, map[string]string{Time: "now"})
	if _, _, ok := a.requestOf("1"); ok {
		t.Error("asks on")
	}
}

// TestOtherManagersFieldsAreNotOwned checks that the agent does not apply fields that another manager owns.
func TestOtherManagersFieldsAreNotOwned(t *testing.T) {
	for _, c := range []struct {
		manager   string
		operation metav1.ManagedFieldsOperationType
		fields    string
		want      bool
	}{
		{Manager, metav1.ManagedFieldsOperationApply, `{"f:metadata":{"f:annotations":{"f:timestamp":{}}}}`, true},
		{Manager, metav1.ManagedFieldsOperationUpdate, `{"f:metadata":{"f:annotations":{"f:timestamp":{}}}}`, false},
		{"somebody", metav1.ManagedFieldsOperationApply, `{"f:metadata":{"f:annotations":{"f:timestamp":{}}}}`, false},
		{Manager, metav1.ManagedFieldsOperationApply, `{"f:metadata":{"f:annotations":{"f:timestamps":{}}}}`, false},
	} {
		p := pod("web", map[string]string{RequestStartUp: "true", Time: "then"})
		p.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: c.manager, Operation: c.operation,
			FieldsV1: metav1.NewFieldsV1(c.fields)}}
		if a, asks := readRequest(p); !asks || (a.owned[Time] == "then") != c.want {
			t.Errorf("%+v: owns %v, asks %t", c, a.owned, asks)
		}
	}
}
