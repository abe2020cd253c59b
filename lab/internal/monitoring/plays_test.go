package monitoring

import (
	"fmt"
	"maps"
	"time"
)

// script describes one situation.
type script struct {
	minutes int
	// begin adds the targets before the first sample. The test calls the returned function before each sample.
	begin func(f *fleet) func(minute int)
	// If everywhere is true, the test has no second cluster, and the alerts have no label "cluster".
	everywhere bool
	// If alone is true, the test has no second cluster.
	alone bool
}

const (
	mib      = 1 << 20
	hub, big = "hub.example", "big.example"
	early    = 15 // minute at which most problems begin
	onset    = 66 // minute at which problems begin if the rules ignore these problems on new nodes
)

// simulate simulates the situation in the cluster "east". The cluster "west" has nodes with the same names, and these
// nodes have no problem. simulate also returns the value of the label "cluster" that each alert must have.
func (s script) simulate() (played []*fleet, cluster string) {
	east := newFleet("east")
	played, cluster = []*fleet{east}, "east"
	each := func(int) {}
	switch {
	case s.everywhere:
		east.cluster, cluster = "", ""
	case !s.alone:
		west := newFleet("west")
		played = append(played, west)
		agents := west.nodes("node", 2)
		each = func(int) { usual(agents...); west.sample() }
	}
	happen := s.begin(east)
	for minute := 0; minute <= s.minutes; minute += int(step / time.Minute) {
		happen(minute)
		east.sample()
		each(minute)
	}
	return played, cluster
}

// usual adds the events between two samples for nodes without a problem. Each node has three start-ups, and two of them
// pull an image.
func usual(agents ...*target) {
	for _, a := range agents {
		a.startUps(1, healthy)
		a.startUps(1, healthy.pulling(hub, 10*mib, 0.6))
		a.startUps(1, healthy.pulling(big, 10*mib, 0.6))
	}
}

// quiet returns a situation on four nodes without a problem. The function happen returns another function, which adds
// further events.
func quiet(minutes int, happen func(f *fleet, nodes []*target) func(minute int)) script {
	return script{minutes: minutes, begin: func(f *fleet) func(int) {
		nodes := f.nodes("node", 4)
		more := happen(f, nodes)
		return func(minute int) {
			usual(nodes...)
			more(minute)
		}
	}}
}

// during returns a function that calls the given function in each minute of a range. The range does not include the
// minute "until".
func during(from, until int, happen func()) func(int) {
	return func(minute int) {
		if minute >= from && minute < until {
			happen()
		}
	}
}

// plays returns the scripts of all situations in the table. The keys are the names of the situations.
func plays() map[string]script {
	all := map[string]script{}
	for _, some := range []map[string]script{nodePlays(), fleetPlays(), podPlays(), registryPlays(), agentPlays()} {
		maps.Copy(all, some)
	}
	return all
}

func podPlays() map[string]script {
	return map[string]script{
		"quiet fleet": quiet(120, func(*fleet, []*target) func(int) { return func(int) {} }),
		"CrashLoopBackOff of a tenant": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() { nodes[0].waiting("crash_backoff", 1, 290) })
		}),
		"CrashLoopBackOff of a tenant, with `--metrics-pod-labels`": quiet(
			45,
			func(_ *fleet, nodes []*target) func(int) {
				return during(early, 45, func() {
					nodes[0].waiting("crash_backoff", 1, 290)
					nodes[0].pod("shop", "web-0", "crash_backoff", "backoff", 290)
				})
			},
		),
		"pull of a 40 GiB image that receives bytes": quiet(75, func(_ *fleet, nodes []*target) func(int) {
			return pullingFor(nodes[0], "pull", 30, 40<<30)
		}),
		"pull of a 40 GiB image that receives bytes, and whose phase is still `unattributed`": quiet(75,
			func(_ *fleet, nodes []*target) func(int) { return pullingFor(nodes[0], "unattributed", 30, 40<<30) }),
		"pull of a 40 GiB image that receives bytes, in the phase `image_pull`": quiet(75,
			func(_ *fleet, nodes []*target) func(int) { return pullingFor(nodes[0], "image_pull", 30, 40<<30) }),
		"pull that receives no bytes": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return pullingFor(nodes[0], "pull", 30, 0)
		}),
		"pull that receives bytes for more than 45 minutes": quiet(75, func(_ *fleet, nodes []*target) func(int) {
			return pullingFor(nodes[0], "pull", 55, 600<<20)
		}),
		"missing Secret of a tenant": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() { nodes[0].waiting("container_config", 1, 900) })
		}),
		"missing Secret of a tenant, with `--metrics-pod-labels`": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() {
				nodes[0].waiting("container_config", 1, 900)
				nodes[0].pod("shop", "web-0", "container_config", "config", 900)
			})
		}),
		"network plugin hangs on one node": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() { nodes[0].waiting("network", 4, 300) })
		}),
		"volume cannot be attached, with `--metrics-pod-labels`": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() {
				nodes[0].waiting("volumes", 1, 300)
				nodes[0].pod("shop", "db-0", "volumes", "volumes", 300)
			})
		}),
	}
}

// pullingFor returns a function that simulates one pull of the given size and duration. The agent reports the pod of
// the pull in the given phase. Another pod waits for this pull in the pull queue.
func pullingFor(node *target, phase string, minutes int, bytes float64) func(minute int) {
	return func(minute int) {
		waited := minute - early
		switch {
		case waited >= 0 && waited < minutes:
			node.waiting(phase, 1, float64(60*waited))
			node.waiting("pull_queue", 1, float64(60*max(0, waited-3)))
			node.receiving(big, bytes*float64(waited)/float64(minutes))
		case waited == minutes:
			node.waiting(phase, 0, 0)
			node.waiting("pull_queue", 0, 0)
			node.unset("podlapse_image_pulls_active_bytes", "registry="+quoted(big))
		}
	}
}

func agentPlays() map[string]script {
	return map[string]script{
		"agent rollout": {minutes: 75, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 12)
			for i := range nodes {
				f.target("kubelet", fmt.Sprintf("node-%d:10250", i+1), fmt.Sprintf("node-%d", i+1))
			}
			return func(minute int) {
				// The agents stop one after the other. At the next sample, each agent has another address, and its
				// counters are zero.
				i := (minute - early) / 3
				if minute >= early && i < len(nodes) {
					nodes[i].leave()
				}
				if minute > early && i <= len(nodes) {
					name := fmt.Sprintf("node-%d", i)
					nodes[i-1] = f.agentAt(name, fmt.Sprintf("10.0.0.%d:9717", i))
					nodes[i-1].set("podlapse_source_up", `source="cri"`, 0)
				}
				for k, node := range nodes {
					if minute >= early && k < i-1 {
						node.set("podlapse_source_up", `source="cri"`, 1)
					}
					usual(node)
				}
			}
		}},
		"agent rollout that leaves nodes without an agent": quiet(45, func(f *fleet, nodes []*target) func(int) {
			for i := range nodes {
				f.target("kubelet", fmt.Sprintf("node-%d:10250", i+1), fmt.Sprintf("node-%d", i+1))
			}
			return during(early, early+1, func() { nodes[0].leave(); nodes[1].leave() })
		}),
		"NetworkPolicy that blocks Prometheus": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, early+1, func() { nodes[0].up = 0 })
		}),
		// Only the PodMonitor sets the label "cluster", so the kubelets' targets do not have this label.
		"node without an agent, and only agents have a label `cluster`": {minutes: 45, alone: true,
			begin: func(f *fleet) func(int) {
				nodes := f.nodes("node", 4)
				f.cluster = ""
				for i := range nodes {
					f.target("kubelet", fmt.Sprintf("node-%d:10250", i+1), fmt.Sprintf("node-%d", i+1))
				}
				return during(early, early+1, func() { nodes[0].leave() })
			}},
		"Prometheus without agents": {minutes: 30, everywhere: true, begin: func(f *fleet) func(int) {
			f.target("kubelet", "node-1:10250", "node-1")
			return func(int) {}
		}},
		"node removed by the autoscaler": quiet(45, func(f *fleet, nodes []*target) func(int) {
			kubelet := f.target("kubelet", "node-1:10250", "node-1")
			return during(early, early+1, func() { nodes[0].leave(); kubelet.leave() })
		}),
		"container runtime restarted": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return func(minute int) {
				up := 1.0
				if minute >= early && minute < early+6 {
					up = 0
				}
				nodes[0].set("podlapse_source_up", `source="cri"`, up)
			}
		}),
		"runtime socket not mounted": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			nodes[0].set("podlapse_source_up", `source="cri"`, 0)
			return func(int) { nodes[0].count("podlapse_evidence_incomplete_total", "", 3) }
		}),
		"a stuck reader of the records": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() { nodes[0].count("podlapse_sink_dropped_total", `sink="records"`, 3) })
		}),
		"kubelet that drops Events of pods with many containers": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() { nodes[0].count("podlapse_events_lost_total", `reason="Pulled"`, 8) })
		}),
		"lost Events that leave the time of pulls unattributed": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() {
				nodes[0].count("podlapse_events_lost_total", `reason="Pulled"`, 2)
				nodes[0].count("podlapse_evidence_incomplete_total", "", 2)
			})
		}),
	}
}
