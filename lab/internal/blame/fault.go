package blame

import "slices"

// blameRuntime corrects the true causes of the periods in which containerd was stopped. If the first true cause of a
// period is the registry or the back-off, the runtime becomes an additional cause. For any other first cause, the
// runtime becomes the cause if the start-up needed containerd.
func (a Account) blameRuntime(laid []Stretch) []Stretch {
	all := slices.Clone(laid)
	for _, away := range a.Stopped {
		for _, s := range laid {
			needed := s.Causes[0] == Runtime || s.Causes[0] == Disk || s.Causes[0] == Kubelet ||
				slices.Contains(s.Causes, Runtime)
			during := Span{later(s.From, away.From), earlier(s.To, away.To)}
			over := Stretch{Span: during, Causes: []Cause{Runtime}, Slack: s.Slack, Source: "scenario"}
			switch {
			case s.From.Before(a.PickedUpAt) || during.Length() == 0:
			case s.Causes[0] == Registry:
				over.Causes = []Cause{Registry, Runtime}
				all = append(all, over)
			case s.Causes[0] == Backoff:
				over.Causes = []Cause{Backoff, Runtime}
				all = append(all, over)
			case needed:
				all = append(append(all, over), a.ranMeanwhile(over)...)
			}
		}
	}
	return Lay(all...)
}

// While containerd is stopped, a container's process can be running. ranMeanwhile returns the parts of "over" in which
// such a process ran. A running process does not need containerd, so the true causes of these parts are the runtime and
// the application.
func (a Account) ranMeanwhile(over Stretch) (parts []Stretch) {
	for _, c := range a.Calls {
		i := a.runOf(c)
		if i < 0 || c.From.After(over.From) || c.To.Before(over.To) {
			continue
		}
		r := a.Runs[i]
		ran := Span{later(over.From, r.BegunAt), over.To}
		if !r.ExitedAt.IsZero() {
			ran.To = earlier(ran.To, r.ExitedAt)
		}
		if !r.BegunAt.IsZero() && ran.Length() > 0 {
			parts = append(parts, Stretch{Span: ran, Causes: []Cause{Runtime, App}, Slack: over.Slack,
				Source: over.Source})
		}
	}
	return parts
}

// insertInto adds the scenario's fault to the stretches from the independent logs. If the fault and a stretch overlap,
// the fault replaces this part of the stretch.
func (f Fault) insertInto(laid []Stretch) []Stretch {
	all := slices.Clone(laid)
	from := f.From
	for _, s := range laid {
		if s.From.After(f.FixedAt) || !s.To.After(f.FixedAt) {
			continue
		}
		if f.From.IsZero() {
			from = s.From
		}
		if len(f.Then) > 0 {
			s.From, s.Causes = f.FixedAt, f.Then
			all = append(all, s)
		}
	}
	if !from.IsZero() && f.FixedAt.After(from) {
		all = append(all, Stretch{Span: Span{from, f.FixedAt}, Causes: f.Causes, Slack: Slack, Source: f.Source})
	}
	return Lay(all...)
}
