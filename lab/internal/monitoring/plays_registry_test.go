package monitoring

func registryPlays() map[string]script {
	const typo = "typo.example"
	return map[string]script{
		"one node that cannot reach a registry": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() { nodes[0].failing(hub, "timeout", 6, 1, 2, 3) })
		}),
		"one node that cannot reach a registry, with `--metrics-pod-labels`": quiet(45,
			func(_ *fleet, nodes []*target) func(int) {
				return during(early, 45, func() {
					nodes[0].failing(hub, "timeout", 6, 1, 2, 3)
					nodes[0].backingOff("web-0")
				})
			}),
		"failing registry that only one node uses": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			const rare = "rare.example"
			nodes[0].startUps(1, healthy.pulling(rare, mib, 1))
			return during(early, 45, func() { nodes[0].failing(rare, "timeout", 6, 1, 2, 3) })
		}),
		"registry outage in a cluster with one node": {minutes: 45, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 1)
			return func(minute int) {
				if minute < early {
					usual(nodes...)
					return
				}
				nodes[0].startUps(1, healthy.pulling(big, 10*mib, 0.6))
				nodes[0].failing(hub, "timeout", 4, 1, 2)
			}
		}},
		// Each run of the CronJob leaves one waiting pod on a node. An earlier pull from this registry succeeded.
		"one bad CronJob": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			nodes[0].startUps(1, healthy.pulling(typo, mib, 1))
			return during(early, 45, func() {
				for _, node := range nodes[:3] {
					node.failing(typo, "dns", 3, 7)
					node.waiting("image_backoff", 3, 290)
				}
			})
		}),
		"misspelled image of one Deployment": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() {
				nodes[0].failing(typo, "dns", 4, 7)
				nodes[1].failing(hub, "not_found", 4, 7)
			})
		}),
		"misspelled image of one Deployment, with `--metrics-pod-labels`": quiet(45,
			func(_ *fleet, nodes []*target) func(int) {
				return during(early, 45, func() {
					nodes[1].failing(hub, "not_found", 1, 7)
					nodes[1].backingOff("web-0")
				})
			}),
		"registry outage": registryOutage(90, false), // the outage outlasts the simulation
		"registry outage, with `--metrics-pod-labels`": registryOutage(90, true),
		// The alert about the registry fires, and a client then deletes the waiting pods.
		"registry outage, pods deleted afterwards":                              registryOutage(early+24, false),
		"registry outage, pods deleted afterwards, with `--metrics-pod-labels`": registryOutage(early+24, true),
		"new registry that never worked": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() {
				nodes[0].failing("new.example", "tls", 2, 1, 2)
				nodes[1].failing("new.example", "tls", 2, 3)
			})
		}),
		"new registry that never worked, with `--metrics-pod-labels`": quiet(45,
			func(_ *fleet, nodes []*target) func(int) {
				return during(early, 45, func() {
					nodes[0].failing("new.example", "tls", 2, 1, 2)
					nodes[1].failing("new.example", "tls", 2, 3)
					nodes[0].backingOff("web-0")
				})
			}),
		"registry limits the rate of some pulls": quiet(45, func(_ *fleet, nodes []*target) func(int) {
			return during(early, 45, func() {
				for i, node := range nodes {
					node.failing(hub, "rate_limited", 1, i)
				}
			})
		}),
		"slow registry": {minutes: 75, begin: func(f *fleet) func(int) {
			nodes := f.nodes("node", 6)
			return func(minute int) {
				for _, node := range nodes {
					if minute < early {
						usual(node)
						continue
					}
					node.startUps(1, healthy.pulling(big, 10*mib, 0.6))
					node.startUps(1, healthy.pulling(hub, 10*mib, 20))
				}
			}
		}},
	}
}

// longestBackOff is the number of minutes from the first failed attempt until a pod has been in a back-off for more
// than four minutes. Each attempt takes 30 seconds, and the back-off grows from ten seconds to five minutes.
const longestBackOff = 12

// backingOff adds a pod of the namespace "shop" that is in the longest back-off after a failed pull.
func (a *target) backingOff(name string) {
	a.waiting("image_backoff", 1, 290)
	a.pod("shop", name, "image_backoff", "backoff", 290)
}

// registryOutage returns the script of a registry outage until the given minute. The outage affects four of six nodes.
// After the outage, a client deletes the waiting pods. The start-ups of these pods lack no evidence. If podLabels is
// true, the agents also report the pods.
func registryOutage(until int, podLabels bool) script {
	return script{minutes: 75, begin: func(f *fleet) func(int) {
		nodes := f.nodes("node", 6)
		return func(minute int) {
			if minute < early || minute > until {
				usual(nodes...)
				return
			}
			for i, node := range nodes {
				node.startUps(1, healthy)
				node.startUps(1, healthy.pulling(big, 10*mib, 0.6))
				if i < 4 {
					node.outage(minute, until, i, podLabels)
				}
			}
		}
	}}
}

// outage adds one sample of a registry outage to a node. The pods on the node belong to the given group.
func (a *target) outage(minute, until, group int, podLabels bool) {
	const phase = "image_backoff"
	if minute == until {
		a.failing(hub, "timeout", 0)
		a.waiting(phase, 0, 0)
		a.count("podlapse_pod_startups_total", `state="deleted"`, 2)
		a.noPod("shop", "web-0", phase, "backoff")
		return
	}
	age := 150.0
	if minute >= early+longestBackOff {
		age = 290
	}
	a.failing(hub, "timeout", 2, group)
	a.waiting(phase, 2, age)
	if podLabels {
		a.pod("shop", "web-0", phase, "backoff", age)
	}
}
