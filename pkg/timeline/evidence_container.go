package timeline

import (
	"slices"
	"time"

	"github.com/podlapse/podlapse/pkg/imagepull"
)

// applyStatus reads one container's status. The kubelet learns of starts and exits from the runtime's
// list, up to a second later, so their arrival is only a bound; probes it runs itself, so news of
// them is fresh.
func (e *Evidence) applyStatus(o PodSeen, c Container) {
	index, evidence := e.container(c.Name)
	if evidence == nil {
		return
	}
	addRun := func(m Mark, attempt int, stamp time.Time) {
		if !stamp.IsZero() {
			k := markKey{container: index, mark: m, attempt: clampAttempt(attempt)}
			e.constrain(second(k, originStatus, stamp))
			e.constrain(arrival(k, originArrival, o.ArrivedAt, false))
		}
	}
	addRun(MarkRunning, c.Attempt, c.StartedAt)
	if c.State == StateTerminated {
		if !lostRun(c.EndReason, c.ExitCode) {
			addRun(MarkFinished, c.Attempt, c.FinishedAt)
		}
		e.keepExit(evidence, c.Attempt, c.ExitCode)
	}
	if c.LastRun != nil {
		last := c.Attempt - 1
		if c.State == StateWaiting {
			last = c.Attempt // in back-off the kubelet calls the current run the last one (kubelet_pods.go)
		}
		if last >= 0 {
			addRun(MarkRunning, last, c.LastRun.StartedAt)
			if !lostRun(c.LastRun.Reason, c.LastRun.ExitCode) {
				addRun(MarkFinished, last, c.LastRun.FinishedAt)
			}
			e.keepExit(evidence, last, c.LastRun.ExitCode)
		}
	}
	if c.State == StateWaiting {
		e.applyWaiting(index, evidence, o, c)
	}
	if c.Kind == KindInit {
		return
	}
	if c.PostStartHook && c.State == StateRunning {
		// The hook runs within the kubelet's start of the container, before its status is written (startContainer).
		e.constrain(arrival(markKey{index, clampAttempt(c.Attempt), MarkPostStarted}, originArrival, o.ArrivedAt, o.Live))
	}
	if c.Started {
		e.constrain(arrival(markKey{index, clampAttempt(c.Attempt), MarkStarted}, originArrival, o.ArrivedAt, o.Live))
	}
	if c.Ready {
		e.constrain(arrival(markKey{index, clampAttempt(c.Attempt), MarkContainerReady}, originArrival, o.ArrivedAt, o.Live))
	}
}

// applyWaiting reads why a container waits.
func (e *Evidence) applyWaiting(index int16, evidence *containerEvidence, o PodSeen, c Container) {
	if c.PullFailure != imagepull.FailureNone {
		e.applyPullFailure(evidence, o, c.PullFailure)
	}
	if c.WaitingReason == inspectError && c.Attempt == 0 && c.LastRun == nil {
		e.constrain(arrival(markKey{index, 0, MarkInspectFailed}, originArrival, o.ArrivedAt, o.Live))
	}
	if m, refused := createFailureMarks[c.WaitingReason]; refused {
		next := c.Attempt
		if c.LastRun != nil {
			next++ // as in back-off
		}
		e.constrain(arrival(markKey{index, clampAttempt(next), m}, originArrival, o.ArrivedAt, o.Live))
	}
}

// inspectError is the kubelet's word for a runtime that does not say whether it has an image: nothing was asked of a registry.
const inspectError = "ImageInspectError"

// createFailureMarks are the kubelet's words for a container that cannot be made, each with the mark that is dated by the first status
// that says so: the kubelet tries again until it can (kuberuntime and images packages).
var createFailureMarks = map[string]Mark{
	"CreateContainerConfigError": MarkConfigRefused, // a ConfigMap, Secret or key is missing, or the user would be root
	"ErrImageNeverPull":          MarkConfigRefused, // the image is not there and must not be pulled
	"CreateContainerError":       MarkCreateFailed,
}

// applyPullFailure reads a status that says that a pull had failed: the kubelet writes it right after. It is of use where
// the Events that tell of failures are not seen.
func (e *Evidence) applyPullFailure(c *containerEvidence, o PodSeen, why imagepull.Failure) {
	news := arrival(markKey{}, originArrival, o.ArrivedAt, o.Live)
	f := failureEvent{window{news.origin, news.lean, news.earliest, news.latest}, 0, why}
	if c.statusFailure == nil || f.compare(*c.statusFailure) < 0 {
		c.statusFailure, e.changed = &f, true
	}
	if !slices.Contains(c.statusReasons, why) {
		c.statusReasons, e.changed = append(c.statusReasons, why), true
	}
}

// keepExit keeps how a run ended; of contradicting codes the highest, whichever came first.
func (e *Evidence) keepExit(c *containerEvidence, attempt, code int) {
	if attempt >= maxAttempts {
		return
	}
	for i := range c.exits {
		if c.exits[i].attempt == attempt {
			e.changed = e.changed || code > c.exits[i].code
			c.exits[i].code = max(c.exits[i].code, code)
			return
		}
	}
	e.changed = true
	c.exits = append(c.exits, exit{attempt, code})
}

// exitCode is how the run ended; ok is false while that is not known.
func (c *containerEvidence) exitCode(attempt int) (code int, ok bool) {
	for _, x := range c.exits {
		if x.attempt == attempt {
			return x.code, true
		}
	}
	return 0, false
}

func clampAttempt(n int) uint16 { return uint16(min(max(n, 0), 1<<16-1)) }
