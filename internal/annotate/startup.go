package annotate

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"github.com/podlapse/podlapse/pkg/export"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxVerdict bounds the sentence, in bytes: names of images and containers are in it. All else in
// the annotation is bounded by the number of causes, so that the annotation has less than 4 KiB.
const maxVerdict = 512

// startUp is the annotation's content; its fields are a contract (docs/annotations.md).
type startUp struct {
	State timeline.State `json:"state"`
	Total export.Seconds `json:"total_seconds"`
	Error export.Seconds `json:"error_seconds"` // how far the total can be from the truth
	// Causes add up to the total exactly; one that nothing is charged to is left out.
	Causes  map[timeline.Cause]export.Seconds `json:"seconds_by_cause"`
	Verdict string                            `json:"verdict"`
	// the agent came after the start-up was over
	Reconstructed bool `json:"reconstructed,omitempty"`
}

// startUpText is what is written of a start-up that is over.
func startUpText(t timeline.Timeline) (string, error) {
	content := startUp{
		State: t.State, Total: export.Seconds(t.Total), Error: export.Seconds(t.TotalError),
		Causes: map[timeline.Cause]export.Seconds{}, Verdict: cut(t.Verdict(), maxVerdict),
		Reconstructed: t.Reconstructed,
	}
	for _, phase := range t.Phases {
		if d := phase.Duration(); d != 0 {
			content.Causes[phase.Cause] += export.Seconds(d)
		}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", StartUp, err)
	}
	return string(text), nil
}

// cut shortens a text to at most so many bytes, between characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const mark = "…"
	end := most - len(mark)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + mark
}
