package export

import "strings"

// longestPhase finds the longest single stretch; of equals, the first.
func longestPhase(record Record) (PhaseRecord, bool) {
	var longest PhaseRecord
	found := false
	for _, phase := range record.Phases {
		if !found || phase.Length > longest.Length {
			longest, found = phase, true
		}
	}
	return longest, found
}

func phaseText(phase PhaseRecord) string {
	text := clean(string(phase.Phase))
	if phase.Container != "" {
		text += " of " + attemptText(phase.Container, phase.Attempt)
	}
	return text
}

// Summary lists records as plain text, one line each, in their order.
func Summary(records []Record) string {
	layout := table{right: []bool{false, false, true, true, false}}
	layout.add("POD", "STATE", "TOTAL", "ERROR", "LONGEST PHASE")
	for _, record := range records {
		longest := "-"
		if phase, ok := longestPhase(record); ok {
			longest = phaseText(phase) + " " + secondsText(phase.Length.Duration())
		}
		state := clean(string(record.State))
		if record.Reconstructed {
			state += " (reconstructed)"
		}
		layout.add(clean(record.Namespace+"/"+record.Name), state,
			secondsText(record.Total.Duration()), errorText(record.TotalError.Duration()), longest)
	}
	var out strings.Builder
	layout.write(&out)
	return out.String()
}
