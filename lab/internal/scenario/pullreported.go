package scenario

import "github.com/podlapse/podlapse/lab/internal/agent"

// canReport reports whether an agent with these sources has evidence of the outcome of a pull. The argument "attempts"
// is the number of attempts.
func (s agentSources) canReport(c pullCase, want wantedPull, attempts int) bool {
	switch {
	case s.isFull():
		return true
	case s.events:
		// The kubelet's Events show whether the kubelet pulled the image and how long the pull took. With the policy
		// IfNotPresent, the kubelet pulls an image only if the image is absent. With the policy Always, the Events do
		// not show whether the pull downloaded content.
		return want.outcome == agent.Downloaded || want.outcome == agent.Present
	}
	// The agent queries the runtime before the pod's sandbox runs. The runtime's stores show whether content arrived
	// after the agent's query. The stores cannot show which pull downloaded an image in three cases: (1) the pod needs
	// several images or has several containers; (2) an earlier pull failed; (3) several pulls share layers.
	return len(c.wants) == 1 && attempts <= 1 && !c.mayShare &&
		(want.outcome == agent.Downloaded || want.outcome == agent.Present)
}

// judgeReported checks an agent that lacks a source. The agent must report all facts for which it has evidence.
func (j *pullJudge) judgeReported(what string, c pullCase, want wantedPull, attempts int, pull agent.Pull) {
	if j.sources.isFull() || !j.sources.canReport(c, want, attempts) ||
		!j.sources.events && want.outcome == agent.Downloaded && j.mayBePulledTwice(pull) {
		return
	}
	if pull.Outcome == agent.Unknown {
		j.verdict.Problem("%s: the evidence shows the outcome %s, but the agent reports %q", what,
			want.outcome, pull.Outcome)
	}
	if want.outcome != agent.Downloaded {
		return
	}
	if j.sources.events && pull.QueueSeconds == "" {
		j.verdict.Problem("%s: the kubelet reported the wait in the queue, but the agent does not report this wait",
			what)
	}
	// An agent without Events knows only that the pull started after the previous step. For a short pull, the error
	// bound of such an agent is as large as the pull's duration.
	if (j.sources.events || c.atLeast > 0) && pull.PullSeconds == "" {
		j.verdict.Problem("%s: the evidence shows the pull's duration, but the agent does not report the duration",
			what)
	}
}

// mayBePulledTwice reports whether an agent without Events may report the outcome unknown because the runtime wrote the
// image twice. Only Events distinguish the second write from the end of a second pull.
func (j *pullJudge) mayBePulledTwice(pull agent.Pull) bool {
	return j.stack.Containerd.WritesImagesTwice() && pull.Outcome == agent.Unknown
}
