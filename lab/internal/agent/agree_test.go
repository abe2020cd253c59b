package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// printed is what an agent prints of a pod with one init container, whose main container pulls for two seconds.
const printed = `{"id":"u/0","namespace":"n","name":"p","uid":"u","node":"a","state":"ready","created_at":"2026-01-01T00:00:00.000000000Z","settled_at":"2026-01-01T00:00:08.000000001Z","total_seconds":8.000000001,"phases":[{"phase":"scheduling","start_at":"2026-01-01T00:00:00.000000000Z","end_at":"2026-01-01T00:00:00.500000000Z","seconds":0.5},{"phase":"init_run","container":"init","start_at":"2026-01-01T00:00:02.000000000Z","end_at":"2026-01-01T00:00:03.000000000Z","seconds":1}],"pulls":[{"container":"init","outcome":"present","attempt":0},{"container":"main","outcome":"downloaded","attempt":0,"requested_at":"2026-01-01T00:00:03.000000000Z","started_at":"2026-01-01T00:00:03.500000000Z","finished_at":"2026-01-01T00:00:05.000000000Z"}],"marks":[{"mark":"scheduled","earliest":"2026-01-01T00:00:00.000000000Z","latest":"2026-01-01T00:00:01.000000000Z"},{"mark":"running","container":"init","earliest":"2026-01-01T00:00:02.000000000Z","latest":"2026-01-01T00:00:02.000000000Z"},{"mark":"finished","container":"init","earliest":"2026-01-01T00:00:03.000000000Z","latest":"2026-01-01T00:00:03.000000000Z"},{"mark":"running","container":"main","earliest":"2026-01-01T00:00:06.000000000Z","latest":"2026-01-01T00:00:06.000000000Z"},{"mark":"ready","earliest":"2026-01-01T00:00:08.000000000Z","latest":"2026-01-01T00:00:09.000000000Z"}],"conflicts":[]}
{"kube_transition_metrics":{"type":"pod","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a","pod":{"creation_timestamp":"2026-01-01T00:00:00.000000000Z","scheduled_timestamp":"2026-01-01T00:00:00.500000000Z","creation_to_scheduled_seconds":0.5,"initialized_timestamp":"2026-01-01T00:00:03.000000000Z","creation_to_initialized_seconds":3,"scheduled_to_initialized_seconds":2.5,"ready_timestamp":"2026-01-01T00:00:08.000000001Z","creation_to_ready_seconds":8.000000001,"initialized_to_ready_seconds":5.000000001}},"time":"2026-01-01T00:00:09.000000000Z"}
{"kube_transition_metrics":{"type":"container","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a","container_name":"init","container":{"init_container":true,"running_timestamp":"2026-01-01T00:00:02.000000000Z","ready_timestamp":"2026-01-01T00:00:03.000000000Z","running_to_ready_seconds":1}},"time":"2026-01-01T00:00:09.000000000Z"}
{"kube_transition_metrics":{"type":"container","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a","container_name":"main","container":{"init_container":false,"initialized_to_running_seconds":3,"running_timestamp":"2026-01-01T00:00:06.000000000Z"}},"time":"2026-01-01T00:00:09.000000000Z"}
{"kube_transition_metrics":{"type":"image_pull","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a","container_name":"main","image_name":"r/main","image_tag":"1","image_pull":{"already_present":false,"started_timestamp":"2026-01-01T00:00:03.000000000Z","finished_timestamp":"2026-01-01T00:00:05.000000000Z","duration_seconds":2}},"time":"2026-01-01T00:00:09.000000000Z"}
`

func readPrinted(t *testing.T, text string) Records {
	t.Helper()
	path := filepath.Join(t.TempDir(), "records")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := ReadRecords(Output{File: path}, "n")
	if err != nil {
		t.Fatal(err)
	}
	return records
}

func TestTransitionsBelongToTheirTimeline(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(printed, `"namespace":"n"`, `"namespace":"o"`), `"kube_namespace":"n"`, `"kube_namespace":"o"`)
	records := readPrinted(t, other+printed+other)
	if len(records.Timelines) != 1 || len(records.Timelines[0].Transitions) != 4 || records.Strays+records.Torn != 0 {
		t.Errorf("%d timelines, %d strays, %d torn", len(records.Timelines), records.Strays, records.Torn)
	}
	half := printed[:len(printed)-100]
	records = readPrinted(t, half+printed)
	if len(records.Timelines) != 2 || !records.Timelines[0].Cut || len(records.Timelines[0].Transitions) != 3 ||
		records.Timelines[1].Cut || len(records.Timelines[1].Transitions) != 4 || records.Torn != 1 {
		t.Errorf("after a kill: %+v", records)
	}
	_, stray, _ := strings.Cut(printed, "\n")
	if records = readPrinted(t, other+stray); records.Strays != 4 {
		t.Errorf("%d strays", records.Strays)
	}
}

func TestDisagreementsAreSeen(t *testing.T) {
	if problems := readPrinted(t, printed).Timelines[0].Disagreements(); len(problems) != 0 {
		t.Errorf("records that agree have problems: %q", problems)
	}
	for name, edit := range map[string][2]string{
		"another creation":                 {`"creation_timestamp":"2026-01-01T00:00:00.0`, `"creation_timestamp":"2026-01-01T00:00:00.1`},
		"another total":                    {`"creation_to_ready_seconds":8.000000001`, `"creation_to_ready_seconds":8.000000002`},
		"a length that is not its ends'":   {`"scheduled_to_initialized_seconds":2.5`, `"scheduled_to_initialized_seconds":2.6`},
		"a length that is left out":        {`"scheduled_to_initialized_seconds":2.5,`, ``},
		"a length without an end":          {`"initialized_to_running_seconds":3,"running_timestamp":"2026-01-01T00:00:06.000000000Z"`, `"initialized_to_running_seconds":3`},
		"an instant outside of its mark":   {`"initialized_to_running_seconds":3,"running_timestamp":"2026-01-01T00:00:06.0`, `"initialized_to_running_seconds":3.1,"running_timestamp":"2026-01-01T00:00:06.1`},
		"a length that is not its phase's": {`"end_at":"2026-01-01T00:00:03.000000000Z","seconds":1}`, `"end_at":"2026-01-01T00:00:03.000000000Z","seconds":1.1}`},
		"another node":                     {`"kube_node":"a","container_name":"main","container"`, `"kube_node":"b","container_name":"main","container"`},
		"a partial record":                 {`"partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a","pod"`, `"partial":true,"kube_namespace":"n","pod_name":"p","kube_node":"a","pod"`},
		"a container of another name":      {`"container_name":"init"`, `"container_name":"other"`},
		"a download told as present":       {`"already_present":false`, `"already_present":true`},
		"a download of which nobody tells": {`"already_present":false,`, ``},
		"another beginning of the pull":    {`"started_timestamp":"2026-01-01T00:00:03.0`, `"started_timestamp":"2026-01-01T00:00:03.1`},
		"another end of the pull":          {`"finished_timestamp":"2026-01-01T00:00:05.000000000Z","duration_seconds":2`, `"finished_timestamp":"2026-01-01T00:00:05.500000000Z","duration_seconds":2.5`},
		"a pull for nobody":                {`"container_name":"main","image_name"`, `"container_name":"none","image_name"`},
		"a pull that is missing":           {`"type":"image_pull"`, `"type":"image"`},
	} {
		broken := strings.Replace(printed, edit[0], edit[1], 1)
		if broken == printed {
			t.Fatalf("%s: the edit changes nothing", name)
		}
		if len(readPrinted(t, broken).Timelines[0].Disagreements()) == 0 {
			t.Errorf("%s goes unnoticed", name)
		}
	}
	first, _, _ := strings.Cut(printed, "\n")
	if len(readPrinted(t, first+"\n").Timelines[0].Disagreements()) == 0 {
		t.Error("a timeline without transition records goes unnoticed")
	}
}

func TestSchemas(t *testing.T) {
	absent := func(string) (string, bool) { return "", false }
	schemas, err := ReadSchemas("../../..", absent)
	if err != nil {
		t.Fatal(err)
	}
	if (schemas.Transition == nil) != (schemas.Absent != "") {
		t.Errorf("schemas %+v", schemas)
	}
	if err := Validate(schemas.Timeline, []byte(`{"id":"u/0"}`)); err == nil {
		t.Error("half a record is valid")
	}
	named := func(string) (string, bool) { return filepath.Join(t.TempDir(), "none"), true }
	if _, err := ReadSchemas("../../..", named); err == nil {
		t.Error("a schema that is named and not there goes unnoticed")
	}
}
