package scenario

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
	"github.com/podlapse/podlapse/lab/internal/metrics"
	"github.com/podlapse/podlapse/lab/internal/process"
)

// Limits for the results of the scenario "hostile-tenant".
const (
	mostResident = 60 << 20 // largest allowed resident memory, in bytes; the container's limit is 90 MiB
	memoryEvery  = 500 * time.Millisecond
	scrapeEvery  = 8 // number of memory samples per scrape
	// The scenario compares only phases that take at least comparedFrom in both runs without an attack. Shorter
	// durations depend mainly on the load of the machine.
	comparedFrom = time.Second
	// loadLimit is added to the allowed difference between a start-up during the attack and the same start-up without
	// an attack. loadLimit is necessary because the tenant's pods and requests cause real load. The comparison with the
	// independent logs does not use loadLimit.
	loadLimit = time.Second
)

// memoryWatch samples the memory of the agent's process. Like Prometheus, memoryWatch also scrapes the agent regularly.
type memoryWatch struct {
	flags   string        // flags of the agent
	most    process.Usage // the sample with the largest resident memory
	peak    int64         // largest resident memory since the process started, in bytes, according to the kernel
	at      time.Duration // time from the first sample to the largest sample
	samples int
	scrapes int
	failed  []string // errors of failed scrapes
	err     error    // error if the agent's process has exited, so that no more samples are possible
}

// takeSamples takes samples until ctx ends or the agent exits.
func (m *memoryWatch) takeSamples(ctx context.Context, b *bench.Bench) error {
	*m = memoryWatch{flags: m.flags}
	begunAt := time.Now()
	for ctx.Err() == nil {
		used, err := b.Node.AgentUsage()
		if err != nil {
			m.err = err
			return nil
		}
		m.peak = used.Peak
		if m.samples++; used.Memory > m.most.Memory {
			m.most, m.at = used, time.Since(begunAt)
		}
		if m.samples%scrapeEvery == 0 {
			m.scrapes++
			if _, err := b.Agent.Metrics(ctx); err != nil && ctx.Err() == nil {
				m.failed = append(m.failed, err.Error())
			}
		}
		_ = sleep(ctx, memoryEvery)
	}
	return nil
}

func (m *memoryWatch) judge(v *Verdict, block string) {
	v.Compared += 3
	v.Note("%s (%s): largest resident memory %s, including %s of the agent's own, after %s s, in %d samples; at "+
		"most %s "+
		"since the agent started",
		block, m.flags, size(m.most.Memory), size(m.most.Own), seconds(m.at), m.samples, size(m.peak))
	if m.samples == 0 {
		v.Problem("%s: no sample of the agent's memory was taken, want at least one", block)
	}
	if m.err != nil {
		v.Problem("%s: the agent exited during the block: %v", block, m.err)
	}
	if m.peak > mostResident {
		v.Problem("%s: the agent's resident memory was %s, want at most %s", block, size(m.peak), size(mostResident))
	}
	if len(m.failed) > 0 {
		v.Problem("%s: %d of %d scrapes failed, want 0: %s", block, len(m.failed), m.scrapes, m.failed[0])
	}
}

// judgeMetrics checks how much the pull metrics grew during the block. The total pull time, unpack time and busy time
// must each grow by at most the duration of the block. The total queue time must grow by at most this duration
// multiplied by the number of honest pods. The metrics must count the real pulls under the name of their registry. The
// metrics must not contain a name that the tenant invented. The reported clock skew must be correct.
func (r *tenantRun) judgeMetrics(block honestBlock) {
	lasted := block.to.Sub(block.from)
	before, after := samplesOf(block.before), samplesOf(block.after)
	for _, name := range slices.Sorted(maps.Keys(after)) {
		family, labels, _ := strings.Cut(name, "{")
		grown := after[name] - before[name]
		switch family {
		case "podlapse_image_pull_duration_seconds_sum", "podlapse_image_unpack_duration_seconds_sum",
			"podlapse_image_pull_busy_seconds_total":
			// The kubelet pulls one image at a time in this scenario. Therefore, the pulls together cannot take longer
			// than the block.
			r.v.Compared++
			if grown > lasted.Seconds()+exact.Seconds() {
				r.v.Problem("%s: %s grew by %.1f s, want at most the %s s of the block", block.name, name, grown,
					seconds(lasted))
			}
		case "podlapse_image_pull_queue_seconds_sum":
			r.v.Compared++
			if most := lasted.Seconds() * float64(len(honestRows(block.name))); grown > most {
				r.v.Problem("%s: %s grew by %.1f s, want at most %.1f s", block.name, name, grown, most)
			}
		}
		if strings.Contains(labels, invention) && before[name] == 0 {
			r.v.Problem("%s: the metrics contain a name that the tenant invented: %s", block.name, name)
		}
	}
	r.judgeClock(block)
	registry := layout.Address(layout.RegistryPort)
	count := "podlapse_image_pull_duration_seconds_count"
	label := `registry="` + registry + `"`
	then, err := metrics.Sum(block.before, count, label)
	now, err2 := metrics.Sum(block.after, count, label)
	r.v.Compared++
	if err := errors.Join(err, err2); err != nil {
		r.v.Problem("%s: count the pulls from %s: %v", block.name, registry, err)
	} else if now-then < 2 {
		r.v.Problem("%s: the agent counted %v pulls from %s, want at least 2", block.name, now-then, registry)
	}
	if block.attacked {
		r.noteCounts(block)
	}
}

// judgeClock requires that the agent's interval for the clock skew contains zero. The true skew is zero, because the
// node and the control plane use the same clock. During the attack, the interval must not grow by more than one second.
func (r *tenantRun) judgeClock(block honestBlock) {
	bounds := func(text string) (least, most float64, err error) {
		least, err = metrics.Sum(text, "podlapse_clock_skew_seconds", `bound="least"`)
		if err == nil {
			most, err = metrics.Sum(text, "podlapse_clock_skew_seconds", `bound="most"`)
		}
		return least, most, err
	}
	least, most, err := bounds(block.after)
	before, before2, err2 := bounds(block.before)
	r.v.Compared++
	if err := errors.Join(err, err2); err != nil {
		r.v.Problem("%s: %v", block.name, err)
	}
	r.v.Note("%s: clock skew between %+.3f and %+.3f s; before the block between %+.3f and %+.3f s", block.name,
		least, most,
		before, before2)
	if least > 0 || most < 0 {
		r.v.Problem("%s: the agent reports a clock skew of %+.3f to %+.3f s, want an interval that includes 0",
			block.name, least,
			most)
	}
	if block.attacked && before2 > before && most-least > before2-before+1 {
		r.v.Problem("%s: the interval of the clock skew grew from %.3f to %.3f s, want a growth of at most 1 s",
			block.name, before2-before,
			most-least)
	}
}

// noteCounts adds a note to the verdict: how much each of the agent's Event counters grew during the attack. The
// counter of refused Events has a label with the reason.
func (r *tenantRun) noteCounts(block honestBlock) {
	before, after := samplesOf(block.before), samplesOf(block.after)
	var text []string
	for _, name := range slices.Sorted(maps.Keys(after)) {
		for _, family := range []string{
			"podlapse_events_received_total", "podlapse_events_used_total", "podlapse_events_refused_total",
			"podlapse_evidence_conflicts_total", "podlapse_event_watches_opened_total", "podlapse_events_lost_total",
		} {
			if grown := after[name] - before[name]; grown != 0 && strings.HasPrefix(name, family) {
				text = append(text, fmt.Sprintf("%s +%.0f", strings.TrimPrefix(name, "podlapse_"), grown))
			}
		}
	}
	r.v.Note("%s: the agent counted %s", block.name, strings.Join(text, ", "))
}

// samplesOf reads metrics in the Prometheus text format. Each key is a metric's name with its labels.
func samplesOf(text string) map[string]float64 {
	all := make(map[string]float64)
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), " # ")
		end := strings.LastIndexByte(line, ' ')
		if end < 0 || strings.HasPrefix(line, "#") {
			continue
		}
		if value, err := strconv.ParseFloat(line[end+1:], 64); err == nil {
			all[line[:end]] = value
		}
	}
	return all
}

// judgeInventions checks the agent's data about the honest pods. The data must not contain a name that the tenant
// invented. No pull may have the outcome "joined", because no two honest pods share an image.
func (r *tenantRun) judgeInventions(block honestBlock) {
	for _, result := range r.resultsOf(block.name) {
		r.v.Compared++
		if strings.Contains(string(result.timeline.Raw), invention) {
			r.v.Problem("the timeline of %s contains a name that the tenant invented", result.name)
		}
		for _, pull := range result.timeline.Pulls {
			if pull.Outcome == agent.Joined {
				r.v.Problem("%s: the pull of %s must not have outcome joined, because no two pods share an image",
					result.name,
					pull.Image)
			}
		}
	}
}

// judgeTenantsPods checks the durations of the tenant's own pods. No phase, no pull and no wait for a pull may be
// longer than the pod's age. All other data about the tenant's own pods may be wrong.
func (r *tenantRun) judgeTenantsPods(ctx context.Context, t *tenant, block honestBlock) error {
	all, err := r.bench.Agent.Timelines(ctx)
	if err != nil {
		return err
	}
	now, own := time.Now(), 0
	for _, timeline := range all {
		if timeline.Namespace != t.namespace {
			continue
		}
		own++
		r.v.Compared++
		for _, problem := range longerThanAge(timeline, now) {
			r.v.Problem("%s: the tenant's pod %s: %s", block.name, timeline.Name, problem)
		}
	}
	r.v.Note("%s: the agent serves %d pods of the tenant", block.name, own)
	if own < baits {
		r.v.Problem("%s: the agent serves only %d pods of the tenant: the scenario is not conclusive", block.name,
			own)
	}
	return nil
}

// longerThanAge returns the durations in a timeline that are longer than the pod's age.
func longerThanAge(timeline agent.Timeline, now time.Time) (problems []string) {
	// The agent's estimate of the creation time can be up to a second too late, because the API server records this
	// time in whole seconds.
	lived := now.Sub(timeline.CreatedAt) + time.Second
	longer := func(what string, reported json.Number) {
		length, err := agent.Nanoseconds(reported)
		if err == nil && length > lived {
			problems = append(problems, fmt.Sprintf("%s of %s s, but the pod's age is %s s", what, reported,
				seconds(lived)))
		}
	}
	for _, phase := range timeline.Phases {
		longer("phase "+phase.Phase, phase.Seconds)
	}
	for _, pull := range timeline.Pulls {
		longer("a pull", pull.PullSeconds)
		longer("the wait for a pull", pull.QueueSeconds)
	}
	return problems
}

// resultsOf returns the results of the honest pods in the given block (see honestBlock).
func (r *tenantRun) resultsOf(block string) []examResult {
	r.exam.mu.Lock()
	defer r.exam.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.exam.results), func(e examResult) bool { return e.stage != block })
}
