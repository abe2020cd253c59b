package agent

import "testing"

// The agent's output contains records of terminations and of start-ups. ReadRecords must not return a termination as a
// start-up.
func TestTerminationRecords(t *testing.T) {
	const startUp = `{"id":"u/0","namespace":"ns","name":"a","state":"ready","verdict":"x",` +
		`"termination":{"verdict":"goes on"}}` + "\n"
	const end = `{"id":"u/0","namespace":"ns","name":"a","uid":"u","node":"n",` +
		`"termination":{"verdict":"gone","total_seconds":31.5,"containers":[{"container":"app","how":"killed",` +
		`"exit_code":137}]}}` + "\n"
	const other = `{"id":"v/0","namespace":"other","name":"b","uid":"v","node":"n","termination":{"verdict":"gone"}}` +
		"\n"
	records := readRecords([]byte(startUp+end+other), "ns")
	if len(records.Timelines) != 1 || records.Timelines[0].State != "ready" || len(records.Terminations) != 1 ||
		records.Torn != 0 || records.Unmatched != 0 {
		t.Fatalf("%+v", records)
	}
	if got := records.Terminations[0].Termination; got.TotalSeconds != "31.5" || *got.Of("app").ExitCode != 137 ||
		len(got.Containers) != 1 || got.Of("app").How != "killed" || got.Of("other").How != "" {
		t.Errorf("%+v", got)
	}
}
