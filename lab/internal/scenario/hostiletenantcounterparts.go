package scenario

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/blame"
)

// startUp contains the values of one start-up that the scenario compares with other start-ups.
type startUp struct {
	words    []string          // outcome and pulls of the pod
	blockers []string          // pulls that delayed the pod's own pulls
	causes   map[string]string // cause of each phase
	lengths  map[string]time.Duration
	errors   map[string]time.Duration
	// If the agent cannot separate some phases, it reports their time as one phase. The field MergedWith of this phase
	// lists the candidates: other phases that can have a part of this time. For each candidate, "possible" contains the
	// total duration of the reported phases with this candidate. The field "unattributed" contains the total duration
	// of all reported phases with candidates.
	possible     map[string]time.Duration
	unattributed time.Duration
	// For each cause, "truth" contains the total duration according to the independent logs. If a period has several
	// possible causes, its duration counts for each of these causes.
	truth map[string]time.Duration
}

// judgeCounterparts compares each honest pod of an attacked block (see honestBlock) with its counterparts. The
// counterparts are the same pods in the two blocks without the attack. In all three blocks, the agent has the same
// flags. The pod must have the same outcome and the same pulls as one of its counterparts. If a phase takes at least
// comparedFrom in both counterparts, its duration must be about the same during the attack. Two kinds of differences
// are allowed:
//
//   - According to the independent logs, the pod really waited longer or shorter during the attack: see
//     differenceInTruth.
//   - The agent lists the phase as a candidate for unattributed time. In this case, the phase is allowed to be shorter
//     by the unattributed time. The same unattributed time counts for only one phase.
//
// The remaining difference must not exceed the sum of three values: the largest difference between the two blocks
// without the attack, the agent's error bounds, and loadLimit.
//
// judgeCounterparts does not compare phases that are long only during the attack, for example the phase "sandbox" on a
// busy machine. If a phase ends when the kubelet retries, judgeCounterparts does not compare the duration of this
// phase. The method exam.judgeRow compares all phases with the independent logs.
func (r *tenantRun) judgeCounterparts() {
	byFlags := make(map[string][]honestBlock)
	for _, block := range r.blocks {
		byFlags[block.flags] = append(byFlags[block.flags], block)
	}
	for _, flags := range slices.Sorted(maps.Keys(byFlags)) {
		var alone, attacked []map[string]startUp
		var firedAlone []map[string]bool
		var fired map[string]bool
		for _, block := range byFlags[flags] {
			if counterparts := r.counterpartsOf(block.name); block.attacked {
				attacked, fired = append(attacked, counterparts), block.fired
			} else {
				alone, firedAlone = append(alone, counterparts), append(firedAlone, block.fired)
			}
		}
		if len(alone) != 2 || len(attacked) != 1 {
			r.v.Problem("%s: got %d blocks without the attack and %d with the attack, want 2 and 1", flags, len(alone),
				len(attacked))
			continue
		}
		judgeAlerts(r.v, flags, firedAlone, fired)
		spread := spreadOf(alone[0], alone[1])
		r.v.Note("%s: phases of two runs without the attack differ by at most %s s", flags, seconds(spread))
		for kind, got := range attacked[0] {
			r.judgeCounterpart(flags+": "+kind, alone[0][kind], alone[1][kind], got, spread)
		}
	}
}

// judgeCounterpart compares one pod with its two counterparts.
func (r *tenantRun) judgeCounterpart(what string, first, second, got startUp, spread time.Duration) {
	r.v.Compared += 1 + len(first.lengths)
	if got.truth[string(blame.PullQueue)] < comparedFrom && len(got.blockers) == 0 {
		// During the attack, the pod hardly waited in the pull queue, because the blocking pull ended early. So the
		// pulls that blocked the counterparts are not compared.
		first.blockers, second.blockers = nil, nil
	}
	got.words = append(got.words, got.blockers...)
	first.words, second.words = append(first.words, first.blockers...), append(second.words, second.blockers...)
	if !slices.Equal(got.words, first.words) && !slices.Equal(got.words, second.words) {
		r.v.Problem("%s must be the same with and without the attack; with the attack:\n  %s\nwithout:\n  %s", what,
			strings.Join(got.words, "\n  "),
			strings.Join(first.words, "\n  "))
	}
	spare := got.unattributed
	for _, phase := range slices.Sorted(maps.Keys(first.lengths)) {
		name, _, _ := strings.Cut(phase, ", cause ")
		one, other, length := first.lengths[phase], second.lengths[phase], got.lengths[phase]
		possible := min(spare, got.possible[name])
		shortest, longest := sorted(one, other)
		if shortest < comparedFrom {
			continue
		}
		limit := spread + loadLimit + got.errors[phase] + max(first.errors[phase], second.errors[phase])
		really := differenceInTruth(first.causes[phase], first, second, got)
		shortest, longest = shortest+min(0, really), longest+max(0, really)
		spare -= min(possible, max(0, shortest-limit-length))
		switch {
		case length+possible == 0 && -really > comparedFrom && shortest < comparedFrom+limit:
		case length+possible == 0:
			r.v.Problem("%s: phase %s is missing during the attack, but takes %s and %s s without it", what, phase,
				seconds(one),
				seconds(other))
		case endsWithAttempt(phase): // the method exam.judgeRow compares this phase with the independent logs
		case length > longest+limit || length+possible < shortest-limit:
			r.v.Problem("%s: phase %s takes %s s during the attack, but %s and %s s without it; the largest "+
				"allowed difference "+
				"is %s s", what, phase,
				seconds(length), seconds(one), seconds(other), seconds(limit))
		}
	}
}

// differenceInTruth compares how long the pod really waited for the given cause, according to the independent logs. If
// the pod waited longer during the attack than both counterparts, the result is the additional time. If the pod waited
// less than both counterparts, the result is negative. In all other cases, the result is 0. If the cause is neither
// blame.PullQueue nor blame.Config, the result is always 0.
//
// The duration of a wait in the pull queue or for a missing object varies, because the end of the wait does not depend
// on the pod alone. A wait in the pull queue ends when the blocking pull ends. A wait for a missing object ends at the
// kubelet's first retry after the object was created.
func differenceInTruth(cause string, first, second, got startUp) time.Duration {
	if cause != string(blame.PullQueue) && cause != string(blame.Config) {
		return 0
	}
	least, most := sorted(first.truth[cause], second.truth[cause])
	return min(0, got.truth[cause]-least) + max(0, got.truth[cause]-most)
}

func sorted(a, b time.Duration) (least, most time.Duration) { return min(a, b), max(a, b) }

// phaseName returns the name of a phase. If the phase belongs to one container, the container's name follows.
func phaseName(phase, container string) string { return strings.TrimSpace(phase + " " + container) }

// endsWithAttempt reports whether a phase ends only when the kubelet retries. The time of a retry varies.
func endsWithAttempt(phase string) bool {
	return strings.HasPrefix(phase, "container_config ") || strings.HasPrefix(phase, "pod_config")
}

// spreadOf compares each phase of two runs, and returns the largest difference between the two durations of a phase.
// spreadOf ignores phases that end when the kubelet retries.
func spreadOf(first, second map[string]startUp) (spread time.Duration) {
	for kind, a := range first {
		for phase, length := range a.lengths {
			if b, there := second[kind].lengths[phase]; there && !endsWithAttempt(phase) {
				spread = max(spread, (length - b).Abs())
			}
		}
	}
	return spread
}

// counterpartsOf returns the start-ups of the honest pods in the given block (see honestBlock), except pods that could
// not be judged. Each key is the pod's name without the name of the block, so the same pod has the same key in every
// block.
func (r *tenantRun) counterpartsOf(block string) map[string]startUp {
	counterparts := make(map[string]startUp)
	for _, result := range r.resultsOf(block) {
		if result.failed != nil {
			continue // the method exam.report adds this failure to the verdict
		}
		counterpart, err := counterpartOf(result.timeline, block)
		if err != nil {
			r.v.Problem("%s: %v", result.name, err)
		}
		for _, stretch := range result.truth {
			for _, cause := range stretch.Causes {
				counterpart.truth[string(cause)] += stretch.Length()
			}
		}
		counterparts[kindOf(result.name)] = counterpart
	}
	return counterparts
}

// counterpartOf converts a timeline to a startUp. The names of pods and images contain the name of the block (see
// honestBlock). counterpartOf removes this name, so that start-ups of different blocks can be compared.
func counterpartOf(timeline agent.Timeline, block string) (startUp, error) {
	counterpart := startUp{causes: make(map[string]string), lengths: make(map[string]time.Duration),
		errors: make(map[string]time.Duration), possible: make(map[string]time.Duration),
		truth: make(map[string]time.Duration)}
	without := func(text string) string { return strings.ReplaceAll(text, "-"+block, "") }
	counterpart.words = append(counterpart.words, "state "+timeline.State+" "+timeline.Reason)
	for _, pull := range timeline.Pulls {
		text := fmt.Sprintf("pull for %s of %s from %s, attempt %d: %s %s", pull.Container, without(pull.Image),
			pull.Registry, pull.Attempt, pull.Outcome, pull.Failure)
		counterpart.words = append(counterpart.words, text)
		if pull.BlockedBy != nil {
			counterpart.blockers = append(counterpart.blockers, fmt.Sprintf("pull for %s, attempt %d: blocked by %s %s",
				pull.Container, pull.Attempt, without(pull.BlockedBy.Pod), without(pull.BlockedBy.Image)))
		}
	}
	for _, phase := range timeline.Phases {
		name := phaseName(phase.Phase, phase.Container) + ", cause " + phase.Cause
		length, err := agent.Nanoseconds(phase.Seconds)
		if err != nil {
			return counterpart, fmt.Errorf("read the duration of phase %q: %w", name, err)
		}
		stated, err := agent.Nanoseconds(phase.Error)
		if err != nil {
			return counterpart, fmt.Errorf("read the field \"error_seconds\" of phase %q: %w", name, err)
		}
		counterpart.causes[name] = phase.Cause
		counterpart.lengths[name] += length
		counterpart.errors[name] += stated
		if len(phase.MergedWith) > 0 {
			counterpart.unattributed += length
		}
		for _, candidate := range phase.MergedWith {
			counterpart.possible[phaseName(candidate, phase.Container)] += length
		}
	}
	return counterpart, nil
}
