package blame

import (
	"fmt"
	"time"

	"github.com/podlapse/podlapse/lab/internal/agent"
)

// Reported is a phase of the agent's timeline.
type Reported struct {
	Span
	Phase, Container string
	Cause            Cause
	Candidates       []Cause // of an unattributed stretch: those that the agent names
	Merged           []string
	Error            time.Duration
}

// newsDelay is how long kubelet takes to hear that a container ended: it lists what runs once a second. What has happened in
// a phase that goes on since then, the agent cannot know yet.
const newsDelay = time.Second

// Read reads the phases of a timeline.
func Read(timeline agent.Timeline) ([]Reported, error) {
	var reported []Reported
	for _, p := range timeline.Phases {
		stated, err := agent.Nanoseconds(p.Error)
		if err != nil {
			return nil, fmt.Errorf("error of phase %s: %w", p.Phase, err)
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
		if p.Phase == agent.Unattributed {
			t.Cause = Unknown
			for _, name := range p.MergedWith {
				t.Candidates = append(t.Candidates, causeOf[name])
			}
		} else if known := causeOf[p.Phase]; known != p.Cause {
			return nil, fmt.Errorf("phase %s is charged to %q, the table says %q", p.Phase, p.Cause, known)
		}
		reported = append(reported, t)
	}
	return reported, nil
}
