package scenario

import (
	"path/filepath"

	"github.com/podlapse/podlapse/lab/internal/agent"
	"github.com/podlapse/podlapse/lab/internal/bench"
	"github.com/podlapse/podlapse/lab/internal/build"
)

// judgeRecords validates all records that an agent printed about the scenario's pods. Each record must match its
// schema. judgeRecords also compares each transition record with the timeline of its pod.
func judgeRecords(o bench.Observer, v *Verdict) error {
	source, err := build.FindSource()
	if err != nil {
		return err
	}
	schemas, err := agent.ReadSchemas(filepath.Dir(source))
	if err != nil {
		return err
	}
	records, err := o.Records()
	if err != nil {
		return err
	}
	v.records(records, schemas)
	return nil
}

func (v *Verdict) records(records agent.Records, schemas agent.Schemas) {
	transitions := 0
	for _, timeline := range records.Timelines {
		if err := agent.Validate(schemas.Timeline, timeline.Raw); err != nil {
			v.Problem("timeline record of %s: %v", timeline.Name, err)
		}
		transitions += len(timeline.Transitions)
		for _, record := range timeline.Transitions {
			if err := agent.Validate(schemas.Transition, record.Raw); err != nil {
				v.Problem("transition record of %s: %v", timeline.Name, err)
			}
		}
		if timeline.Cut {
			continue
		}
		for _, problem := range timeline.Disagreements() {
			v.Problem("the timeline and the transition records of %s contradict each other: %s", timeline.Name, problem)
		}
	}
	for _, record := range records.Terminations {
		if err := agent.Validate(schemas.Termination, record.Raw); err != nil {
			v.Problem("termination record of %s: %v", record.Name, err)
		}
	}
	if records.Unmatched > 0 {
		v.Problem("%d transition records do not follow the timeline of their pod, want 0", records.Unmatched)
	}
	v.Note("%d timeline records and %d transition records were validated and compared with each other",
		len(records.Timelines), transitions)
}
