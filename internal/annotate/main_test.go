package annotate

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/podwatch"
	"github.com/podlapse/podlapse/pkg/timeline"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	patience = 15 * time.Second
	nodeName = "node-a"
)

// harness runs a pod watch and an annotator, with timelines that the test defines.
type harness struct {
	t       *testing.T
	cluster *podwatchtest.Server
	client  rest.Interface
	now     func() time.Time
	agent   *Annotator
	stop    func()

	mu       sync.Mutex
	known    map[string]timeline.Timeline
	reported []string // details of the health reports
	observed int
}

func newHarness(t *testing.T) *harness {
	h := &harness{t: t, cluster: podwatchtest.Start(t), known: map[string]timeline.Timeline{}, now: time.Now}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	var err error
	if h.client, err = kubeclient.New(&rest.Config{Host: h.cluster.URL(), Transport: transport}); err != nil {
		t.Fatal(err)
	}
	return h
}

func (h *harness) report(up bool, detail string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !up {
		h.reported = append(h.reported, detail)
	}
}

func (h *harness) timelines(_ context.Context, uids []string) (some []timeline.Timeline, _ error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, uid := range uids {
		if t, ok := h.known[uid]; ok {
			some = append(some, t)
		}
	}
	return some, nil
}

// settle sets the timeline of a start-up, and notifies the agent if an agent is running.
func (h *harness) settle(uid string, t timeline.Timeline) {
	h.mu.Lock()
	t.UID = uid
	h.known[uid] = t
	h.mu.Unlock()
	if h.agent != nil {
		h.agent.Changed(uid)
	}
}

// startAgent runs an agent until the test ends or calls the function "stop".
func (h *harness) startAgent() {
	h.agent = New(Config{
		Client: h.client, NodeName: nodeName, Timelines: h.timelines, Now: h.now, Report: h.report,
		Registerer: prometheus.NewRegistry(),
	})
	agent := h.agent
	pods := podwatch.NewPods(podwatch.Config{
		Client: h.client, NodeName: nodeName, Now: time.Now, Report: func(bool, string) {},
		Follower: podFollower{agent},
		Observe: func(context.Context, timeline.Observation) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.observed++
		},
	})
	ctx, cancel := context.WithCancel(h.t.Context())
	var parts sync.WaitGroup
	parts.Go(func() { _ = pods.Run(ctx) })
	parts.Go(func() { _ = agent.Run(ctx) })
	h.stop = sync.OnceFunc(func() {
		cancel()
		parts.Wait()
	})
	h.t.Cleanup(h.stop)
}

func (h *harness) eventually(what string, ok func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("never %s; applied %+v, reported %q", what, h.cluster.Applies(), h.reported)
		}
	}
}

func (h *harness) annotation(name, annotation string) string {
	pod := h.cluster.Pod("ns", name)
	if pod == nil {
		return ""
	}
	return pod.Annotations[annotation]
}

// quiet waits until the agent has seen all pods of the server and has no annotation left to write.
func (h *harness) quiet() {
	h.t.Helper()
	h.eventually("quiet", func() bool { return h.agent.waiting() == 0 && h.agent.queue.Len() == 0 })
}

func pod(name string, annotations map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID("uid-" + name),
			Annotations: annotations},
		Spec: corev1.PodSpec{NodeName: nodeName, Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}

// settledTimeline returns a timeline of a start-up of three seconds.
func settledTimeline() timeline.Timeline {
	at := time.Date(2026, 8, 17, 12, 0, 0, 0, time.UTC)
	return timeline.Timeline{
		State: timeline.StateReady, CreatedAt: at, SettledAt: at.Add(3 * time.Second),
		Total: 3 * time.Second, TotalError: 250 * time.Millisecond,
		Phases: []timeline.Span{
			{Phase: timeline.PhaseNetwork, Cause: timeline.CauseNetwork, StartAt: at,
				EndAt: at.Add(1500 * time.Millisecond)},
			{Phase: timeline.PhaseContainerStart, Cause: timeline.CauseRuntime,
				StartAt: at.Add(1500 * time.Millisecond), EndAt: at.Add(1500 * time.Millisecond)},
			{Phase: timeline.PhaseInitRun, Cause: timeline.CauseApp, Container: "init",
				StartAt: at.Add(1500 * time.Millisecond), EndAt: at.Add(2 * time.Second)},
			{Phase: timeline.PhaseReadinessProbe, Cause: timeline.CauseApp, Container: "app",
				StartAt: at.Add(2 * time.Second), EndAt: at.Add(3 * time.Second)},
		},
	}
}
