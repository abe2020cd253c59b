package scenario

import "github.com/podlapse/podlapse/lab/internal/agent"

// reports reports whether an agent with these sources has evidence of the outcome, after this many attempts.
func (s view) reports(c pullCase, want wantedPull, attempts int) bool {
	switch {
	case s.full():
		return true
	case s.events:
		// The kubelet reports whether it pulled, and for how long. With the policy IfNotPresent, the image was absent
		// before a pull. With Always, no evidence shows whether anything was downloaded.
		return want.outcome == agent.Downloaded || want.outcome == agent.Present
	}
	// The runtime was queried before the sandbox ran, and its stores date later content. If two containers have the
	// image, or if a pull failed before, they cannot show which pull downloaded it.
	return len(c.wants) == 1 && attempts <= 1 && !c.mayShare &&
		(want.outcome == agent.Downloaded || want.outcome == agent.Present)
}

// judgeReported requires that an agent without all sources reports everything for which it has evidence.
func (j *pullJudge) judgeReported(what string, c pullCase, want wantedPull, attempts int, pull agent.Pull) {
	if j.view.full() || !j.view.reports(c, want, attempts) {
		return
	}
	if pull.Outcome == agent.Unknown {
		j.verdict.Problem("%s: the outcome is %s, and there is evidence of it, but the agent reports %q", what,
			want.outcome, pull.Outcome)
	}
	if want.outcome != agent.Downloaded {
		return
	}
	if j.view.events && pull.QueueSeconds == "" {
		j.verdict.Problem("%s: the kubelet reported the wait in the queue, but the agent does not", what)
	}
	// Without Events, a pull is dated by the step before it, so a short pull has an error as large as itself.
	if (j.view.events || c.atLeast > 0) && pull.PullSeconds == "" {
		j.verdict.Problem("%s: there is evidence of the pull's duration, but the agent does not report it", what)
	}
}
