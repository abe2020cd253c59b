package podwatch

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestPods(t *testing.T) {
	for name, prepare := range map[string]func(*podwatchtest.Server){
		"streaming list": func(*podwatchtest.Server) {},
		"plain list":     (*podwatchtest.Server).NoStreamingLists,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := podwatchtest.Start(t)
			prepare(server)
			server.Put(pod("a", "1"))
			other := pod("other", "9")
			other.Spec.NodeName = "node-b"
			server.Put(other)

			h := newHarness(t)
			h.runPods(server.URL())
			h.nextPod("a", false)
			h.Until(true, "1 pods")
			h.untilOpen()

			// The first events of a watch can report changes from before the watch opened.
			server.Put(pod("b", "2"))
			h.nextPod("b", false)
			h.Clock.Advance(kubeclient.CatchUp)

			server.Put(pod("c", "3"))
			h.nextPod("c", true)
			annotated := pod("c", "3")
			annotated.Annotations = map[string]string{"changes": "nothing"}
			server.Put(annotated)
			running := pod("c", "3")
			running.Status.Phase = corev1.PodRunning
			server.Put(running)
			if got := h.nextPod("c", true); got.Phase != "Running" {
				t.Errorf("observed %+v, want only the relevant change", got)
			}
			deleted := running.DeepCopy()
			deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = to(stamp(40)), to(int64(30))
			server.Put(deleted)
			if got := h.nextPod("c", true); got.DeletedAt != at(10) {
				t.Errorf("deleted at %v, want the time of the request", got.DeletedAt)
			}
			// When the kubelet has finished, the kubelet repeats the deletion without a grace period. The repetition
			// is not a change.
			deleted.DeletionTimestamp, deleted.DeletionGracePeriodSeconds = to(stamp(15)), to(int64(0))
			server.Put(deleted)
			server.Delete(deleted)
			h.nextGone("3", true)
			server.Delete(other)
			server.Put(pod("d", "4"))
			h.nextPod("d", true)

			for _, request := range server.Requests() {
				if !strings.HasSuffix(request, " /api/v1/pods spec.nodeName="+nodeName) {
					t.Errorf("requested %q", request)
				}
			}
		})
	}
}

func TestPodsAfterALostWatch(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	for _, p := range []*corev1.Pod{pod("a", "1"), pod("b", "2"), pod("c", "3")} {
		server.Put(p)
	}
	h := newHarness(t)
	h.runPods(server.URL())
	for range 3 {
		h.Next() // the order of the pods does not matter
	}
	h.untilOpen()
	h.Clock.Advance(time.Hour)

	// The API server is unavailable, pods change, and the history of the API server is too short to resume the
	// watch.
	server.Refuse(http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "etcd is away")
	server.BreakWatches()
	h.Until(false, "etcd is away")
	server.Delete(pod("a", "1"))
	server.Delete(pod("b", "2"))
	server.Put(pod("b", "4")) // a new pod uses the same name
	changed := pod("c", "3")
	changed.Status.Phase = corev1.PodRunning
	server.Put(changed)
	server.Forget()
	h.Clock.Advance(time.Hour)
	server.Heal()

	gone := map[string]bool{}
	for range 2 {
		o := h.Next().(timeline.PodGone)
		gone[o.UID] = !o.Live
	}
	if !gone["1"] || !gone["2"] {
		t.Errorf("gone and not live: %v, want 1 and 2", gone)
	}
	seen := map[string]bool{}
	for range 2 {
		o := h.Next().(timeline.PodSeen)
		seen[o.Pod.UID] = !o.Live
	}
	if !seen["4"] || !seen["3"] {
		t.Errorf("seen and not live: %v, want 3 and 4", seen)
	}
	h.Until(true, "had 2 pods")
}

func TestPodsCatchUpWithoutAList(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.NoStreamingLists() // the older protocol always begins with a list
	server.Put(pod("a", "1"))
	h := newHarness(t)
	h.runPods(server.URL())
	h.nextPod("a", false)
	h.untilOpen()
	h.Clock.Advance(time.Hour)
	server.Put(pod("b", "2"))
	h.nextPod("b", true)

	// The watch breaks. After the watch resumes, it delivers the missed changes late, but not from a list.
	server.Refuse(http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests, "slow down")
	server.BreakWatches()
	h.Until(false, "slow down")
	server.Put(pod("c", "3"))
	h.Clock.Advance(time.Hour)
	server.Heal()
	h.nextPod("c", false)
	h.Until(true, "watching")
	h.Clock.Advance(kubeclient.CatchUp)
	server.Put(pod("d", "4"))
	h.nextPod("d", true)

	lists := 0
	for _, request := range server.Requests() {
		if strings.HasPrefix(request, "list") {
			lists++
		}
	}
	if lists != 1 {
		t.Errorf("%d lists, want only the first", lists)
	}
}

func TestPodsKnownFromBefore(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(pod("a", "1"))
	h := newHarness(t)
	h.runPods(server.URL(), "1", "2")
	h.nextGone("2", false)
	h.nextPod("a", false) // the last state of the pod is unknown
	h.Until(true, "1 pods")
	h.untilOpen()
	server.Delete(pod("a", "1"))
	h.nextGone("1", false)
	server.Forget()
	server.BreakWatches()
	server.Put(pod("b", "3"))
	h.nextPod("b", false)
	h.Nothing() // each deletion is reported once
}

func TestPodsStartBeforeTheServer(t *testing.T) {
	t.Parallel()
	absent := httptest.NewServer(http.NotFoundHandler())
	url := absent.URL
	absent.Close()
	h := newHarness(t)
	h.runPods(url)
	h.Until(false, "refused")
	h.Nothing()
}

func TestPodsRefused(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Put(pod("a", "1"))
	server.Refuse(http.StatusForbidden, metav1.StatusReasonForbidden, "pods is forbidden")
	h := newHarness(t)
	h.runPods(server.URL())
	h.Until(false, "pods is forbidden")
	server.Heal()
	h.nextPod("a", false)
	h.Until(true, "1 pods")
}

func TestPodsStopWhileTheServerHangs(t *testing.T) {
	t.Parallel()
	server := podwatchtest.Start(t)
	server.Hang()
	h := newHarness(t)
	h.runPods(server.URL())
	kubeclienttest.Eventually(t, "requested", func() bool { return len(server.Requests()) > 0 })
	stopped := time.Now()
	h.Stop()
	<-h.Finished
	if took := time.Since(stopped); took > 5*time.Second {
		t.Errorf("took %v to stop", took)
	}
}
