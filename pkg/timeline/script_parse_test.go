package timeline

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

func (s *script) spec(words []string) error {
	if len(words) < 3 {
		return fmt.Errorf("spec KIND NAME IMAGE")
	}
	defaultTiming := ProbeTiming{Period: 10 * time.Second, Timeout: time.Second, Successes: 1}
	c := Container{Kind: ContainerKind(words[0]), Name: words[1], Image: words[2], PullPolicy: PullIfNotPresent}
	for _, w := range words[3:] {
		switch w {
		case "Always", "Never":
			c.PullPolicy = PullPolicy(w)
		case "startup":
			c.StartupProbe, c.StartupTiming = true, defaultTiming
		case "hook":
			c.PostStartHook = true
		case "never":
			c.RestartsNever = true
		case "liveness":
			c.LivenessProbe = true
		case "limit":
			c.MemoryLimited = true
		case "prestop":
			c.PreStopHook = true
		case "readiness":
			c.ReadinessProbe, c.ReadinessTiming = true, defaultTiming
		case "restarts":
			c.RestartsAlways = true
		default:
			return fmt.Errorf("unknown %q", w)
		}
	}
	s.pod.Containers = append(s.pod.Containers, c)
	return nil
}

func (s *script) podLine(at time.Time, rest string) error {
	live := true
	for _, change := range strings.Split(rest, "|") {
		words := strings.Fields(change)
		if len(words) == 0 {
			continue
		}
		i := slices.IndexFunc(s.pod.Containers, func(c Container) bool { return c.Name == words[0] })
		if i >= 0 {
			s.pod.Containers = slices.Clone(s.pod.Containers)
			if err := containerChange(&s.pod.Containers[i], words[1:]); err != nil {
				return err
			}
			continue
		}
		for _, w := range words {
			if w == "listed" {
				live = false
				continue
			}
			if reason, ok := strings.CutPrefix(w, "reason="); ok {
				s.pod.Reason = reason
				continue
			}
			if phase, ok := strings.CutPrefix(w, "phase="); ok {
				s.pod.Phase = phase
				continue
			}
			if w == "observed" {
				s.pod.DeletionObserved = true
				continue
			}
			if w == "finalizers" {
				s.pod.Finalizers = true
				continue
			}
			if reason, ok := strings.CutPrefix(w, "disruption="); ok {
				s.pod.Disruption = reason
				continue
			}
			if grace, ok := strings.CutPrefix(w, "grace="); ok {
				d, err := time.ParseDuration(grace + "s")
				if err != nil {
					return err
				}
				s.pod.DeletionGrace = d
				continue
			}
			name, stamp, err := stamped(w)
			if err != nil {
				return err
			}
			switch name {
			case "failedby":
				s.pod.FailedBy = stamp
			case "unready":
				s.condition("ContainersReady", false, stamp)
				s.condition("Ready", false, stamp)
			case "containers_unready":
				s.condition("ContainersReady", false, stamp)
			case "acknowledged":
				s.pod.AcknowledgedAt = stamp
			case "deleted":
				s.pod.DeletedAt = stamp
			default:
				types := map[string]string{"scheduled": "PodScheduled", "containers_ready": "ContainersReady",
					"ready": "Ready"}
				if types[name] == "" {
					return fmt.Errorf("unknown %q", w)
				}
				s.condition(types[name], true, stamp)
			}
		}
	}
	s.observations = append(s.observations, PodSeen{ArrivedAt: at, Live: live, Pod: s.pod})
	return nil
}

// condition sets a condition of the pod. Earlier observations keep their conditions.
func (s *script) condition(name string, value bool, at time.Time) {
	s.pod.Conditions = slices.DeleteFunc(slices.Clone(s.pod.Conditions),
		func(c Condition) bool { return c.Type == name })
	s.pod.Conditions = append(s.pod.Conditions, Condition{name, value, at})
}

func containerChange(c *Container, words []string) error {
	for _, w := range words {
		name, value, _ := strings.Cut(w, "=")
		var err error
		switch {
		case w == "waiting":
			c.State, c.StartedAt, c.FinishedAt, c.Started, c.Ready = StateWaiting, time.Time{}, time.Time{}, false,
				false
			c.WaitingReason, c.Misconfigured, c.PullFailure = "", false, ""
		case w == "lost": // the kubelet writes this status for a container that it does not find
			c.State, c.StartedAt, c.FinishedAt, c.ExitCode, c.EndReason = StateTerminated, time.Time{}, time.Time{},
				137,
				"ContainerStatusUnknown"
		case w == "started":
			c.Started = true
		case w == "ready":
			c.Ready = true
		case w == "unready":
			c.Ready = false
		case name == "image":
			c.Image = value
		case name == "attempt":
			c.Attempt, err = strconv.Atoi(value)
		case name == "exit":
			c.ExitCode, err = strconv.Atoi(value)
		case name == "died":
			c.EndReason = value
		case name == "reason":
			c.WaitingReason = value
			c.Misconfigured = value == "CreateContainerConfigError" || value == "ErrImageNeverPull"
		case w == "unexplained": // the kubelet's message is not about the configuration
			c.Misconfigured = false
		case name == "pullfailure":
			c.PullFailure = imagepull.Failure(value)
		case name == "last":
			from, to, _ := strings.Cut(value, "-")
			c.LastRun = &Run{ExitCode: 1}
			if c.LastRun.StartedAt, err = moment(from); err == nil {
				c.LastRun.FinishedAt, err = moment(to)
			}
		case strings.HasPrefix(w, "running@"):
			c.State, c.WaitingReason, c.Misconfigured, c.PullFailure = StateRunning, "", false, ""
			_, c.StartedAt, err = stamped(w)
		case strings.HasPrefix(w, "terminated@"):
			c.State, c.WaitingReason, c.Misconfigured, c.PullFailure = StateTerminated, "", false, ""
			from, to, _ := strings.Cut(strings.TrimPrefix(w, "terminated@"), "-")
			if c.StartedAt, err = moment(from); err == nil {
				c.FinishedAt, err = moment(to)
			}
		default:
			err = fmt.Errorf("unknown %q", w)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func stamped(word string) (name string, at time.Time, err error) {
	name, value, ok := strings.Cut(word, "@")
	if !ok {
		return "", time.Time{}, fmt.Errorf("%q is not NAME@SECONDS", word)
	}
	at, err = moment(value)
	return name, at, err
}

func moment(seconds string) (time.Time, error) {
	d, err := time.ParseDuration(seconds + "s")
	return base.Add(d), err
}

func (s *script) line(line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "available":
		s.scope.Runtime, s.scope.Events = strings.Contains(rest, "runtime"), strings.Contains(rest, "events")
		return nil
	case "since":
		at, err := moment(rest)
		s.scope.Since = at
		return err
	case "skew":
		least, most, _ := strings.Cut(rest, " ")
		from, err := moment(least)
		if err != nil {
			return err
		}
		to, err := moment(most)
		s.skew = Skew{from.Sub(base), to.Sub(base)}
		return err
	case "static":
		at, err := moment(rest)
		s.pod.ReadAt, s.pod.RuntimeUID = at, "manifest-1"
		return err
	case "created":
		at, err := moment(rest)
		s.pod.CreatedAt = at
		return err
	case "verdict":
		s.verdict = true
		return nil
	case "gates":
		s.pod.ReadinessGates = true
		return nil
	case "secrets":
		s.pod.PullSecrets = true
		return nil
	case "hostnetwork":
		s.pod.HostNetwork = true
		return nil
	case "claims":
		s.pod.ResourceClaims = true
		return nil
	case "volumeclaims":
		s.pod.VolumeClaims, s.pod.RemoteVolumes = true, true
		return nil
	case "scheduledbykubelet":
		s.pod.ScheduledByKubelet = true
		return nil
	case "unmanaged":
		s.pod.FieldsManaged = false
		return nil
	case "kubelet":
		s.pod.KubeletGeneration = 0
		return nil
	case "generation":
		var err error
		s.pod.Generation, err = strconv.ParseInt(rest, 10, 64)
		return err
	case "unschedulable":
		at, err := moment(rest)
		s.pod.UnschedulableAt = at
		return err
	case "at":
		at, err := moment(rest)
		s.asOf = at
		return err
	case "spec":
		return s.spec(strings.Fields(rest))
	}
	at, err := moment(word)
	if err != nil {
		return err
	}
	s.asOf = at
	return s.parseObservation(at, strings.TrimSpace(rest))
}

// parseObservation reads a line that begins with a time.
func (s *script) parseObservation(at time.Time, line string) error {
	kind, rest, _ := strings.Cut(line, " ")
	switch kind {
	case "pod":
		return s.podLine(at, rest)
	case "gone":
		s.observations = append(s.observations, PodGone{UID: s.pod.UID, ArrivedAt: at, Live: true})
		return nil
	case "blind":
		s.observations = append(s.observations, EventsLost{UID: s.pod.UID, ArrivedAt: at, Limited: rest == "limited"})
		return nil
	case "watched":
		watched := EventsWatched{UID: s.pod.UID, ArrivedAt: at, OpenedAt: at}
		if rest != "" {
			var err error
			rest, watched.Limited = strings.CutSuffix(rest, " limited")
			if _, watched.Since, err = stamped(rest); err != nil {
				return err
			}
		}
		s.observations = append(s.observations, watched)
		return nil
	case "event":
		return s.eventLine(at, rest)
	case "runtime":
		return s.runtimeLine(at, rest)
	case "clock":
		later, err := moment(rest)
		s.observations = append(s.observations, ClockSet{ArrivedAt: at, By: later.Sub(base)})
		return err
	}
	return fmt.Errorf("unknown kind %q", kind)
}

func parseScript(t testing.TB, input []byte) *script {
	t.Helper()
	s := &script{pod: Pod{
		UID: "uid-1", RuntimeUID: "uid-1", Namespace: "ns", Name: "pod", Node: "node-1", CreatedAt: base,
		Phase:      "Pending",
		Generation: 1, KubeletGeneration: 1, FieldsManaged: true,
	}}
	lines := bufio.NewScanner(bytes.NewReader(input))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := s.line(line); err != nil {
			t.Fatalf("line %d: %s: %v", n, line, err)
		}
	}
	return s
}
