package annotate

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/pkg/timeline"
)

const settledText = `{"state":"ready","total_seconds":3,"error_seconds":0.25,"seconds_by_cause":{"app":1.5,` +
	`"network":1.5},"verdict":"3.0 s to ready: 1.5 s network, 1.0 s until app was ready, ` +
	`0.5 s running init container init; ±0.3 s"}`

func TestPodIsAnnotatedAfterStartUp(t *testing.T) {
	h := newHarness(t)
	h.cluster.Put(pod("web", map[string]string{RequestStartUp: "true", "other": "stays"}))
	starting := settledTimeline()
	starting.Partial = true
	h.settle("uid-web", starting)
	h.startAgent()
	h.eventually("requested", func() bool { return h.agent.waiting() == 1 })
	h.settle("uid-web", starting)
	time.Sleep(2 * changesWithin) // time in which no request must be sent
	if applies := h.cluster.Applies(); len(applies) > 0 {
		t.Fatalf("applied %+v during the start-up", applies)
	}
	h.settle("uid-web", settledTimeline())
	h.eventually("annotated", func() bool { return h.annotation("web", StartUp) == settledText })
	h.quiet()
	if h.annotation("web", "other") != "stays" || h.annotation("web", Time) != "" {
		t.Errorf("annotations %v", h.cluster.Pod("ns", "web").Annotations)
	}
	if applies := h.cluster.Applies(); len(applies) != 1 || applies[0].Manager != Manager {
		t.Errorf("applied %+v", applies)
	}
}

func TestRunningPodIsAnnotatedAtOnce(t *testing.T) {
	h := newHarness(t)
	h.now = func() time.Time { return time.Date(2026, 8, 17, 14, 0, 0, 5e8, time.FixedZone("", 7200)) }
	h.cluster.Put(pod("web", nil))
	h.startAgent()
	h.eventually("seen", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return h.observed > 0 })
	h.cluster.Put(pod("web", map[string]string{RequestTime: ""}))
	h.eventually("annotated", func() bool { return h.annotation("web", Time) == "2026-08-17T12:00:00Z" })
	h.quiet()
	// Much later, the pod also requests the annotation StartUp. The existing annotation Time must not change.
	h.settle("uid-web", settledTimeline())
	asks := h.cluster.Pod("ns", "web")
	asks.Annotations[RequestStartUp] = "true"
	h.now = time.Now
	h.cluster.Put(asks)
	h.eventually("annotated again", func() bool { return h.annotation("web", StartUp) == settledText })
	if got := h.annotation("web", Time); got != "2026-08-17T12:00:00Z" {
		t.Errorf("the time changed to %q", got)
	}
}

func TestExistingAnnotationIsKept(t *testing.T) {
	h := newHarness(t)
	h.cluster.Put(pod("timed", map[string]string{RequestTime: "yes", Time: "long ago"}))
	h.cluster.Put(pod("annotated", map[string]string{RequestStartUp: "true", StartUp: "by hand"}))
	h.cluster.Put(pod("no", map[string]string{RequestStartUp: "false"}))
	h.cluster.Put(pod("foreign", map[string]string{RequestStartUp: "true", RequestTime: "x", Time: "of another"}))
	elsewhere := pod("elsewhere", map[string]string{RequestTime: "x"})
	elsewhere.Spec.NodeName = "node-b"
	h.cluster.Put(elsewhere)
	going := pod("going", map[string]string{RequestTime: "x"})
	going.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	h.cluster.Put(going)
	for _, name := range []string{"timed", "annotated", "no", "foreign"} {
		h.settle("uid-"+name, settledTimeline())
	}
	h.startAgent()
	h.eventually("annotated", func() bool { return h.annotation("foreign", StartUp) != "" })
	h.agent.Seen(elsewhere) // like a watch without a field selector
	h.quiet()
	applies := h.cluster.Applies()
	if len(applies) != 1 || applies[0].Name != "foreign" || len(applies[0].Annotations) != 1 {
		t.Errorf("applied %+v", applies)
	}
	if h.annotation("foreign", Time) != "of another" {
		t.Errorf("the timestamp of another node's pod is %q", h.annotation("foreign", Time))
	}
}

func TestAnnotationIsNotRepeatedAfterRestart(t *testing.T) {
	h := newHarness(t)
	for _, name := range []string{"a", "b"} {
		h.cluster.Put(pod(name, map[string]string{RequestStartUp: "true", RequestTime: ""}))
	}
	h.settle("uid-a", settledTimeline())
	h.startAgent()
	h.eventually("annotated", func() bool { return h.annotation("a", StartUp) != "" && h.annotation("b", Time) != "" })
	h.stop()
	before := h.annotation("b", Time)
	h.settle("uid-b", settledTimeline())
	h.settle("uid-a", timeline.Timeline{State: timeline.StateReady, Reconstructed: true})
	h.startAgent()
	h.eventually("annotated", func() bool { return h.annotation("b", StartUp) != "" })
	h.quiet()
	if got := h.annotation("a", StartUp); got != settledText {
		t.Errorf("written again: %s", got)
	}
	if got := h.annotation("b", Time); got != before {
		t.Errorf("the time changed to %q, was %q", got, before)
	}
	written := map[string]int{}
	for _, applied := range h.cluster.Applies() {
		written[applied.Name]++
	}
	if written["a"] > 2 || written["b"] > 2 { // one write for Time and one for StartUp
		t.Errorf("written %v", written)
	}
}

// TestConflictsAreRetried changes the pod between the agent's read and write. The API server then refuses the write,
// because the write contains the old version.
func TestConflictsAreRetried(t *testing.T) {
	h := newHarness(t)
	h.cluster.Put(pod("web", map[string]string{RequestTime: ""}))
	h.cluster.Put(pod("raced", map[string]string{RequestTime: ""}))
	conflicts := 3
	h.cluster.BeforeApply(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if conflicts--; conflicts >= 0 {
			web := h.cluster.Pod("ns", "web")
			web.Annotations["changed"] = strings.Repeat("x", conflicts+1)
			h.cluster.Put(web)
			raced := h.cluster.Pod("ns", "raced")
			raced.Annotations[Time] = "of another"
			h.cluster.Put(raced)
		}
	})
	h.startAgent()
	h.eventually("annotated", func() bool { return h.annotation("web", Time) != "" })
	h.quiet()
	if h.annotation("web", "changed") != "x" || h.annotation("raced", Time) != "of another" {
		t.Errorf("update is lost: %v, %v", h.cluster.Pod("ns", "web").Annotations,
			h.cluster.Pod("ns", "raced").Annotations)
	}
	if got := testutil.ToFloat64(h.agent.requests.WithLabelValues(resultConflict)); got < 1 {
		t.Errorf("%v conflicts", got)
	}
	if len(h.reported) > 0 {
		t.Errorf("conflicts were reported: %q", h.reported)
	}
}

func TestRefusalsAndFailures(t *testing.T) {
	for _, test := range []struct {
		code         int32
		reason       metav1.StatusReason
		result, says string
	}{
		{http.StatusForbidden, metav1.StatusReasonForbidden, resultRefused, "the component annotate"},
		{http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, resultRefused, "annotate pod ns/web: no"},
		{http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, resultFailed, "annotate pod ns/web: no"},
		{http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, resultFailed, "annotate pod ns/web: no"},
		{http.StatusNotFound, metav1.StatusReasonNotFound, resultGone, ""},
	} {
		t.Run(test.result+" "+string(test.reason), func(t *testing.T) {
			h := newHarness(t)
			h.cluster.ResponseApplies(test.code, test.reason, "no")
			h.cluster.Put(pod("web", map[string]string{RequestTime: ""}))
			h.startAgent()
			count := func() float64 { return testutil.ToFloat64(h.agent.requests.WithLabelValues(test.result)) }
			h.eventually("requested", func() bool { return count() >= 1 })
			reported := func() string {
				h.mu.Lock()
				defer h.mu.Unlock()
				return strings.Join(h.reported, "\n")
			}
			h.eventually("reported", func() bool { return strings.Contains(reported(), test.says) })
			if test.says == "" && reported() != "" {
				t.Errorf("reported %q", reported())
			}
			h.cluster.ResponseApplies(0, "", "")
			if test.result == resultFailed { // after other results, the agent retries when the pod changes
				h.eventually("annotated", func() bool { return h.annotation("web", Time) != "" })
				return
			}
			requested := count()
			web := h.cluster.Pod("ns", "web")
			web.Labels = map[string]string{"changed": "yes"}
			h.cluster.Put(web)
			if test.result == resultGone {
				h.eventually("annotated", func() bool { return h.annotation("web", Time) != "" })
				return
			}
			version := h.cluster.Pod("ns", "web").ResourceVersion
			h.eventually("reported by the watch", func() bool {
				p, _, ok := h.agent.requestOf("uid-web")
				return ok && p.version == version
			})
			time.Sleep(100 * time.Millisecond) // time in which no request must be sent
			if got := count(); got != requested || h.annotation("web", Time) != "" {
				t.Errorf("retried at once: %v requests", got)
			}
			h.agent.mu.Lock()
			h.agent.pods["uid-web"].notBefore = time.Time{} // as if five minutes had passed
			h.agent.mu.Unlock()
			h.agent.Changed("uid-web")
			h.eventually("annotated", func() bool { return h.annotation("web", Time) != "" })
		})
	}
}

func TestDeletedPodIsNotCreatedAgain(t *testing.T) {
	h := newHarness(t)
	h.cluster.Put(pod("web", map[string]string{RequestTime: ""}))
	h.cluster.BeforeApply(func() { h.cluster.Delete(pod("web", nil)) })
	h.startAgent()
	conflicts := h.agent.requests.WithLabelValues(resultConflict)
	h.eventually("tried", func() bool { return testutil.ToFloat64(conflicts) >= 1 })
	h.quiet()
	if len(h.reported) > 0 || h.cluster.Pod("ns", "web") != nil {
		t.Errorf("reported %q", h.reported)
	}
}

func TestPodWithSameNameIsNotAnnotated(t *testing.T) {
	h := newHarness(t)
	h.cluster.Put(pod("web", map[string]string{RequestTime: ""}))
	replaced := false
	h.cluster.BeforeApply(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		if !replaced {
			replaced = true
			h.cluster.Delete(pod("web", nil))
			next := pod("web", nil)
			next.UID = "uid-next"
			h.cluster.Put(next)
		}
	})
	h.startAgent()
	h.eventually("tried", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return replaced })
	h.quiet()
	if applies := h.cluster.Applies(); len(applies) > 0 {
		t.Errorf("annotated another pod: %+v", applies)
	}
}

func TestAnnotationIsBounded(t *testing.T) {
	long := settledTimeline()
	long.Phases[2].Container = strings.Repeat("é", 3000)
	text, err := startUpText(long)
	if err != nil || len(text) > 1024 || !strings.Contains(text, "…") || !strings.Contains(text, `"network":1.5`) {
		t.Errorf("%d bytes, %v: %s", len(text), err, text)
	}
}
