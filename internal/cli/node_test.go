package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// nodeStartUp returns the start-up of node worker-1: a slow machine, and a network plugin with a cold image.
func nodeStartUp() *api.NodeStartUpRecord {
	booted := noon.Add(-20 * time.Minute)
	after := func(seconds float64) api.Instant {
		return api.InstantOf(booted.Add(time.Duration(seconds * float64(time.Second))))
	}
	record := &api.NodeStartUpRecord{
		ID: "6f4f1c5e-0d3b-4c0e-9f0a-2f1f6f0a7c11", Node: "worker-1", State: "ready", BootedAt: after(0),
		SettledAt: after(37.5), Total: api.Seconds(37500 * time.Millisecond), TotalError: api.Seconds(time.Second / 2),
		Verdict: "37.5 s from boot to the first ready workload: 19.0 s until the kubelet had started on the machine, " +
			"9.0 s pull of pod kube-system/cilium-5xk2p, 2.9 s taint node.cilium.io/agent-not-ready of Cilium; ±0.5 s",
		Taints: []api.TaintRecord{{Key: "node.cilium.io/agent-not-ready", Effect: "NoSchedule", Owner: "Cilium",
			RemovedAt: after(34.2), Earliest: after(33.8), Latest: after(34.2)}},
		NotReady: []api.NotReadyRecord{{SeenAt: after(21.4), Message: "container runtime network not ready: " +
			"NetworkReady=false reason:NetworkPluginNotReady message:Network plugin returns error: cni plugin not " +
			"initialized"}},
		DaemonSets: []api.DaemonSetPodRecord{{DaemonSet: "cilium", Namespace: "kube-system", Name: "cilium-5xk2p",
			State: timeline.StateReady, Critical: true, Total: api.Seconds(12 * time.Second),
			TotalError: api.Seconds(time.Second / 2)}},
	}
	from := 0.0
	for _, p := range []struct {
		phase, step, of string
		cause           timeline.Cause
		to, err         float64
	}{
		{"machine", "", "", "machine", 19, 0.6},
		{"kubelet_registration", "", "", "kubelet", 20.5, 0.6},
		{"network_plugin", "", "", "network", 21, 1},
		{"daemonset", "pull", "kube-system/cilium-5xk2p", "registry", 30, 0.001},
		{"network_plugin", "", "", "network", 31.3, 0.5},
		{"taint", "", "node.cilium.io/agent-not-ready", "taint_owner", 34.2, 0.4},
		{"workload", "container_start", "shop/web-7d4b9-x2x8a", "runtime", 35.5, 0.001},
		{"workload", "readiness_probe", "shop/web-7d4b9-x2x8a", "app", 37.5, 0.001},
	} {
		phase := api.NodePhaseRecord{Phase: p.phase, Cause: p.cause, Step: timeline.Phase(p.step), Pod: p.of,
			StartAt: after(from), EndAt: after(p.to),
			Length: api.Seconds((p.to - from) * float64(time.Second)), Error: api.Seconds(p.err * float64(time.Second))}
		if p.phase == "taint" {
			phase.Pod, phase.Taint = "", p.of
		}
		record.Phases = append(record.Phases, phase)
		from = p.to
	}
	return record
}

func TestNode(t *testing.T) {
	server := clusterOf(t, shop())
	for _, args := range []string{"node worker-1", "node node/worker-1", "node node worker-1", "node --node worker-1"} {
		got := atNoon(t, server, strings.Fields(args)...)
		got.must(t, ExitOK, "node worker-1: 37.5 s from boot to the first ready workload", "")
		for _, want := range []string{"kubelet_registration", "cni plugin not initialized",
			"the node waited for this pod", "33.800 s", "±0.600 s"} {
			if !strings.Contains(got.stdout, want) {
				t.Errorf("%s: no %q in\n%s", args, want, got.stdout)
			}
		}
	}
	got := atNoon(t, server, "node", "worker-1", "-o", "json")
	var record api.NodeStartUpRecord
	if err := json.Unmarshal([]byte(got.stdout), &record); err != nil || len(record.Phases) != 8 {
		t.Errorf("%v %s", err, got.stdout)
	}
	atNoon(t, server, "node", "worker-1", "-o", "yaml").must(t, ExitOK, "- phase: machine", "")
	atNoon(t, server, "node", "worker-2").must(t, ExitNotFound, "", "start the agent with --node-startup=on")
	atNoon(t, server, "node").must(t, ExitUsage, "", "the command requires a node name or --server")
	atNoon(t, server, "node", "--help").must(t, ExitOK, "node NODE [flags] | --server=URL [flags]\n", "")
	atNoon(t, server, "node", "worker-1", "--server=http://127.0.0.1:9").must(t, ExitUsage, "", "accepts no node name")
	atNoon(t, server, "node", "worker-1", "-o", "wide").must(t, ExitUsage, "", "must be table, json or yaml")
}
