package scenario

import "github.com/podlapse/podlapse/lab/internal/agent"

// reports says that an agent that sees so much has evidence of how an image came, after so many attempts.
func (s view) reports(c pullCase, want wantedPull, attempts int) bool {
	switch {
	case s.full():
		return true
	case s.events:
		// Kubelet says whether it pulled, and how long it took. With the policy IfNotPresent it had found the image absent; with Always
		// nobody tells whether anything came.
		return want.outcome == agent.Downloaded || want.outcome == agent.Present
	}
	// The runtime was asked before the sandbox ran, and its stores date what came since; of an image that two containers have, or that
	// had failed to come, they cannot say with which pull it did.
	return len(c.wants) == 1 && attempts <= 1 && !c.mayShare &&
		(want.outcome == agent.Downloaded || want.outcome == agent.Present)
}

// judgeTold wants an agent that does not see everything to tell what it has evidence of.
func (j *pullJudge) judgeReported(what string, c pullCase, want wantedPull, attempts int, pull agent.Pull) {
	if j.view.full() || !j.view.reports(c, want, attempts) {
		return
	}
	if pull.Outcome == agent.Unknown {
		j.verdict.Problem("%s: it was %s, and there is evidence of that, the agent says %q", what, want.outcome, pull.Outcome)
	}
	if want.outcome != agent.Downloaded {
		return
	}
	if j.view.events && pull.QueueSeconds == "" {
		j.verdict.Problem("%s: kubelet tells of the queue, the agent does not", what)
	}
	// Without Events a pull is dated to what came before it: a short one has an error as large as itself.
	if (j.view.events || c.atLeast > 0) && pull.PullSeconds == "" {
		j.verdict.Problem("%s: there is evidence of how long the pull took, the agent does not tell", what)
	}
}
