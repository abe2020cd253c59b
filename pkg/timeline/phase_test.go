package timeline

import "testing"

func TestEveryPhaseHasActivity(t *testing.T) {
	known := map[string]Phase{}
	for _, phase := range Phases() {
		activity := ActivityOf(phase)
		if other, twice := known[activity]; twice || activity == "" && phase != PhaseUnattributed {
			t.Errorf("phase %s has the activity %q, like %q", phase, activity, other)
		}
		known[activity] = phase
	}
}

func TestUnknownPhase(t *testing.T) {
	const unknown = Phase("of_a_newer_agent")
	if ActivityOf(unknown) != "" || CauseOf(unknown) != CauseUnknown || unknown.WaitsForOthers() ||
		unknown.IsFinalWait() {
		t.Error("an unknown phase has traits")
	}
}
