package render

import (
	"strings"
	"testing"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

var unknown = []api.WhatIfUnknown{{Text: "with two fewer init containers\x1b[2J", Reason: "of D"}}

func TestWhatIf(t *testing.T) {
	predictions := []api.WhatIfRecord{
		{Text: "with the image on the node", Effect: "about 9.2 s instead of 47.0 s (8.0 to 10.5 s)",
			Assumption: "if A"},
		{Text: "with 2 pulls at a time", Effect: "about 2.0 s earlier (1.1 to 3.0 s)", Assumption: "if B"},
		{Text: "with a period of 1 s\x1b[2J", Effect: "up to 9.0 s earlier", Assumption: "if C"},
		{Text: "with a fourth change"},
	}
	want := `
WHAT WOULD HELP
  with the image on the node: about 9.2 s instead of 47.0 s (8.0 to 10.5 s), if A
  with 2 pulls at a time: about 2.0 s earlier (1.1 to 3.0 s), if B
  with a period of 1 s[2J: up to 9.0 s earlier, if C
`
	if got := WhatIf(predictions, unknown, page110); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := WhatIf(predictions[:2], unknown, page110); !strings.HasSuffix(got,
		"\n  with two fewer init containers[2J: no prediction, because of D\n") {
		t.Errorf("with an unknown effect: %s", got)
	}
	narrow := WhatIf(predictions, nil, terminal.Page{Columns: 50, Fit: true})
	for line := range strings.Lines(narrow) {
		if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > 50 {
			t.Errorf("a line has %d cells: %s", cells, line)
		}
	}
	if got := WhatIf(nil, nil, page110) + WhatIfMeans(nil, nil, page110); got != "" {
		t.Errorf("without predictions: %q", got)
	}
}

func TestWhatIfMeans(t *testing.T) {
	got := WhatIfMeans([]api.WhatIfMean{{Text: "with the image on the node", Assumption: "if A",
		Effect: "on average about 9.0 s instead of 47.0 s (8.0 to 10.0 s) in 11 of 16 start-ups"}}, unknown, page110)
	want := "\nWHAT WOULD HELP\n  with the image on the node: on average about 9.0 s instead of 47.0 s " +
		"(8.0 to 10.0 s) in 11 of 16 start-ups, if A\n" +
		"  with two fewer init containers[2J: no prediction, because of D\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
