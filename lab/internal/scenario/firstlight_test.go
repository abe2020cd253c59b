package scenario

import (
	"testing"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

func TestPhaseOrGroup(t *testing.T) {
	timeline := agent.Timeline{Phases: []agent.Phase{
		{Phase: "pull", Container: "init", Seconds: "1.000"},
		{Phase: agent.ImagePull, Container: "main", Seconds: "5.000"},
	}}
	for _, test := range []struct {
		container string
		allowed   bool
		want      string
	}{
		{"init", true, "pull"},
		{"main", true, agent.ImagePull},
		{"main", false, "pull"}, // the scenario then reports that the phase is missing
	} {
		if got := phaseOrGroup(timeline, test.container, "pull", agent.ImagePull, test.allowed); got != test.want {
			t.Errorf("%s, allowed %t: phase %s, want %s", test.container, test.allowed, got, test.want)
		}
	}
}
