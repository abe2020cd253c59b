package render

import (
	"strings"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/pkg/api"
)

// maxWhatIf is the maximum number of changes that WhatIf or WhatIfMeans lists. This number includes the changes without
// a prediction.
const maxWhatIf = 3

// WhatIf lists the changes that would make a start-up faster, the largest gain first. After these changes, WhatIf lists
// the changes whose effect is unknown. The text is empty if both lists are empty. The predictions can come from an
// untrusted record.
func WhatIf(predictions []api.WhatIfRecord, unknown []api.WhatIfUnknown, page terminal.Page) string {
	var lines []string
	for _, p := range predictions[:min(len(predictions), maxWhatIf)] {
		lines = append(lines, p.Text+": "+p.Effect+", "+p.Assumption)
	}
	return whatIfText(lines, unknown, page)
}

// WhatIfMeans lists the changes that would make the start-ups of a workload faster. After these changes, WhatIfMeans
// lists the changes whose effect is unknown.
func WhatIfMeans(means []api.WhatIfMean, unknown []api.WhatIfUnknown, page terminal.Page) string {
	var lines []string
	for _, m := range means[:min(len(means), maxWhatIf)] {
		lines = append(lines, m.Text+": "+m.Effect+", "+m.Assumption)
	}
	return whatIfText(lines, unknown, page)
}

func whatIfText(lines []string, unknown []api.WhatIfUnknown, page terminal.Page) string {
	for _, u := range unknown[:min(len(unknown), maxWhatIf-len(lines))] {
		lines = append(lines, u.Text+": no prediction, because "+u.Reason)
	}
	if len(lines) == 0 {
		return ""
	}
	text := "\nWHAT WOULD HELP\n"
	for _, line := range lines {
		text += "  " + strings.ReplaceAll(page.Wrap(terminal.Clean(line)), "\n", "\n  ") + "\n"
	}
	return text
}
