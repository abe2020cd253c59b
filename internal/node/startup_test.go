package node

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/podlapse/podlapse/internal/kubeclient"
	"github.com/podlapse/podlapse/internal/podwatchtest"
	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// procDir writes a proc file system with the boot time and the boot ID.
func procDir(t *testing.T, btime time.Time, id string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "sys/kernel/random"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"stat":                      fmt.Sprintf("cpu  1 2 3\nintr 7\nbtime %d\nprocesses 9\n", btime.Unix()),
		"sys/kernel/random/boot_id": id + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestReadBoot(t *testing.T) {
	t.Parallel()
	btime := time.Unix(1_795_713_548, 0).UTC()
	dir := procDir(t, btime, "cb261894-936a-4617-97a4-01c9737d72e0")
	boot, err := ReadBoot(dir, btime.Add(time.Minute))
	if err != nil || !boot.At.Equal(btime) || boot.BootID != "cb261894-936a-4617-97a4-01c9737d72e0" {
		t.Errorf("%+v, %v", boot, err)
	}
	if err := os.Remove(filepath.Join(dir, "sys/kernel/random/boot_id")); err != nil {
		t.Fatal(err)
	}
	if boot, err = ReadBoot(dir, btime); err != nil || boot.BootID != "" {
		t.Errorf("without a boot ID: %+v, %v", boot, err)
	}
	if boot, err = ReadBoot(ProcDir, time.Now()); err != nil || boot.At.After(time.Now()) {
		t.Errorf("this machine: %+v, %v", boot, err)
	}
	for text, want := range map[string]string{
		"cpu 1\n": `"btime" is missing`, "btime \n": "invalid value", "btime -5\n": "invalid value",
		"btime 0\n": "invalid value", "btime 99999999999999999999\n": "invalid value",
	} {
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadBoot(dir, btime); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzBootTime(f *testing.F) {
	f.Add([]byte("cpu  1\nbtime 1795713548\n"))
	f.Fuzz(func(t *testing.T, content []byte) {
		if at, err := bootTime(content); err == nil && at.Unix() <= 0 {
			t.Errorf("%q gives %s", content, at)
		}
	})
}

func TestNodeEvent(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_795_713_548, 123_456_789).UTC()
	event := func(name, reason, source string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: name}, Reason: reason,
			Source: corev1.EventSource{Component: source}}
	}
	name := fmt.Sprintf("node-a.%x", at.UnixNano())
	if got, ok := nodeEvent(event(name, "Starting", "kubelet"), "node-a"); !ok || !got.At.Equal(at) {
		t.Errorf("%+v", got)
	}
	for what, e := range map[string]*corev1.Event{
		"kube-proxy": event(name, "Starting", "kube-proxy"), "another reason": event(name, "Other", "kubelet"),
		"no time": event("node-a.xyz", "Starting", "kubelet"), "another node": event("b."+name, "Starting", "kubelet"),
	} {
		if got, ok := nodeEvent(e, "node-a"); ok {
			t.Errorf("%s: %+v", what, got)
		}
	}
}

// startedNode runs a StartUp with the watch of the Node object, in a bubble of package synctest.
type startedNode struct {
	server  *podwatchtest.Server
	startUp *StartUp

	mu      sync.Mutex
	pods    []timeline.Timeline
	settled []api.NodeStartUpRecord
}

func startNode(t *testing.T, dir string) *startedNode {
	t.Helper()
	n := &startedNode{server: podwatchtest.StartPiped(t)}
	client, err := kubeclient.New(&rest.Config{Host: n.server.URL(), Transport: n.server.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	report := func(bool, string) {}
	n.startUp = NewStartUp(StartUpConfig{
		ProcDir: dir, Client: client, Events: client, NodeName: "node-a", Now: time.Now, Report: report,
		Logger: zap.NewNop(), PodsListed: func() bool { return true },
		Present: func(context.Context) ([]timeline.Timeline, error) {
			n.mu.Lock()
			defer n.mu.Unlock()
			return slices.Clone(n.pods), nil
		},
		Skew: func(context.Context) (timeline.Skew, error) { return timeline.Skew{}, nil },
		Settled: func(r api.NodeStartUpRecord) {
			n.mu.Lock()
			defer n.mu.Unlock()
			n.settled = append(n.settled, r)
		},
	})
	watch := NewWatch(WatchConfig{Client: client, NodeName: "node-a", Seen: n.startUp.SeeNode, Report: report,
		Now: time.Now})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{n.startUp.Run, watch.Run} {
		running.Go(func() { _ = run(ctx) })
	}
	t.Cleanup(func() { stop(); running.Wait() })
	return n
}

func (n *startedNode) show(pod timeline.Timeline) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pods = append(n.pods, pod)
}

// starting returns the Node object of a kubelet whose network plugin is not ready.
func starting(now time.Time, taints ...string) *corev1.Node {
	stamp := metav1.NewTime(now.Truncate(time.Second))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-a", CreationTimestamp: stamp}}
	node.Status.NodeInfo.BootID = "boot-1"
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse,
		LastTransitionTime: stamp,
		Message:            "container runtime network not ready: cni plugin not initialized token=abcdefgh"}}
	for _, key := range taints {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
	return node
}

func ready(node *corev1.Node, now time.Time) *corev1.Node {
	node = node.DeepCopy()
	node.Status.Conditions[0] = corev1.NodeCondition{Type: corev1.NodeReady, Status: corev1.ConditionTrue,
		LastTransitionTime: metav1.NewTime(now.Truncate(time.Second))}
	return node
}

// TestStartUp follows a node whose network plugin takes 20 s and whose start-up taint stays for 7.4 s more.
func TestStartUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now().Truncate(time.Second)
		time.Sleep(10 * time.Second)
		n := startNode(t, procDir(t, booted, "boot-1"))
		registry := prometheus.NewRegistry()
		registry.MustRegister(n.startUp.Metrics())
		time.Sleep(2 * time.Second)
		node := starting(time.Now(), "node.cilium.io/agent-not-ready")
		n.server.Put(node)
		n.server.Put(kubeletStarted())
		time.Sleep(20 * time.Second)
		node = ready(node, time.Now())
		n.server.Put(node)
		time.Sleep(7400 * time.Millisecond)
		node = node.DeepCopy()
		node.Spec.Taints = nil
		n.server.Put(node)
		bound := time.Now().Add(100 * time.Millisecond)
		time.Sleep(5 * time.Second)
		if count := testutil.CollectAndCount(n.startUp.Metrics()); count != 0 {
			t.Errorf("%d series before the end", count)
		}
		n.show(timeline.Timeline{UID: "1", Namespace: "shop", Name: "web", State: timeline.StateReady,
			Owner: timeline.Owner{Kind: "Deployment", Name: "web"}, CreatedAt: bound, SettledAt: time.Now(),
			Total: time.Since(bound), Reached: timeline.Reached{ScheduledAt: bound}, Phases: []timeline.Span{
				{Phase: timeline.PhaseScheduling, Cause: timeline.CauseScheduler, StartAt: bound, EndAt: bound},
				{Phase: timeline.PhasePull, Cause: timeline.CauseRegistry, StartAt: bound, EndAt: time.Now()}}})
		time.Sleep(time.Minute)
		record, ok := n.startUp.Record()
		if !ok || len(n.settled) != 1 || n.settled[0].Verdict != record.Verdict || record.State != "ready" {
			t.Fatalf("%d records, %+v", len(n.settled), record)
		}
		sums := map[string]time.Duration{}
		for _, p := range record.Phases {
			sums[p.Phase] += p.Length.Duration()
		}
		for phase, want := range map[string]time.Duration{"machine": 11 * time.Second,
			"kubelet_registration": time.Second, "network_plugin": 20 * time.Second, "taint": 7400 * time.Millisecond,
			"workload": 4900 * time.Millisecond} {
			if got := sums[phase]; (got - want).Abs() > time.Second {
				t.Errorf("%s took %s, want %s", phase, got, want)
			}
		}
		if len(record.Taints) != 1 || record.Taints[0].RemovedAt.Sub(record.Taints[0].Earliest.Time) > startUpPoll {
			t.Errorf("taints %+v", record.Taints)
		}
		if len(record.NotReady) != 1 || strings.Contains(record.NotReady[0].Message, "abcdefgh") {
			t.Errorf("messages %+v", record.NotReady)
		}
		if count := testutil.CollectAndCount(n.startUp.Metrics()); count != 12 {
			t.Errorf("%d series", count)
		}
		before := len(n.server.Requests())
		time.Sleep(2 * time.Minute)
		if after := len(n.server.Requests()); after > before+1 { // the watch
			t.Errorf("%d requests after the start-up", after-before)
		}
	})
}

// TestStartUpOfOldNode starts an agent on a node that booted long ago. The agent reads no Events.
func TestStartUpOfOldNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now().Truncate(time.Second).Add(-48 * time.Hour)
		n := startNode(t, procDir(t, booted, "boot-1"))
		n.server.Put(ready(starting(booted.Add(10*time.Second)), booted.Add(30*time.Second)))
		pod := timeline.Timeline{UID: "1", Namespace: "shop", Name: "web", State: timeline.StateReady,
			CreatedAt: booted.Add(40 * time.Second), SettledAt: booted.Add(50 * time.Second), Total: 10 * time.Second,
			Reached: timeline.Reached{ScheduledAt: booted.Add(41 * time.Second)}}
		pod.Phases = []timeline.Span{{Phase: timeline.PhasePull, StartAt: pod.CreatedAt, EndAt: pod.SettledAt}}
		n.show(pod)
		time.Sleep(time.Minute)
		record, _ := n.startUp.Record()
		if !record.Reconstructed || record.State != "ready" || len(record.Missing) == 0 || len(n.settled) > 0 {
			t.Errorf("%+v", record)
		}
		if slices.ContainsFunc(n.server.Requests(), func(r string) bool { return strings.Contains(r, "events") }) {
			t.Errorf("requests %q", n.server.Requests())
		}
	})
}

func TestStartUpWithoutBootTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := startNode(t, t.TempDir())
		n.server.Put(starting(time.Now()))
		n.startUp.Seen(&corev1.Pod{})
		n.startUp.Gone("1")
		time.Sleep(time.Minute)
		if _, ok := n.startUp.Record(); ok || len(n.settled) > 0 {
			t.Error("a record without a boot time")
		}
	})
}

// kubeletStarted returns the Event of a kubelet that started a second ago.
func kubeletStarted() *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
		Name: fmt.Sprintf("node-a.%x", time.Now().Add(-time.Second).UnixNano())}, Reason: "Starting",
		InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "node-a"},
		Source:         corev1.EventSource{Component: "kubelet"}}
}
