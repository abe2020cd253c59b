package monitoring

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// step is the time between two samples of a situation, and between two evaluations of the rules. Fifteen minutes are a
// multiple of step.
const step = 3 * time.Minute

// series is one time series of a situation, with one value for each step. A step with the value
// NaN has no sample.
type series struct {
	name   string
	values []float64
}

// fleet simulates the targets of one cluster, and records their series from the first step.
type fleet struct {
	cluster string
	steps   int // number of recorded steps
	// If lean is true, the fleet omits most buckets and phases with no duration. promtool rejects queries of more than
	// 10,000 samples.
	lean bool
	// pool is the label node_pool of all targets that are added from now on. If pool is empty, these targets have no
	// label node_pool.
	pool   string
	agents []*target
	series map[string]*series
}

// target is one scrape target of Prometheus on a node.
type target struct {
	fleet   *fleet
	labels  string
	up      float64
	present bool
	values  map[string]float64
}

func newFleet(cluster string) *fleet { return &fleet{cluster: cluster, series: map[string]*series{}} }

// target adds a target that responds to scrapes.
func (f *fleet) target(job, instance, node string) *target {
	t := &target{fleet: f, up: 1, present: true, values: map[string]float64{},
		labels: fmt.Sprintf(`cluster=%q,job=%q,instance=%q,node=%q`, f.cluster, job, instance, node)}
	if f.pool != "" {
		t.labels += fmt.Sprintf(`,node_pool=%q`, f.pool)
	}
	f.agents = append(f.agents, t)
	return t
}

// agent adds the agent of a node. All counters of the agent are zero.
func (f *fleet) agent(node string) *target { return f.agentAt(node, node+":9717") }

func (f *fleet) agentAt(node, instance string) *target {
	a := f.target("podlapse/podlapse-agent", instance, node)
	a.set("podlapse_build_info", "", 1)
	for _, source := range []string{"pod_watch", "event_watch", "cri"} {
		a.set("podlapse_source_up", "source="+quoted(source), 1)
	}
	for _, name := range []string{"podlapse_evidence_incomplete_total", "podlapse_evidence_unreported_total",
		"podlapse_state_dropped_total", "podlapse_image_unpack_duration_seconds_sum"} {
		a.set(name, "", 0)
	}
	a.set("podlapse_sink_dropped_total", `sink="records"`, 0)
	a.set("podlapse_events_lost_total", `reason="Pulled"`, 0)
	if !f.lean {
		a.startUps(0, healthy)
	}
	return a
}

// nodes adds the agents of n nodes. The name of each node is the prefix followed by a number.
func (f *fleet) nodes(prefix string, n int) (all []*target) {
	for i := range n {
		all = append(all, f.agent(fmt.Sprintf("%s-%d", prefix, i+1)))
	}
	return all
}

func quoted(text string) string { return fmt.Sprintf("%q", text) }

func (a *target) set(name, labels string, value float64) { a.values[name+"{"+labels] = value }

func (a *target) unset(name, labels string) { delete(a.values, name+"{"+labels) }

func (a *target) count(name, labels string, by float64) { a.values[name+"{"+labels] += by }

// leave removes the target, for example because its node was removed.
func (a *target) leave() { a.present = false }

// pace contains the durations of the phases of one start-up, in seconds. A pace also contains the registry and the size
// of the image that the start-up pulls.
type pace struct {
	pickup, volumes, network, sandbox, containers float64
	queue, pull, unpack                           float64
	bytes                                         float64
	registry                                      string
	unreported                                    float64 // seconds in phases that the runtime cannot separate
}

// healthy is the pace of a start-up without problems. Its image is already on the node.
var healthy = pace{pickup: 0.05, volumes: 0.3, network: 0.05, sandbox: 0.12, containers: 0.2}

// pulling returns the pace p with an additional pull of an image of the given size.
func (p pace) pulling(registry string, bytes, seconds float64) pace {
	p.registry, p.bytes, p.pull, p.unpack = registry, bytes, seconds, bytes/(100<<20)
	return p
}

// startUps adds n completed start-ups to the counters.
func (a *target) startUps(n float64, p pace) {
	phase := func(name string, seconds float64) {
		if a.fleet.lean && seconds == 0 {
			return
		}
		a.count("podlapse_pod_phase_duration_seconds_sum", "phase="+quoted(name), n*seconds)
		if seconds > 0 {
			a.count("podlapse_pod_phase_steps_total", "phase="+quoted(name), n)
		} else {
			a.count("podlapse_pod_phase_steps_total", "phase="+quoted(name), 0)
		}
	}
	a.count("podlapse_pod_startups_total", `state="ready"`, n)
	phase("kubelet_pickup", p.pickup)
	phase("volumes", p.volumes)
	phase("network", p.network)
	phase("sandbox", p.sandbox)
	phase("kubelet_sync", p.containers/2)
	phase("container_create", p.containers/4)
	phase("container_start", p.containers/4)
	phase("unattributed", p.unreported)
	phase("pull_queue", p.queue)
	phase("pull", p.pull)
	phase("unpack", p.unpack)
	own := p.pickup + p.volumes + p.network + p.sandbox + p.containers
	a.count("podlapse_pod_startup_duration_seconds_count", "", n)
	a.count("podlapse_pod_startup_duration_seconds_sum", "", n*(own+p.unreported+p.queue+p.pull+p.unpack))
	buckets := []float64{0.5, 1, 2, 3, 5, 10, 30, math.Inf(1)}
	if a.fleet.lean {
		buckets = []float64{1, 5, math.Inf(1)}
	}
	for _, le := range buckets {
		within := 0.0
		if own <= le && p.unreported == 0 {
			within = n
		}
		a.count("podlapse_pod_startup_sli_duration_seconds_bucket", `le="`+bucketText(le)+`"`, within)
	}
	if p.unreported > 0 {
		a.count("podlapse_evidence_unreported_total", "", n)
	}
	if p.registry == "" || n == 0 {
		return
	}
	registry := "registry=" + quoted(p.registry)
	of, within := registry+`,outcome="downloaded"`, 0.0
	if p.pull+p.unpack <= 5 {
		within = n
	}
	a.count("podlapse_image_pull_duration_seconds_count", of, n)
	a.count("podlapse_image_pull_duration_seconds_bucket", of+`,le="5"`, within)
	a.count("podlapse_image_pulls_sized_total", registry, n)
	a.count("podlapse_image_pull_sized_seconds_total", registry, n*(p.pull+p.unpack))
	a.count("podlapse_image_pull_sized_bytes_total", registry, n*p.bytes)
	a.count("podlapse_image_pull_sized_unpack_seconds_total", registry, n*p.unpack)
	a.count("podlapse_image_unpack_duration_seconds_sum", "", n*p.unpack)
}

func bucketText(le float64) string { return strings.TrimPrefix(fmt.Sprint(le), "+") }

// waiting sets the number of pods that are in a phase now. The argument "seconds" is the time that the oldest of these
// pods has been in the phase.
func (a *target) waiting(phase string, pods, seconds float64) {
	a.set("podlapse_pods_starting", "phase="+quoted(phase), pods)
	a.set("podlapse_pods_starting_oldest_age_seconds", "phase="+quoted(phase), seconds)
}

// pod sets the time that a pod has been in a phase. Agents report this time only with --metrics-pod-labels.
func (a *target) pod(namespace, name, phase, cause string, seconds float64) {
	a.set("podlapse_pod_phase_age_seconds", podSeries(namespace, name, phase, cause), seconds)
}

// noPod removes the series of a pod that the method pod added.
func (a *target) noPod(namespace, name, phase, cause string) {
	a.unset("podlapse_pod_phase_age_seconds", podSeries(namespace, name, phase, cause))
}

func podSeries(namespace, name, phase, cause string) string {
	return fmt.Sprintf("namespace=%q,pod=%q,phase=%q,cause=%q", namespace, name, phase, cause)
}

// receiving sets the number of bytes that the pulls in progress have received.
func (a *target) receiving(registry string, bytes float64) {
	a.set("podlapse_image_pulls_active_bytes", "registry="+quoted(registry), bytes)
}

// failing sets the number of failing pulls and the groups of workloads that the failures affect.
func (a *target) failing(registry, reason string, pulls float64, groups ...int) {
	of := fmt.Sprintf("registry=%q,reason=%q", registry, reason)
	a.set("podlapse_image_pulls_failing", of, pulls)
	for _, group := range groups {
		a.set("podlapse_image_pulls_failing_workloads", fmt.Sprintf(`%s,group="%d"`, of, group), 1)
	}
}

// sample records the values of all present targets, and then goes to the next step.
func (f *fleet) sample() {
	for _, t := range f.agents {
		if !t.present {
			continue
		}
		f.record("up{", t.labels, t.up)
		if t.up == 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.values)) {
			f.record(name, t.labels, t.values[name])
		}
	}
	f.steps++
	for _, s := range f.series {
		for len(s.values) < f.steps {
			s.values = append(s.values, math.NaN())
		}
	}
}

func (f *fleet) record(name, labels string, value float64) {
	if !strings.HasSuffix(name, "{") {
		labels = "," + labels
	}
	name += labels + "}"
	s := f.series[name]
	if s == nil {
		s = &series{name: name, values: slices.Repeat([]float64{math.NaN()}, f.steps)}
		f.series[name] = s
	}
	s.values = append(s.values, value)
}

// text returns the values in promtool's notation. If the values grow by equal steps, promtool has a short notation.
func (s *series) text() string {
	if start, growth, even := s.even(); even {
		return fmt.Sprintf("%g+%gx%d", start, growth, len(s.values)-1)
	}
	words := make([]string, len(s.values))
	for i, value := range s.values {
		switch {
		case !math.IsNaN(value):
			words[i] = fmt.Sprintf("%g", value)
		case i > 0 && !math.IsNaN(s.values[i-1]):
			words[i] = "stale"
		default:
			words[i] = "_"
		}
	}
	return strings.Join(words, " ")
}

// even reports whether the values grow by equal steps, apart from rounding errors.
func (s *series) even() (start, growth float64, even bool) {
	if len(s.values) < 2 {
		return 0, 0, false
	}
	start, growth = s.values[0], s.values[1]-s.values[0]
	for i, value := range s.values {
		if !(math.Abs(value-start-growth*float64(i)) < 1e-6) { // for NaN, the comparison is false
			return 0, 0, false
		}
	}
	return start, growth, growth >= 0
}
