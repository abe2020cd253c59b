package scenario

import (
	"bytes"
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

func TestRecordsVerdict(t *testing.T) {
	schemas, err := agent.ReadSchemas("../../..")
	if err != nil {
		t.Fatal(err)
	}
	verdict := &Verdict{}
	verdict.records(agent.Records{Timelines: []agent.Timeline{{Name: "p", Raw: []byte(`{"id":"u/0"}`)}}, Unmatched: 2},
		schemas)
	var out bytes.Buffer
	verdict.Print(&out)
	for _, want := range []string{"timeline record of p:",
		"the timeline and the transition records of p contradict each other", "2 transition records do not follow",
		"1 timeline records"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}
