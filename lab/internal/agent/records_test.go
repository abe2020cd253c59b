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
{"id":"3/0","namespace":"n","name":"c","phases":[{"pha{"id":"3/0","namespace":"n","name":"c","phases":[{"phase":"pull","seconds":1}]}
{"id":"1/0","namespace":"n","name":"a"}
{"id":"4/0","namesp
{"id":"5/0","namespace":"n","name":"e"}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	records, err := ReadRecords(path, "n")
	if err != nil {
		t.Fatal(err)
	}
	if got := names(records.Timelines); len(got) != 3 || got[0] != "a" || got[1] != "c" || got[2] != "a" || records.Torn != 2 {
		t.Errorf("got %v, %d torn", got, records.Torn)
	}
	if got := names(Once(records.Timelines)); len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("once: %v", got)
	}
	if records, err := ReadRecords(path+"-missing", "n"); err != nil || len(records.Timelines) != 0 {
		t.Errorf("no file: %v, %v", records, err)
	}
}

func TestRecordsWithoutIDsAreKept(t *testing.T) {
	if got := Once([]Timeline{{Name: "a"}, {Name: "a"}}); len(got) != 2 {
		t.Errorf("got %v", names(got))
	}
}
