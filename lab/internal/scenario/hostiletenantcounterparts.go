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

// startUp is the part of a start-up that the scenario compares.
type startUp struct {
	words    []string          // outcome and pulls of the pod
	blockers []string          // pulls that delayed the pod's own pulls
	causes   map[string]string // cause of each phase
	lengths  map[string]time.Duration
	errors   map[string]time.Duration
	// possible contains, for each phase, the time of the other phases that have this phase as a candidate. The field
	// "unattributed" contains the total time of the phases with candidates.
	possible     map[string]time.Duration
	unattributed time.Duration
	// truth contains the total duration that the independent logs attribute to each cause. If a period has several
	// possible causes, its duration counts for each of these causes.
	truth map[string]time.Duration
}

// judgeCounterparts compares each honest pod of an attacked block with its counterparts in the other blocks. In all
// compared blocks, the agent has the same flags. The pod must have the same outcome and the same pulls as one of its
// counterparts. If a phase is long in both counterparts, its duration must be about the same during the attack. If the
// independent logs show that the pod waited longer or shorter during the attack, this difference is allowed: see
// differenceInTruth. A phase can be shorter by the duration of the unattributed phases that have this phase as a
// candidate. The same unattributed time counts for only one phase. The remaining difference between the durations of a
// phase must not exceed the sum of three values: the largest difference between the two blocks without the attack, the
// agent's error bounds, and loadLimit.
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
		// During the attack, the blocking pull ended too soon to delay the pod's own pull.
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

// differenceInTruth returns how much longer a pod really waited during the attack than both of its counterparts,
// according to the independent logs. The result is negative if the pod waited less than both counterparts. A wait in
// the pull queue ends when the blocking pull ends. A wait for a missing object ends when the kubelet retries. If the
// cause is neither blame.PullQueue nor blame.Config, differenceInTruth returns 0.
func differenceInTruth(cause string, first, second, got startUp) time.Duration {
	if cause != string(blame.PullQueue) && cause != string(blame.Config) {
		return 0
	}
	least, most := sorted(first.truth[cause], second.truth[cause])
	return min(0, got.truth[cause]-least) + max(0, got.truth[cause]-most)
}

func sorted(a, b time.Duration) (least, most time.Duration) { return min(a, b), max(a, b) }

// phaseName returns the name of a phase, followed by the container's name for a phase of one container.
func phaseName(phase, container string) string { return strings.TrimSpace(phase + " " + container) }

// endsWithAttempt reports whether a phase ends only when the kubelet retries. The time of a retry varies.
func endsWithAttempt(phase string) bool {
	return strings.HasPrefix(phase, "container_config ") || strings.HasPrefix(phase, "pod_config")
}

// spreadOf returns the largest difference between the durations of the same phase in two runs. spreadOf ignores phases
// that end when the kubelet retries.
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

// counterpartsOf returns the pods of a block by kind.
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

// counterpartOf converts a timeline to a startUp, and removes the name of the block from all texts.
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
			return counterpart, fmt.Errorf("read the duration of phase %s: %w", name, err)
		}
		stated, err := agent.Nanoseconds(phase.Error)
		if err != nil {
			return counterpart, fmt.Errorf("read error_seconds of phase %s: %w", name, err)
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
