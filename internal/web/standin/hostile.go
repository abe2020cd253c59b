package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/podlapse/podlapse/internal/startuptest"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// attacks returns texts that do harm if a page does not treat them as plain text.
func attacks() []string {
	return []string{
		`<img src=x onerror="window.attacked=1;alert(1)">`,
		`<script>window.attacked=1</script>`,
		`"><svg/onload=alert(1)>`,
		`javascript:alert(1)`,
		"\x1b[31mred\x1b]0;title\x07\x1b[2J\u009b1m",
		"safe\u202egnp.exe\u2066\u2067 \u200bhidden\u200d\u2028line\r\nnext\x00",
		"Z" + strings.Repeat("\u0301", 400),
		"\U000e0041\U000e0042tagged\ufeff\u3164",
		strings.Repeat("long", 1000),
		`__proto__`,
		`{{constructor.constructor('alert(1)')()}}`,
		`url(http://elsewhere.example/)`,
	}
}

// megabyte returns a text of 1 MiB that begins with an attack. A page must show only a part of the text.
func megabyte(attack string) string {
	return attack + strings.Repeat("x", 1<<20-len(attack))
}

// hostileStartUps returns one timeline for each attack. Every field with untrusted text contains the attack. In a
// cluster, the API server validates names, and the agent shortens messages. The page must be safe even without this
// protection.
func hostileStartUps() []timeline.Timeline {
	var all []timeline.Timeline
	for n, attack := range attacks() {
		t := startuptest.New(10_000 + n)
		t.Namespace, t.Name, t.Node = fmt.Sprint("hostile-", n), attack, attack
		t.Owner = timeline.Owner{Kind: attack, Name: attack}
		t.Reason = attack
		if n%2 == 0 {
			t.State = timeline.State(attack)
		}
		for i := range t.Phases {
			t.Phases[i].Container = attack
			if i%3 == 0 {
				t.Phases[i].Phase, t.Phases[i].Cause = timeline.Phase(attack), timeline.Cause(attack)
			}
			t.Phases[i].Sources = []timeline.Source{timeline.Source(attack)}
			t.Phases[i].MergedWith = []timeline.Phase{timeline.Phase(attack)}
		}
		for i := range t.Pulls {
			p := &t.Pulls[i]
			p.Container, p.Image, p.Registry, p.Outcome, p.Failure = attack, attack, attack, imagepull.Outcome(attack),
				imagepull.Failure(attack)
			p.BlockedBy = &timeline.Blocker{Namespace: attack, Pod: attack, Container: attack, Image: attack,
				Waited: time.Second}
			for j := range p.Layers {
				p.Layers[j].Digest = attack
			}
		}
		for i := range t.Milestones {
			t.Milestones[i].Container = attack
		}
		t.Missing, t.LostEvents, t.Unreported = []string{attack}, []string{attack}, []string{attack}
		t.Conflicts = []timeline.Conflict{{Container: attack, Detail: megabyte(attack)}}
		for i := range 4 {
			t.EventMessage = append(t.EventMessage, timeline.EventMessage{
				At: t.CreatedAt.Add(time.Duration(i) * time.Second), Container: attack, Reason: attack,
				Message: megabyte(attack),
			})
		}
		t.Termination = hostileEnd(t, attack)
		all = append(all, t)
	}
	return all
}

func hostileEnd(t timeline.Timeline, attack string) *timeline.Termination {
	return &timeline.Termination{
		RequestedAt: t.CreatedAt.Add(time.Minute), GoneAt: t.CreatedAt.Add(2 * time.Minute), Total: time.Minute,
		Reason: attack,
		Phases: []timeline.Span{{Phase: timeline.Phase(attack), Cause: timeline.Cause(attack), Container: attack,
			StartAt: t.CreatedAt.Add(time.Minute), EndAt: t.CreatedAt.Add(2 * time.Minute),
			MergedWith: []timeline.Phase{timeline.Phase(attack)}}},
		Stops: []timeline.Stop{{Container: attack, How: timeline.StopKind(attack), Exited: true, ExitCode: 1,
			Reason: attack}},
	}
}
