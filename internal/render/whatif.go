package render

import (
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/internal/terminal"
	"github.com/podlapse/podlapse/internal/whatif"
	"github.com/podlapse/podlapse/pkg/api"
)

// maxWhatIf is the maximum number of changes in a text.
const maxWhatIf = 3

// WhatIf lists the changes that make a start-up faster, the largest gain first. The text is empty without predictions.
// The predictions can come from an untrusted record.
func WhatIf(predictions []api.WhatIfRecord, total api.Seconds, page terminal.Page) string {
	var lines []string
	for _, p := range predictions[:min(len(predictions), maxWhatIf)] {
		lines = append(lines, fmt.Sprintf("%s: %s, %s", p.Text,
			gainText(p, total), p.Assumption))
	}
	return whatIfText(lines, page)
}

// WhatIfMeans lists the changes that make the start-ups of a workload faster.
func WhatIfMeans(means []whatif.Mean, page terminal.Page) string {
	var lines []string
	for _, m := range means[:min(len(means), maxWhatIf)] {
		lines = append(lines, fmt.Sprintf("%s: on average %s in %d of %s, %s", m.Text,
			gainText(api.WhatIfRecord{TotalLeast: m.TotalLeast, TotalMost: m.TotalMost, Gain: m.Gain,
				GainLeast: m.GainLeast, GainMost: m.GainMost}, m.Total), m.StartUps,
			number(m.Of, "start-up"), m.Assumption))
	}
	return whatIfText(lines, page)
}

// gainText describes the new duration, as an estimate and an interval. If the old duration lies in this interval,
// gainText describes the saved time instead. The interval of the saved time is narrower, because it does not contain
// the variation of the unchanged steps. Records of earlier agents have no estimate.
func gainText(p api.WhatIfRecord, total api.Seconds) string {
	within := func(estimate, least, most api.Seconds, what string) string {
		interval := fmt.Sprintf("%.1f to %s", least.Duration().Seconds(), short(most))
		if p.Gain <= 0 {
			return interval + " " + what
		}
		return fmt.Sprintf("about %s %s (%s)", short(estimate), what, interval)
	}
	switch {
	case p.GainLeast <= 0:
		return "up to " + short(p.GainMost) + " earlier"
	case p.TotalMost >= total:
		return within(p.Gain, p.GainLeast, p.GainMost, "earlier")
	}
	return within(total-p.Gain, p.TotalLeast, p.TotalMost, "instead of "+short(total))
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
