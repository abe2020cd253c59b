package node

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// TestPodFromBeforeTheBoot follows a pod that is ready again after a reboot.
func TestPodFromBeforeTheBoot(t *testing.T) {
	t.Parallel()
	booted := time.Now().Truncate(time.Second)
	s := NewStartUp(StartUpConfig{ProcDir: procDir(t, booted, "boot-1"), Now: time.Now,
		Report: func(bool, string) {}})
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "1",
		CreationTimestamp: metav1.NewTime(booted.Add(-time.Hour))}}
	set := func(status corev1.ConditionStatus, at time.Time) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: status,
			LastTransitionTime: metav1.NewTime(at)}}
		s.Seen(pod)
	}
	set(corev1.ConditionTrue, booted.Add(-time.Minute)) // from before the boot
	if r, ok := s.Record(); !ok || r.Workload != nil {
		t.Errorf("%+v", r)
	}
	set(corev1.ConditionFalse, booted.Add(time.Second))
	set(corev1.ConditionTrue, booted.Add(2*time.Second))
	r, _ := s.Record()
	if r.Workload == nil || !r.Workload.Again || r.State != "ready" {
		t.Errorf("%+v", r)
	}
}

// TestClockSetDuringStartUp sets the clock forward by an hour, which changes the boot time. The phases are unknown, and
// the error bound contains the change.
func TestClockSetDuringStartUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now().Truncate(time.Second)
		time.Sleep(10 * time.Second)
		dir := procDir(t, booted, "boot-1")
		n := startNode(t, dir)
		n.server.Put(starting(time.Now()))
		time.Sleep(20 * time.Second)
		stat := fmt.Sprintf("btime %d\n", booted.Add(time.Hour).Unix())
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(stat), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		record, ok := n.startUp.Record()
		if !ok || record.TotalError.Duration() < time.Hour || !slices.Contains(record.Missing, "clock") {
			t.Errorf("%+v", record)
		}
		for _, p := range record.Phases {
			if p.Phase != "unattributed" {
				t.Errorf("%+v", p)
			}
		}
	})
}

// TestGivenUpLongAfterTheBoot starts an agent two days after the boot, on a node without workload pods. The agent does
// not know the workload pods of these days, so it reports nothing.
func TestGivenUpLongAfterTheBoot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now().Truncate(time.Second).Add(-48 * time.Hour)
		n := startNode(t, procDir(t, booted, "boot-1"))
		n.server.Put(ready(starting(booted.Add(10*time.Second)), booted.Add(30*time.Second)))
		time.Sleep(2 * time.Hour)
		record, _ := n.startUp.Record()
		if record.State != "given_up" || !record.Reconstructed || len(n.settled) > 0 {
			t.Errorf("%d records, %+v", len(n.settled), record)
		}
	})
}

// TestRecordIsPartialWithoutEvents uses a workload pod that is ready before the agent requests the kubelet's Events.
// Until the agent has received the Events, more evidence can arrive, so the record is partial.
func TestRecordIsPartialWithoutEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now().Truncate(time.Second)
		time.Sleep(10 * time.Second)
		n := startNode(t, procDir(t, booted, "boot-1"))
		node := starting(time.Now())
		n.server.Put(node)
		n.server.Put(kubeletStarted())
		time.Sleep(1500 * time.Millisecond)
		n.server.Put(ready(node, time.Now()))
		n.show(timeline.Timeline{UID: "1", Namespace: "shop", Name: "web", State: timeline.StateReady,
			CreatedAt: time.Now(), SettledAt: time.Now()})
		started := func(r api.NodeStartUpRecord) bool {
			return slices.ContainsFunc(r.Milestones, func(m api.NodeMilestoneRecord) bool {
				return m.Milestone == "kubelet_started"
			})
		}
		time.Sleep(2 * time.Second)
		if r, _ := n.startUp.Record(); r.State != "ready" || !r.Partial || started(r) {
			t.Errorf("before the Events: %+v", r)
		}
		time.Sleep(5 * time.Second)
		if r, _ := n.startUp.Record(); r.State != "ready" || r.Partial || !started(r) || len(n.settled) != 1 {
			t.Errorf("after the Events: %+v", r)
		}
	})
}

// TestEventsAfterReboot reboots a node whose Node object stays ready. The agent must not request the Events before the
// kubelet has sent them.
func TestEventsAfterReboot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		booted := time.Now().Truncate(time.Second)
		old := ready(starting(booted.Add(-time.Hour)), booted.Add(-time.Hour))
		old.Status.NodeInfo.BootID = "boot-0"
		time.Sleep(10 * time.Second)
		n := startNode(t, procDir(t, booted, "boot-1"))
		n.server.Put(old)
		time.Sleep(6 * time.Second)
		node := starting(time.Now())
		node.CreationTimestamp = old.CreationTimestamp
		n.server.Put(node)
		n.server.Put(&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default",
			Name: fmt.Sprintf("node-a.%x", time.Now().UnixNano())}, Reason: "Rebooted",
			InvolvedObject: corev1.ObjectReference{Kind: "Node", Name: "node-a"},
			Source:         corev1.EventSource{Component: "kubelet"}})
		time.Sleep(5 * time.Second)
		n.server.Put(ready(node, time.Now()))
		time.Sleep(5 * time.Second)
		record, _ := n.startUp.Record()
		if !slices.ContainsFunc(record.Milestones, func(m api.NodeMilestoneRecord) bool {
			return m.Milestone == "registered" && slices.Contains(m.Sources, "events")
		}) {
			t.Errorf("%+v", record.Milestones)
		}
	})
}
