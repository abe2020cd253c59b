package blame

import (
	"fmt"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// Reported is a phase in the agent's timeline.
type Reported struct {
	Span
	Phase, Container string
	Cause            Cause
	Candidates       []Cause // causes of the phases in Merged; only for a group phase such as unattributed
	Merged           []string
	Error            time.Duration
}

// newsDelay is the longest time from the exit of a container until the kubelet detects the exit. The kubelet lists the
// containers once per second. In the last second of a phase in progress, a container might have exited, and the agent
// cannot know about the exit yet.
const newsDelay = time.Second

// Read converts the phases of a timeline to the type Reported.
func Read(timeline agent.Timeline) ([]Reported, error) {
	var reported []Reported
	for _, p := range timeline.Phases {
		stated, err := agent.Nanoseconds(p.Error)
		if err != nil {
			return nil, fmt.Errorf("read the field \"error_seconds\" of phase %q: %w", p.Phase, err)
		}
		t := Reported{
			Span:      Span{p.StartAt, p.EndAt},
			Phase:     p.Phase,
			Container: p.Container,
			Cause:     p.Cause,
			Error:     stated,
			Merged:    p.MergedWith,
		}
		if p.Open {
			t.To = t.To.Add(-newsDelay)
			if t.To.Before(t.From) {
				t.To = t.From
			}
		}
		if p.IsGroup() {
			if known, named := causeOf[p.Phase]; !named || known != p.Cause {
				return nil, fmt.Errorf("phase %q has the cause %q, want %q", p.Phase, p.Cause, known)
			}
			t.Cause = Unknown
			for _, name := range p.MergedWith {
				t.Candidates = append(t.Candidates, causeOf[name])
			}
		} else if known := causeOf[p.Phase]; known != p.Cause {
			return nil, fmt.Errorf("phase %q has the cause %q, want %q", p.Phase, p.Cause, known)
		}
		reported = append(reported, t)
	}
	return reported, nil
}
