package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// printed is an agent's output about a pod with one init container, whose main container pulls for two seconds.
const printed = `{"id":"u/0","namespace":"n","name":"p","uid":"u","node":"a","state":"ready",` +
	`"created_at":"2026-01-01T00:00:00.000000000Z","settled_at":"2026-01-01T00:00:08.000000001Z",` +
	`"total_seconds":8.000000001,"phases":[{"phase":"scheduling","start_at":"2026-01-01T00:00:00.000000000Z",` +
	`"end_at":"2026-01-01T00:00:00.500000000Z","seconds":0.5},{"phase":"init_run","container":"init",` +
	`"start_at":"2026-01-01T00:00:02.000000000Z","end_at":"2026-01-01T00:00:03.000000000Z","seconds":1}],` +
	`"pulls":[{"container":"init","kind":"init","image":"init","outcome":"present",` +
	`"attempt":0},{"container":"main","kind":"main",` +
	`"image":"r:5000/main:1@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",` +
	`"outcome":"downloaded","attempt":0,"requested_at":"2026-01-01T00:00:03.000000000Z",` +
	`"started_at":"2026-01-01T00:00:03.500000000Z","finished_at":"2026-01-01T00:00:05.000000000Z"}],` +
	`"milestones":[{"milestone":"scheduled","earliest":"2026-01-01T00:00:00.000000000Z",` +
	`"latest":"2026-01-01T00:00:01.000000000Z"},{"milestone":"acknowledged",` +
	`"earliest":"2026-01-01T00:00:00.500000000Z","latest":"2026-01-01T00:00:01.000000000Z"},{"milestone":"running",` +
	`"container":"init","earliest":"2026-01-01T00:00:02.000000000Z","latest":"2026-01-01T00:00:02.000000000Z"},` +
	`{"milestone":"finished","container":"init","earliest":"2026-01-01T00:00:03.000000000Z",` +
	`"latest":"2026-01-01T00:00:03.000000000Z"},{"milestone":"running","container":"main",` +
	`"earliest":"2026-01-01T00:00:06.000000000Z","latest":"2026-01-01T00:00:06.000000000Z"},{"milestone":"ready",` +
	`"earliest":"2026-01-01T00:00:08.000000000Z","latest":"2026-01-01T00:00:09.000000000Z"}],"conflicts":[]}
{"kube_transition_metrics":{"type":"pod","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a",` +
	`"pod":{"creation_timestamp":"2026-01-01T00:00:00.000000000Z",` +
	`"scheduled_timestamp":"2026-01-01T00:00:00.500000000Z","creation_to_scheduled_seconds":0.5,` +
	`"initialized_timestamp":"2026-01-01T00:00:03.000000000Z","creation_to_initialized_seconds":3,` +
	`"scheduled_to_initialized_seconds":2.5,"ready_timestamp":"2026-01-01T00:00:08.000000001Z",` +
	`"creation_to_ready_seconds":8.000000001,"initialized_to_ready_seconds":5.000000001}},` +
	`"time":"2026-01-01T00:00:09.000000000Z"}
{"kube_transition_metrics":{"type":"container","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a",` +
	`"container_name":"init","short_image":"init","image_name":"docker.io/library/init","image_tag":"latest",` +
	`"container":{"init_container":true,"running_timestamp":"2026-01-01T00:00:02.000000000Z",` +
	`"ready_timestamp":"2026-01-01T00:00:03.000000000Z","running_to_ready_seconds":1}},` +
	`"time":"2026-01-01T00:00:09.000000000Z"}
{"kube_transition_metrics":{"type":"container","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a",` +
	`"container_name":"main","short_image":"main","image_name":"r:5000/main","image_tag":"1",` +
	`"container":{"init_container":false,"initialized_to_running_seconds":3,` +
	`"running_timestamp":"2026-01-01T00:00:06.000000000Z"}},"time":"2026-01-01T00:00:09.000000000Z"}
{"kube_transition_metrics":{"type":"image_pull","partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a",` +
	`"container_name":"main","short_image":"main","image_name":"r:5000/main","image_tag":"1",` +
	`"image_pull":{"already_present":false,"started_timestamp":"2026-01-01T00:00:03.000000000Z",` +
	`"finished_timestamp":"2026-01-01T00:00:05.000000000Z","duration_seconds":2}},` +
	`"time":"2026-01-01T00:00:09.000000000Z"}
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

func TestReadRecordsGroupsTransitions(t *testing.T) {
	other := strings.ReplaceAll(strings.ReplaceAll(printed, `"namespace":"n"`, `"namespace":"o"`),
		`"kube_namespace":"n"`, `"kube_namespace":"o"`)
	records := readPrinted(t, other+printed+other)
	if len(records.Timelines) != 1 || len(records.Timelines[0].Transitions) != 4 ||
		records.Unmatched+records.Torn != 0 {
		t.Errorf("%d timelines, %d unmatched, %d torn", len(records.Timelines), records.Unmatched, records.Torn)
	}
	half := printed[:len(printed)-100]
	records = readPrinted(t, half+printed)
	if len(records.Timelines) != 2 || !records.Timelines[0].Cut || len(records.Timelines[0].Transitions) != 3 ||
		records.Timelines[1].Cut || len(records.Timelines[1].Transitions) != 4 || records.Torn != 1 {
		t.Errorf("after a kill: %+v", records)
	}
	_, stray, _ := strings.Cut(printed, "\n")
	if records = readPrinted(t, other+stray); records.Unmatched != 4 {
		t.Errorf("%d strays", records.Unmatched)
	}
}

// disagreements maps the name of each test case to pairs of texts. The test replaces the first text of a pair with the
// second text.
var disagreements = map[string][]string{
	"other creation time": {`"creation_timestamp":"2026-01-01T00:00:00.0`,
		`"creation_timestamp":"2026-01-01T00:00:00.1`},
	"other total": {`"creation_to_ready_seconds":8.000000001`,
		`"creation_to_ready_seconds":8.000000002`},
	"duration differs from its ends": {`"scheduled_to_initialized_seconds":2.5`,
		`"scheduled_to_initialized_seconds":2.6`},
	"duration is missing": {`"scheduled_to_initialized_seconds":2.5,`, ``},
	"duration without its end": {
		`"initialized_to_running_seconds":3,"running_timestamp":"2026-01-01T00:00:06.000000000Z"`,
		`"initialized_to_running_seconds":3`},
	"instant outside its milestone": {
		`"initialized_to_running_seconds":3,"running_timestamp":"2026-01-01T00:00:06.0`,
		`"initialized_to_running_seconds":3.1,"running_timestamp":"2026-01-01T00:00:06.1`},
	"duration differs from its phase": {`"end_at":"2026-01-01T00:00:03.000000000Z","seconds":1}`,
		`"end_at":"2026-01-01T00:00:03.000000000Z","seconds":1.1}`},
	"other node": {`"kube_node":"a","container_name":"main","short_image"`,
		`"kube_node":"b","container_name":"main","short_image"`},
	"initialized a second late": {`"initialized_timestamp":"2026-01-01T00:00:03.000000000Z",` +
		`"creation_to_initialized_seconds":3,"scheduled_to_initialized_seconds":2.5,` +
		`"ready_timestamp":"2026-01-01T00:00:08.000000001Z","creation_to_ready_seconds":8.000000001,` +
		`"initialized_to_ready_seconds":5.000000001`,
		`"initialized_timestamp":"2026-01-01T00:00:04.000000000Z","creation_to_initialized_seconds":4,` +
			`"scheduled_to_initialized_seconds":3.5,"ready_timestamp":"2026-01-01T00:00:08.000000001Z",` +
			`"creation_to_ready_seconds":8.000000001,"initialized_to_ready_seconds":4.000000001`,
		`"initialized_to_running_seconds":3`, `"initialized_to_running_seconds":2`},
	"first container with a previous one": {`"init_container":true,`,
		`"init_container":true,"previous_to_running_seconds":77,`},
	"unknown owner":                {`"kube_node":"a",`, `"kube_node":"a","kube_deployment":"none",`},
	"QoS class in a single record": {`"kube_node":"a","pod"`, `"kube_node":"a","kube_qos":"Burstable","pod"`},
	"owner is missing": {`"node":"a","state"`,
		`"node":"a","owner":{"kind":"Deployment","name":"d"},"state"`},
	"service": {`"kube_node":"a",`, `"kube_node":"a","kube_service":"s",`},
	"other image": {`"image_name":"r:5000/main","image_tag":"1","container"`,
		`"image_name":"r:5000/other","image_tag":"1","container"`},
	"other tag":              {`"image_tag":"1","image_pull"`, `"image_tag":"2","image_pull"`},
	"other short image":      {`"short_image":"init"`, `"short_image":"library"`},
	"main as init container": {`"init_container":false`, `"init_container":true`},
	"main as first init container": {`"init_container":false,"initialized_to_running_seconds":3`,
		`"init_container":true,"previous_to_running_seconds":3`},
	"init as main container": {`"init_container":true`, `"init_container":false`},
	"no scheduled timestamp": {
		`"scheduled_timestamp":"2026-01-01T00:00:00.500000000Z","creation_to_scheduled_seconds":0.5,`, ``,
		`"scheduled_to_initialized_seconds":2.5,`, ``},
	"no ready timestamp of the pod": {`"ready_timestamp":"2026-01-01T00:00:08.000000001Z",` +
		`"creation_to_ready_seconds":8.000000001,"initialized_to_ready_seconds":5.000000001`,
		`"creation_to_ready_seconds":8.000000001`},
	"no initialized timestamp": {`"initialized_timestamp":"2026-01-01T00:00:03.000000000Z",` +
		`"creation_to_initialized_seconds":3,"scheduled_to_initialized_seconds":2.5,`, ``,
		`,"initialized_to_ready_seconds":5.000000001`, ``, `"initialized_to_running_seconds":3,`, ``},
	"no running timestamp": {
		`,"initialized_to_running_seconds":3,"running_timestamp":"2026-01-01T00:00:06.000000000Z"`, ``},
	"no ready timestamp of the init container": {
		`,"ready_timestamp":"2026-01-01T00:00:03.000000000Z","running_to_ready_seconds":1`, ``},
	"no end of the pull": {
		`,"finished_timestamp":"2026-01-01T00:00:05.000000000Z","duration_seconds":2`, ``},
	"init container with a started timestamp": {`"init_container":true,`,
		`"init_container":true,"started_timestamp":"2026-01-01T00:00:02.000000000Z",`},
	"other time of the record": {`"time":"2026-01-01T00:00:09.0`, `"time":"2026-01-01T00:00:09.1`},
	"partial record": {
		`"partial":false,"kube_namespace":"n","pod_name":"p","kube_node":"a","pod"`,
		`"partial":true,"kube_namespace":"n","pod_name":"p","kube_node":"a","pod"`},
	"other container name":         {`"container_name":"init"`, `"container_name":"other"`},
	"download reported as present": {`"already_present":false`, `"already_present":true`},
	"already_present is missing":   {`"already_present":false,`, ``},
	"other start of the pull": {`"started_timestamp":"2026-01-01T00:00:03.0`,
		`"started_timestamp":"2026-01-01T00:00:03.1`},
	"other end of the pull": {
		`"finished_timestamp":"2026-01-01T00:00:05.000000000Z","duration_seconds":2`,
		`"finished_timestamp":"2026-01-01T00:00:05.500000000Z","duration_seconds":2.5`},
	"pull for an unknown container": {`"container_name":"main","short_image":"main","image_name":"r:5000/main",` +
		`"image_tag":"1","image_pull"`, `"container_name":"none","short_image":"main","image_name":"r:5000/main",` +
		`"image_tag":"1","image_pull"`},
	"pull is missing": {`"type":"image_pull"`, `"type":"image"`},
}

func TestDisagreements(t *testing.T) {
	if problems := readPrinted(t, printed).Timelines[0].Disagreements(); len(problems) != 0 {
		t.Errorf("records that agree have problems: %q", problems)
	}
	for name, edits := range disagreements {
		broken := printed
		for edit := range slices.Chunk(edits, 2) {
			before := broken
			if broken = strings.Replace(broken, edit[0], edit[1], 1); broken == before {
				t.Fatalf("%s: the edit of %s changes nothing", name, edit[0])
			}
		}
		if len(readPrinted(t, broken).Timelines[0].Disagreements()) == 0 {
			t.Errorf("%s: no problem reported", name)
		}
	}
	lines := slices.Collect(strings.Lines(printed)) // timeline, pod, container init, container main, main's pull
	for name, order := range map[string][]int{"main before init": {0, 1, 3, 2, 4}, "main twice": {0, 1, 2, 3, 3, 4},
		"no main": {0, 1, 2, 4}, "the pull twice": {0, 1, 2, 3, 4, 4}, "the pull before main": {0, 1, 2, 4, 3}} {
		var broken strings.Builder
		for _, i := range order {
			broken.WriteString(lines[i])
		}
		if len(readPrinted(t, broken.String()).Timelines[0].Disagreements()) == 0 {
			t.Errorf("%s: no problem reported", name)
		}
	}
	first, _, _ := strings.Cut(printed, "\n")
	if len(readPrinted(t, first+"\n").Timelines[0].Disagreements()) == 0 {
		t.Error("timeline without transition records: no problem reported")
	}
}

// The test files contain the agent's output for two scripts. The scripts have an init container, a sidecar and an image
// volume.
func TestAgentOutputHasNoDisagreements(t *testing.T) {
	for _, file := range []string{"first-light", "image-volume"} {
		text, err := os.ReadFile(filepath.Join("testdata", file+".jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		timelines := readPrinted(t, strings.ReplaceAll(string(text), `"ns"`, `"n"`)).Timelines
		if len(timelines) != 1 || len(timelines[0].Transitions) < 3 {
			t.Fatalf("%s: %d timelines", file, len(timelines))
		}
		if problems := timelines[0].Disagreements(); len(problems) != 0 {
			t.Errorf("%s: %q", file, problems)
		}
	}
}

func TestSplitReference(t *testing.T) {
	const digest = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	for ref, want := range map[string][2]string{
		"busybox":                   {"docker.io/library/busybox", "latest"},
		"docker.io/team/web:2":      {"docker.io/team/web", "2"},
		"localhost:5000/a/web:2":    {"localhost:5000/a/web", "2"},
		"r:5000/web@" + digest:      {"r:5000/web", digest},
		"r.example/web:2@" + digest: {"r.example/web", "2"},
		"NOT an image":              {"", ""},
	} {
		if repository, tag := splitReference(ref); repository != want[0] || tag != want[1] {
			t.Errorf("%s: got %s %s, want %s %s", ref, repository, tag, want[0], want[1])
		}
	}
}

func TestSchemas(t *testing.T) {
	schemas, err := ReadSchemas("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if err := Validate(schemas.Timeline, []byte(`{"id":"u/0"}`)); err == nil {
		t.Error("an incomplete timeline record is valid")
	}
	if err := Validate(schemas.Transition, []byte(`{"kube_transition_metrics":{}}`)); err == nil {
		t.Error("an incomplete transition record is valid")
	}
	if _, err := ReadSchemas(t.TempDir()); err == nil {
		t.Error("ReadSchemas without schemas returns no error")
	}
}
