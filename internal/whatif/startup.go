package whatif

import (
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// startUp is a completed start-up of known length. All times are relative to the creation of the pod.
type startUp struct {
	record     *api.Record
	phases     []api.PhaseRecord
	containers []container // all containers in the kubelet's start order, without image volumes
	total      time.Duration
	totalError time.Duration
	ready      interval // when all containers were ready
	last       string   // the container that was ready last; empty if unknown

	// The next three fields do not depend on the change. Predict reads them for each pair of a change and a container,
	// so newStartUp computes them only once.
	spans   []span   // one span for each phase
	work    *startUp // the start-up until the end of the kubelet's work; nil if the record contains no such work
	workEnd interval // the end of the kubelet's work
}

// span contains precomputed values of one phase.
type span struct {
	start, end time.Duration
	most       time.Duration // see longestTime
	others     bool          // see waitsForOthers
}

// container describes one container of the start-up.
type container struct {
	name  string
	kind  timeline.ContainerKind
	runs  int      // the number of known runs
	first interval // start of the first run
	final interval // start of the latest run

	firstAttempt, finalAttempt int
	firstStart, finalStart     interval // see startOf
	ready                      interval // when the container was ready; never later than the pod's readiness
	probes                     map[timeline.ProbeKind]api.ProbeRecord

	listed        interval                    // see listedEarlier
	listedNoCrash interval                    // the result of listedEarlier without failed runs
	awaited       map[timeline.ProbeKind]bool // the probes that the start-up might have waited for
}

// newStartUp reads a record. The second result is false if the start-up did not end in the state ready or succeeded, or
// if its length is unknown. The second result is also false if the record exceeds a limit of this package, or lacks
// evidence that every prediction needs.
func newStartUp(record *api.Record) (*startUp, bool) {
	total, bound := record.Total.Duration(), record.TotalError.Duration()
	if record.State != timeline.StateReady && record.State != timeline.StateSucceeded ||
		!record.HasDuration() || total > maxLength || len(record.Phases) == 0 ||
		len(record.Phases) > maxPhases {
		return nil, false
	}
	if slices.ContainsFunc(record.Missing, func(m string) bool { return strings.HasPrefix(m, "attempts beyond") }) {
		return nil, false // the record lacks some runs or pulls
	}
	s := &startUp{record: record, phases: record.Phases, total: total, totalError: bound}
	rest := total
	for i := range s.phases {
		phase := &s.phases[i]
		if phase.Length < 0 || phase.Error < 0 || phase.Length.Duration() > rest || phase.Error.Duration() > maxLength {
			return nil, false
		}
		rest -= phase.Length.Duration()
	}
	if rest > 0 {
		return nil, false // the phases of a valid record add up to the total
	}
	s.ready = interval{total - bound, total + bound}
	if all, known := s.milestoneInterval("containers_ready", ""); known {
		s.ready = all
	}
	s.last = s.readyLast()
	if !s.addContainers() {
		return nil, false
	}
	for i := range s.phases {
		phase := &s.phases[i]
		s.spans = append(s.spans, span{start: s.since(phase.StartAt), end: s.since(phase.EndAt),
			most: longestTime(phase), others: waitsForOthers(phase)})
	}
	s.addWaits()
	s.addWork()
	return s, true
}

// addWaits computes the fields listed, listedNoCrash and awaited of each container. These fields depend on the list of
// phases.
func (s *startUp) addWaits() {
	for i := range s.containers {
		c := &s.containers[i]
		c.listed, c.listedNoCrash = s.listedEarlier(c, false), s.listedEarlier(c, true)
		c.awaited = map[timeline.ProbeKind]bool{}
		for kind, name := range probePhases() {
			if s.waitsFor(c, name) {
				c.awaited[kind] = true
			}
		}
	}
}

// addContainers lists the containers. The result is false if the record contains no main container, or if the pod has
// more than maxPredicted containers. The result is also false if the start of a main container or of a sidecar is
// unknown.
func (s *startUp) addContainers() bool {
	for i := range s.record.Pulls { // the record has at least one pull for each container
		pull := &s.record.Pulls[i]
		known := slices.ContainsFunc(s.containers, func(c container) bool { return c.name == pull.Container })
		if known || pull.Kind == timeline.KindEphemeral || pull.Kind == timeline.KindImageVolume {
			continue
		}
		if len(s.containers) == maxPredicted {
			return false
		}
		c := container{name: pull.Container, kind: pull.Kind, probes: map[timeline.ProbeKind]api.ProbeRecord{}}
		for _, probe := range s.record.Probes {
			if probe.Container == c.name && probe.Period > 0 {
				for _, setting := range []*api.Seconds{&probe.Period, &probe.Timeout, &probe.InitialDelay} {
					*setting = min(max(*setting, 0), api.Seconds(maxProbe))
				}
				c.probes[probe.Kind] = probe
			}
		}
		s.addRuns(&c)
		if c.runs == 0 && c.kind != timeline.KindInit {
			return false
		}
		c.ready = interval{c.final.low, s.ready.high}
		if ready, known := s.milestoneInterval("container_ready", c.name); known {
			c.ready = interval{max(ready.low, c.final.low), min(ready.high, s.ready.high)}
		}
		if c.name == s.last {
			c.ready = s.ready
		}
		c.firstStart, c.finalStart = s.startOf(&c, true), s.startOf(&c, false)
		s.containers = append(s.containers, c)
	}
	return slices.ContainsFunc(s.containers, func(c container) bool { return c.kind == timeline.KindMain })
}

// addRuns finds the first and the latest run of a container.
func (s *startUp) addRuns(c *container) {
	for i := range s.record.Milestones {
		m := &s.record.Milestones[i]
		if m.Milestone != "running" || m.Container != c.name {
			continue
		}
		at := s.milestoneOr(m)
		if c.runs == 0 || m.Attempt < c.firstAttempt {
			c.firstAttempt, c.first = m.Attempt, at
		}
		if c.runs == 0 || m.Attempt > c.finalAttempt {
			c.finalAttempt, c.final = m.Attempt, at
		}
		c.runs++
	}
}

// readyLast returns the name of the container that was ready last. The method reads the name from the last phases of
// the start-up. If the evidence does not show which container was ready last, the result is empty.
func (s *startUp) readyLast() string {
	for _, phase := range slices.Backward(s.phases) {
		switch {
		case phase.Phase == timeline.PhaseReadinessGates:
			continue
		case phase.Phase.IsFinalWait():
			mixed := func(p timeline.Phase) bool {
				return p != timeline.PhaseReadinessProbe && p != timeline.PhaseStartupProbe
			}
			if !slices.ContainsFunc(phase.MergedWith, mixed) {
				return phase.Container
			}
		}
		break
	}
	return ""
}

// milestoneInterval returns the interval of the named milestone. If several attempts have the milestone, the result is
// from the attempt with the highest number.
func (s *startUp) milestoneInterval(name, container string) (at interval, known bool) {
	attempt := 0
	for i := range s.record.Milestones {
		m := &s.record.Milestones[i]
		if m.Milestone == name && m.Container == container && (!known || m.Attempt > attempt) {
			attempt, at, known = m.Attempt, s.milestoneOr(m), true
		}
	}
	return at, known
}

// milestoneOr returns the interval of a milestone. If an end of the interval is unknown, the method uses the
// start or the end of the start-up instead.
func (s *startUp) milestoneOr(m *api.MilestoneRecord) interval {
	at := interval{0, s.total + s.totalError}
	if !m.Earliest.IsZero() {
		at.low = max(at.low, s.since(m.Earliest))
	}
	if !m.Latest.IsZero() {
		at.high = min(at.high, s.since(m.Latest))
	}
	return interval{min(at.low, at.high), at.high}
}

func (s *startUp) since(at api.Instant) time.Duration {
	return bounded(at.Sub(s.record.CreatedAt.Time))
}
