package scenario

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/layout"
)

// terminationLimit is the largest accepted difference between the reported time and the true time of a step.
// terminationLimit applies to steps with a timestamp.
const terminationLimit = 50 * time.Millisecond

// compareTermination compares the agent's record of a termination with the evidence from other sources.
func (v *Verdict) compareTermination(p terminatingPod, record agent.TerminationRecord, w independentTermination) {
	reported := record.Termination
	for _, problem := range reported.Problems() {
		v.Problem("termination of pod %s: %s", p.name, problem)
	}
	for _, conflict := range reported.Conflicts {
		v.Problem("termination of pod %s: want no conflicts, but got %s: %s", p.name, conflict.Milestone,
			conflict.Detail)
	}
	if len(reported.Missing) > 0 {
		v.Problem("termination of pod %s: the record lists missing evidence %s, want none", p.name, reported.Missing)
	}
	if !strings.Contains(reported.Verdict, p.verdict) {
		v.Problem("termination of pod %s: verdict %q does not contain %q", p.name, reported.Verdict, p.verdict)
	}
	if names := phaseNames(reported.Phases); !slices.Equal(names, p.phases) {
		v.Problem("termination of pod %s: its phases are %q, want %q", p.name, names, p.phases)
	}
	since := func(at time.Time) time.Duration { return at.Sub(w.requested.EndAt) }
	instant := func(what string, truth, measured time.Time, limit time.Duration) {
		v.Compare(p.name+" "+what, 0, since(truth), since(measured), !measured.IsZero() && !truth.IsZero(), limit)
	}
	// The agent does not know exactly when the deletion was requested, or when the kubelet started to stop the
	// containers. If a busy kubelet receives the deletion request late, the agent states larger error bounds for both
	// times.
	pickup := phaseOf(reported.Phases, "kubelet_pickup")
	late, err := agent.Nanoseconds(pickup.Error)
	if err != nil {
		v.Problem("termination of pod %s: kubelet_pickup: %v", p.name, err)
	}
	instant("requested", w.requested.EndAt, reported.RequestedAt, max(late, terminationLimit))
	instant("stop begun", w.begunAt, pickup.EndAt, max(late, terminationLimit))
	if v.Compared++; reported.RequestedAt.After(w.reportedAt.Add(max(late, terminationLimit))) {
		v.Problem("termination of pod %s: the agent reports the request at %s, but the kubelet had received it at %s",
			p.name,
			reported.RequestedAt, w.reportedAt)
	}
	for _, e := range p.stops {
		stop := reported.Of(e.container)
		code := -1
		if stop.ExitCode != nil {
			code = *stop.ExitCode
		}
		if v.Compared++; stop.How != e.how || code != e.code || stop.Signal != e.signal {
			v.Problem("termination of pod %s: container %s is reported as %s, exit code %d, signal %d, want %+v",
				p.name,
				e.container, stop.How, code, stop.Signal, e)
		}
		if !e.never() {
			instant(e.container+" stopped", w.runtime.ExitedAt[e.container], stop.StoppedAt, terminationLimit)
		}
	}
	// The runtime gives the agent no timestamp for the stop of the sandbox. The agent knows only that the sandbox
	// stopped between two responses of the runtime. Therefore, the agent's error bound includes the time between these
	// two responses.
	down := phaseOf(reported.Phases, "sandbox_stop")
	stated, err := agent.Nanoseconds(down.Error)
	if err != nil {
		v.Problem("termination of pod %s: sandbox_stop: %v", p.name, err)
	}
	// The runtime's log can report the stop of the sandbox up to 10 ms late.
	instant("sandbox gone", w.runtime.SandboxStoppedAt, down.EndAt, stated+10*time.Millisecond)
	instant("object gone", w.goneAt, reported.GoneAt, terminationLimit)
	v.terminationTotal(p.name, reported, w)
}

// terminationTotal requires that the reported total duration differs from the true duration by at most the reported
// error bound. The termination starts during the call that requests the deletion. The termination ends when the object
// is deleted, shortly before the watch delivers the deletion.
func (v *Verdict) terminationTotal(pod string, reported agent.Termination, w independentTermination) {
	v.Compared++
	total, err := agent.Nanoseconds(reported.TotalSeconds)
	stated, errorErr := agent.Nanoseconds(reported.TotalError)
	least, most := w.goneAt.Sub(w.requested.EndAt)-terminationLimit, w.goneAt.Sub(w.requested.StartAt)
	if err != nil || errorErr != nil || total < least-stated || total > most+stated {
		v.Problem("termination of pod %s: the agent reports %s s ±%s s, but the true duration lies between %s and %s",
			pod, reported.TotalSeconds,
			reported.TotalError, least, most)
	}
}

func phaseNames(phases []agent.Phase) (names []string) {
	for _, p := range phases {
		names = append(names, p.Phase)
	}
	return names
}

// phaseOf returns the phase with the given name. If no phase has the given name, phaseOf returns a zero phase.
func phaseOf(phases []agent.Phase, name string) agent.Phase {
	if i := slices.IndexFunc(phases, func(p agent.Phase) bool { return p.Phase == name }); i >= 0 {
		return phases[i]
	}
	return agent.Phase{}
}

// inProgress requires that the agent reports a termination while the termination is in progress.
func (v *Verdict) inProgress(ctx context.Context, b *bench.Bench, pod string) error {
	return b.Node.Report.Wait(ctx, "the agent to report that pod "+pod+" ends", startLimit, 100*time.Millisecond,
		func(ctx context.Context) error {
			reported, err := b.Agent.Termination(ctx, b.Namespace, pod)
			if err != nil {
				return err
			}
			if names := phaseNames(reported.Phases); !slices.Equal(names, []string{"kubelet_pickup", "grace"}) {
				return fmt.Errorf("the reported phases of the termination are %q, want \"kubelet_pickup\" and "+
					"\"grace\"", names)
			}
			v.Compared++
			if open := reported.Phases[1].Open; !open || !reported.GoneAt.IsZero() ||
				reported.Of(mainName).How != "running" {
				v.Problem("pod %s is terminating, but the agent reports: phase open %t, object gone at %s, "+
					"container %s is %s", pod, open, reported.GoneAt,
					mainName, reported.Of(mainName).How)
			}
			return nil
		})
}

// requireExplained requires that the command "explain" shows the same verdict as the record that the agent printed. The
// command "explain" queries the agent about the deleted pod.
func requireExplained(ctx context.Context, b *bench.Bench, v *Verdict, record agent.TerminationRecord) error {
	text, err := exec.CommandContext(ctx, b.Node.Agent(), "explain", record.Namespace+"/"+record.Name,
		"--server=http://"+layout.Address(layout.AgentPort)).Output()
	if err != nil {
		return fmt.Errorf("explain the termination of pod %s: %w", record.Name, err)
	}
	lines := strings.Join(strings.Fields(string(text)), " ")
	if v.Compared++; !strings.Contains(lines, record.Termination.Verdict) {
		v.Problem("explain of pod %s does not contain %q:\n%s", record.Name, record.Termination.Verdict, text)
	}
	if record.Name == "unresponsive" {
		v.Note("explain:\n%s", text)
	}
	return nil
}
