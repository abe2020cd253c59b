package annotate

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// maxVerdict is the maximum length of the verdict in bytes. The verdict needs a limit, because it contains names of
// images and containers. All other fields of the annotation are short. The field seconds_by_cause is also short,
// because the number of causes is limited. The whole annotation is shorter than 4 KiB.
const maxVerdict = 512

// startUpAnnotation is the content of the annotation "podlapse.dev/startup". Users rely on the names and the meaning
// of the fields. Therefore, the names and the meaning must stay stable (docs/annotations.md).
type startUpAnnotation struct {
	State timeline.State `json:"state"`
	Total api.Seconds    `json:"total_seconds"`
	Error api.Seconds    `json:"error_seconds"` // maximum error of total_seconds
	// Causes contains the total duration of the phases of each cause. The durations of all causes add up to exactly
	// Total. A cause whose duration is zero is omitted.
	Causes  map[timeline.Cause]api.Seconds `json:"seconds_by_cause"`
	Verdict string                         `json:"verdict"`
	// Reconstructed is true if the start-up completed before the agent started.
	Reconstructed bool `json:"reconstructed,omitempty"`
}

// startUpText returns the annotation for a completed start-up.
func startUpText(t timeline.Timeline) (string, error) {
	content := startUpAnnotation{
		State: t.State, Total: api.Seconds(t.Total), Error: api.Seconds(t.TotalError),
		Causes: map[timeline.Cause]api.Seconds{}, Verdict: shorten(t.Verdict(), maxVerdict),
		Reconstructed: t.Reconstructed,
	}
	for _, phase := range t.Phases {
		if d := phase.Duration(); d != 0 {
			content.Causes[phase.Cause] += api.Seconds(d)
		}
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", StartUp, err)
	}
	return string(text), nil
}

// shorten shortens a text to at most the given number of bytes without splitting characters.
func shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:most-len(ellipsis)], "") + ellipsis
}
