package agent

import (
	"os"
	"path/filepath"
	"testing"
)

func names(timelines []Timeline) (names []string) {
	for _, timeline := range timelines {
		names = append(names, timeline.Name)
	}
	return names
}

func TestRecords(t *testing.T) {
	path := filepath.Join(t.TempDir(), "records")
	text := `{"id":"1/0","namespace":"n","name":"a","phases":[{"phase":"pull","seconds":1}]}
{"id":"2/0","namespace":"other","name":"b"}
{"id":"3/0","namespace":"n","name":"c","phases":[{"pha{"id":"3/0","namespace":"n","name":"c",` +
		`"phases":[{"phase":"pull","seconds":1}]}
{"id":"1/0","namespace":"n","name":"a"}
{"node_startup":{"id":"b","workload":{"namespace":"n","name":"x"}}}
{"id":"4/0","namesp
{"id":"5/0","namespace":"n","name":"e"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := ReadRecords(Output{File: path}, "n")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(records.Timelines); len(got) != 3 || got[0] != "a" || got[1] != "c" || got[2] != "a" ||
		records.Torn != 2 {
		t.Errorf("got %v, %d torn", got, records.Torn)
	}
	if got := names(Once(records.Timelines)); len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("once: %v", got)
	}
	if records, err := ReadRecords(Output{File: path + "-missing"}, "n"); err != nil || len(records.Timelines) != 0 {
		t.Errorf("no file: %v, %v", records, err)
	}
}

func TestRecordsInContainerLogs(t *testing.T) {
	dir := t.TempDir()
	var output Output
	for name, text := range map[string]string{ // the alphabetical order of these file names is not their order in time
		"first": "2026-01-02T03:04:05Z stdout P {\"id\":\"1/0\",\"namespace\":\"n\",\n",
		"second": "2026-01-02T03:04:06Z stdout F \"name\":\"a\"}\n2026-01-02T03:04:06Z stdout F " +
			"{\"id\":\"2/0\",\"namespace\":\"n\",\"name\":\"b\"}\n",
		"third": "2026-01-02T03:04:07Z stderr F {\"id\":\"3/0\",\"namespace\":\"n\",\"name\":\"c\"}\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		output.Logs = append(output.Logs, path)
	}
	records, err := ReadRecords(output, "n")
	if got := names(records.Timelines); err != nil || len(got) != 2 || got[0] != "a" || got[1] != "b" ||
		records.Torn != 0 {
		t.Errorf("got %v, %d torn, %v", got, records.Torn, err)
	}
	if _, err := ReadRecords(Output{Logs: []string{dir + "/none"}}, "n"); err == nil {
		t.Error("a missing log returns no error")
	}
}

func TestRecordsWithoutIDsAreKept(t *testing.T) {
	if got := Once([]Timeline{{Name: "a"}, {Name: "a"}}); len(got) != 2 {
		t.Errorf("got %v", names(got))
	}
}
