package monitoring

import "fmt"

// nodePlays returns situations in which a node has a problem, or in which a healthy node seems to have a problem.
func nodePlays() map[string]script {
	return map[string]script{
		"one slow node of 400": {minutes: 69, begin: func(f *fleet) func(int) {
			f.lean = true
			nodes := f.nodes("node", 400)
			usual := healthy
			usual.pickup, usual.volumes = 0, 0
			slow := usual
			slow.network, slow.sandbox = 3, 1
			return func(int) {
				nodes[0].startUps(2, slow)
				for _, node := range nodes[1:] {
					node.startUps(2, usual)
				}
			}
		}},
		"slow disk on one node": {minutes: 99, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 4)
			return func(int) {
				usual(nodes[1:]...)
				slow := healthy.pulling(hub, 40*mib, 1)
				slow.unpack = 12
				nodes[0].startUps(2, slow)
			}
		}},
		"slow node of a containerd 1.7 fleet": {minutes: 99, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 4)
			return func(int) {
				slow := coarse
				slow.containers = 6
				nodes[0].startUps(2, slow)
				for _, node := range nodes[1:] {
					node.startUps(2, coarse)
				}
			}
		}},
		"slower GPU nodes, with a label `node_pool`":                  pools(true, 4, 4),
		"slower GPU nodes, without a label `node_pool`":               pools(false, 4, 4),
		"one slow node among the GPU nodes, with a label `node_pool`": pools(true, 4, 16),
		"containerd 1.7 fleet": {minutes: 99, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 4)
			return func(int) {
				for _, node := range nodes {
					node.startUps(2, coarse)
					node.startUps(1, coarse.pulling(hub, 10*mib, 0.6))
				}
			}
		}},
		"node that pulls one image at a time all day": {minutes: 240, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 4)
			return func(int) {
				usual(nodes[1:]...)
				queued := healthy.pulling(hub, 10*mib, 0.6)
				queued.queue = 20
				nodes[0].startUps(2, queued)
			}
		}},
		"one huge image a day": quiet(120, func(_ *fleet, nodes []*target) func(int) {
			return during(onset, onset+3, func() {
				queued := healthy.pulling(big, 10*mib, 0.6)
				queued.queue = 300
				nodes[0].startUps(8, queued)
				nodes[0].startUps(1, healthy.pulling(hub, 9000*mib, 250))
			})
		}),
		"wrong clock of one node": {minutes: 99, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 4)
			return func(int) {
				usual(nodes[1:]...)
				skewed := healthy
				skewed.pickup = 4
				nodes[0].startUps(3, skewed)
				nodes[0].set("podlapse_clock_skew_seconds", `bound="least"`, 3.6)
				nodes[0].set("podlapse_clock_skew_seconds", `bound="most"`, 4.2)
			}
		}},
		"pod that waits ten minutes for its Secret": quiet(120, func(_ *fleet, nodes []*target) func(int) {
			return during(onset, onset+3, func() {
				waited := healthy
				waited.volumes = 600
				nodes[0].startUps(1, waited)
			})
		}),
	}
}

// pools returns a situation with six usual nodes and three GPU nodes. On the GPU nodes, containers start slowly. The
// argument "others" is the time that containers need to start on the first two GPU nodes, in seconds. The argument
// "last" is this time on the last GPU node. If labeled is true, all nodes have a pool: the usual nodes have it in a
// metric of the agent, and the GPU nodes have it in a label of the target.
func pools(labeled bool, others, last float64) script {
	return script{minutes: 99, begin: func(f *fleet) func(int) {
		general := f.nodes("node", 6)
		if labeled {
			for _, node := range general {
				node.set("podlapse_node_info", `node_pool="general",zone="a",region="",instance_type=""`, 1)
			}
			f.pool = "gpu"
		}
		gpus := f.nodes("gpu", 3)
		return func(int) {
			usual(general...)
			slow := healthy
			slow.containers = others
			for _, gpu := range gpus[:2] {
				gpu.startUps(3, slow)
			}
			slow.containers = last
			gpus[2].startUps(3, slow)
		}
	}}
}

// coarse is the pace of a start-up with a runtime that cannot separate the phases "volumes", "network" and "sandbox".
var coarse = pace{pickup: 0.05, containers: 0.2, unreported: 0.5}

// fresh is the pace of a start-up on a new node. The node has no images, and its network plugin has just started.
func fresh() pace {
	p := healthy.pulling(hub, 200*mib, 12)
	p.network, p.queue = 40, 150
	return p
}

// busy is the pace of a start-up on a node on which many pods start at the same time.
func busy() pace {
	p := healthy.pulling(hub, 50*mib, 4)
	p.sandbox, p.containers, p.queue = 3, 4, 60
	return p
}

// freshNode returns a function that adds a new node. For the given number of minutes, pods on this node wait for the
// network plugin and for a volume driver. Then all these pods start.
func freshNode(f *fleet, minutes int) func(minute int) {
	const pods = 15
	var node *target
	return func(minute int) {
		since := minute - onset
		switch {
		case since == 0:
			node = f.agent("new-1")
		case since > 0 && since < minutes:
			node.waiting("network", pods, float64(60*since))
			node.waiting("volumes", 2, float64(60*since))
		case since == minutes:
			node.waiting("network", 0, 0)
			node.waiting("volumes", 0, 0)
			late := fresh()
			late.network = float64(60 * minutes)
			node.startUps(pods, late)
		case since > minutes:
			usual(node)
		}
	}
}

// fleetPlays returns situations in which many nodes are added, removed or busy.
func fleetPlays() map[string]script {
	return map[string]script{
		"fresh node": quiet(180, func(f *fleet, _ []*target) func(int) {
			var node *target
			return func(minute int) {
				switch {
				case minute == onset:
					node = f.agent("new-1")
					node.waiting("network", 15, 90)
				case minute > onset && minute < onset+18:
					node.waiting("network", 0, 0)
					node.waiting("pull_queue", 10, float64(60*(minute-onset)))
					node.startUps(3, fresh())
				case minute >= onset+18:
					node.waiting("pull_queue", 0, 0)
					usual(node)
				}
			}
		}),
		"fresh node whose network plugin starts after ten minutes": quiet(180, func(f *fleet, _ []*target) func(int) {
			return freshNode(f, 12)
		}),
		"fresh node whose network plugin never starts, with `hostNetwork.enabled`": quiet(
			120,
			func(f *fleet, _ []*target) func(int) { return freshNode(f, 120) },
		),
		"autoscaling burst": quiet(165, func(f *fleet, nodes []*target) func(int) {
			var added []*target
			return func(minute int) {
				switch {
				case minute == onset:
					added = f.nodes("new", 6)
				case minute > onset && minute <= onset+9:
					for _, node := range added {
						node.waiting("pull_queue", 20, float64(60*(minute-onset)))
						node.startUps(10, fresh())
					}
					for _, node := range nodes[:3] {
						node.startUps(15, busy())
					}
				case minute == 150: // end of the burst
					for _, node := range added {
						node.leave()
					}
				case minute > onset && minute < 150:
					for _, node := range added {
						node.waiting("pull_queue", 0, 0)
					}
					usual(added...)
				}
			}
		}),
		"batch of 60 Jobs each hour on one node": quiet(165, func(_ *fleet, nodes []*target) func(int) {
			return func(minute int) {
				if minute%60 == 30 || minute%60 == 33 {
					nodes[0].startUps(30, busy())
				}
			}
		}),
		// Every ten minutes, an operator drains a node, and a new node replaces the drained node. The evicted pods
		// start on other nodes.
		"cluster upgrade": {minutes: 195, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 4)
			var kubelets []*target
			for i := range nodes {
				kubelets = append(kubelets, f.target("kubelet", fmt.Sprintf("node-%d:10250", i+1),
					fmt.Sprintf("node-%d", i+1)))
			}
			var replaced []*target
			began := map[*target]int{}
			return func(minute int) {
				if n := (minute - onset) / 12; minute >= onset && (minute-onset)%12 == 0 && n < len(nodes) {
					added := f.agent(fmt.Sprintf("new-%d", n+1))
					f.target("kubelet", fmt.Sprintf("new-%d:10250", n+1), fmt.Sprintf("new-%d", n+1))
					replaced, began[added] = append(replaced, added), minute
					nodes[n].leave()
					kubelets[n].leave()
					for _, node := range nodes[n+1:] {
						node.startUps(3, busy())
					}
				}
				for _, node := range replaced {
					if minute-began[node] < 9 {
						node.startUps(5, fresh())
					} else {
						usual(node)
					}
				}
				usual(nodes...)
			}
		}},
	}
}
