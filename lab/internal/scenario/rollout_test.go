package scenario

import (
	"strings"
	"testing"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

func TestJudgeRollout(t *testing.T) {
	once := []agent.Timeline{{ID: "1/0"}, {ID: "2/0"}}
	for want, v := range map[string]struct {
		records agent.Records
		agents  int
	}{
		"":           {agent.Records{Timelines: once}, 4},
		"repeated":   {agent.Records{Timelines: append(once, once[0])}, 4},
		"incomplete": {agent.Records{Timelines: once, Torn: 1}, 4},
		"3 agents":   {agent.Records{Timelines: once}, 3},
	} {
		var verdict Verdict
		judgeRollout(&verdict, v.records, 3, v.agents)
		got := strings.Join(verdict.Problems, "; ")
		if (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}
