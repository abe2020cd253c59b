package render

import (
	"strings"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// maxWhatIf is the maximum number of changes that WhatIf and WhatIfMeans list.
const maxWhatIf = 3

// WhatIf lists the changes that would make a start-up faster, the largest gain first. The text is empty without
// predictions. The predictions can come from an untrusted record.
func WhatIf(predictions []api.WhatIfRecord, page terminal.Page) string {
	var lines []string
	for _, p := range predictions[:min(len(predictions), maxWhatIf)] {
		lines = append(lines, p.Text+": "+p.Effect+", "+p.Assumption)
	}
	return whatIfText(lines, page)
}

// WhatIfMeans lists the changes that would make the start-ups of a workload faster.
func WhatIfMeans(means []api.WhatIfMean, page terminal.Page) string {
	var lines []string
	for _, m := range means[:min(len(means), maxWhatIf)] {
		lines = append(lines, m.Text+": "+m.Effect+", "+m.Assumption)
	}
	return whatIfText(lines, page)
}

func whatIfText(lines []string, page terminal.Page) string {
	if len(lines) == 0 {
		return ""
	}
	text := "\nWHAT WOULD HELP\n"
	for _, line := range lines {
		text += "  " + strings.ReplaceAll(page.Wrap(terminal.Clean(line)), "\n", "\n  ") + "\n"
	}
	return text
}
