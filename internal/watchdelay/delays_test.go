package watchdelay

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/kubeclient/kubeclienttest"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/podwatch"
)

// stamp returns an instant in a local time zone, like the decoder of API objects.
func stamp(second int) metav1.Time {
	at := time.Date(2026, 8, 17, 12, 0, second, 0, time.UTC)
	return metav1.NewTime(at.In(time.FixedZone("somewhere", 7200)))
}

func pod(name, uid string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)},
		Spec:       corev1.PodSpec{NodeName: "node-a", Containers: []corev1.Container{{Name: "app", Image: "app:1"}}},
	}
}

// The delay of a change in a watch counts from the timestamp of the change in the object. Objects in a list have no
// delay.
func TestDelays(t *testing.T) {
	h := kubeclienttest.NewSource(t)
	server := podwatchtest.Start(t)
	listed := pod("listed", "0")
	listed.CreationTimestamp = stamp(-100)
	server.Put(listed)
	reported := make(chan string, 16) // capacity larger than the number of reports in this test
	pods := podwatch.NewPods(podwatch.Config{
		Client: kubeclienttest.Client(t, server.URL(), kubeclient.New), NodeName: "node-a",
		Observe: h.Observe, Report: h.Report, Now: h.Clock.Now,
		Delays: &Delays{ofPod: func(c changeKind, late time.Duration) { reported <- fmt.Sprintf("%s %s", c, late) }},
	})
	h.Run(pods.Run)
	h.Next()
	kubeclienttest.Eventually(t, "watching", func() bool { return server.Watches() == 1 })
	var got []string
	put := func(p *corev1.Pod) {
		t.Helper()
		server.Put(p)
		h.Next()
	}
	condition := func(kind corev1.PodConditionType, status corev1.ConditionStatus, second int) corev1.PodCondition {
		return corev1.PodCondition{Type: kind, Status: status, LastTransitionTime: stamp(second)}
	}

	h.Clock.Advance(10 * time.Second) // 12:00:10.25
	made := pod("a", "1")
	made.CreationTimestamp = stamp(1)
	made.Status.Conditions = []corev1.PodCondition{condition(corev1.PodScheduled, corev1.ConditionTrue, 9)}
	put(made)
	static := pod("static", "2") // the pod was created with a node, so only the creation time is known
	static.CreationTimestamp = stamp(8)
	put(static)

	h.Clock.Advance(10 * time.Second) // 12:00:20.25
	made.Status.Conditions = append(made.Status.Conditions, condition(corev1.PodInitialized, corev1.ConditionTrue, 15),
		condition(corev1.PodReady, corev1.ConditionFalse, 18), condition("example.com/gate", corev1.ConditionTrue, 19))
	put(made)
	made.Status.Phase = corev1.PodRunning // no condition changes, so the time is unknown
	put(made)
	made.Status.Conditions[2] = condition(corev1.PodReady, corev1.ConditionTrue, 30) // set by a clock that is ahead
	put(made)

	h.Clock.Advance(20 * time.Second) // 12:00:40.25
	made.DeletionTimestamp, made.DeletionGracePeriodSeconds = new(stamp(68)), new(int64(30))
	put(made)
	static.DeletionTimestamp, static.DeletionGracePeriodSeconds = new(stamp(70)), new(int64(30))
	put(static)
	server.Delete(static) // the object still has a grace period, so the time of the deletion is unknown
	h.Next()
	made.DeletionTimestamp, made.DeletionGracePeriodSeconds = new(stamp(39)), new(int64(0))
	server.Put(made)
	server.Delete(made)
	h.Next()
	for len(reported) > 0 {
		got = append(got, <-reported)
	}
	want := []string{
		"bound 1.25s", "bound 2.25s", "modified 2.25s", "modified 0s", "deleting 2.25s", "deleting 250ms",
		"deleted 1.25s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestMetrics(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	d := New(registry)
	d.ofPod(changeDeleted, 1500*time.Millisecond)
	d.Event(20 * time.Millisecond)
	d.record(changeBound, time.Time{}, time.Now()) // the time is unknown
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			key := family.GetName()
			for _, label := range m.GetLabel() {
				key += " " + label.GetValue()
			}
			got[key] = m.GetHistogram().GetSampleSum()
		}
	}
	want := map[string]float64{
		"podlapse_pod_watch_delay_seconds bound": 0, "podlapse_pod_watch_delay_seconds deleted": 1.5,
		"podlapse_pod_watch_delay_seconds deleting": 0, "podlapse_pod_watch_delay_seconds modified": 0,
		"podlapse_event_watch_delay_seconds": 0.02,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
