package render

import (
	"strings"
	"testing"
	"time"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/pkg/api"
)

func TestWhatIf(t *testing.T) {
	const ms = api.Seconds(time.Millisecond)
	predictions := []api.WhatIfRecord{
		{Text: "with the image on the node", Assumption: "if A", TotalLeast: 8000 * ms, TotalMost: 10460 * ms,
			Gain: 37800 * ms, GainLeast: 36000 * ms, GainMost: 39000 * ms},
		{Text: "with 2 pulls at a time", Assumption: "if B", TotalLeast: 44000 * ms, TotalMost: 48000 * ms,
			Gain: 2000 * ms, GainLeast: 1100 * ms, GainMost: 3000 * ms},
		{Text: "with a period of 1 s\x1b[2J", Assumption: "if C", GainLeast: -1000 * ms, GainMost: 9000 * ms},
		{Text: "with a fourth change"},
	}
	want := `
WHAT WOULD HELP
  with the image on the node: about 9.2 s instead of 47.0 s (8.0 to 10.5 s), if A
  with 2 pulls at a time: about 2.0 s earlier (1.1 to 3.0 s), if B
  with a period of 1 s[2J: up to 9.0 s earlier, if C
`
	if got := WhatIf(predictions, 47000*ms, page110); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	predictions[0].Gain, predictions[1].Gain = 0, 0 // from an earlier agent
	want = `
WHAT WOULD HELP
  with the image on the node: 8.0 to 10.5 s instead of 47.0 s, if A
  with 2 pulls at a time: 1.1 to 3.0 s earlier, if B
`
	if got := WhatIf(predictions[:2], 47000*ms, page110); got != want {
		t.Errorf("without estimates: got %s\nwant %s", got, want)
	}
	narrow := WhatIf(predictions, 47000*ms, terminal.Page{Columns: 50, Fit: true})
	for line := range strings.Lines(narrow) {
		if cells := terminal.Cells(strings.TrimSuffix(line, "\n")); cells > 50 {
			t.Errorf("a line has %d cells: %s", cells, line)
		}
	}
	if got := WhatIf(nil, 0, page110) + WhatIfMeans(nil, page110); got != "" {
		t.Errorf("without predictions: %q", got)
	}
}

func TestWhatIfMeans(t *testing.T) {
	const second = api.Seconds(time.Second)
	got := WhatIfMeans([]whatif.Mean{{Text: "with the image on the node", Assumption: "if A", StartUps: 11, Of: 16,
		Total: 47 * second, TotalLeast: 8 * second, TotalMost: 10 * second, Gain: 38 * second, GainLeast: 37 * second,
		GainMost: 39 * second}}, page110)
	want := "\nWHAT WOULD HELP\n  with the image on the node: on average about 9.0 s instead of 47.0 s " +
		"(8.0 to 10.0 s) in 11 of 16 start-ups, if A\n"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
