package timeline

func (p *packer) timeline(t *Timeline) {
	p.times(&t.CreatedAt, &t.SettledAt, &t.ReadAt, &t.ScheduledAt, &t.InitializedAt, &t.ReadyAt)
	p.texts(&t.Namespace, &t.Name, &t.UID, &t.Node, &t.StaticUID, &t.Reason, &t.Revision, &t.TraceParent, &t.Labels)
	p.owner(&t.Owner)
	p.traits(&t.Traits)
	packText(p, &t.State)
	p.flags(&t.Partial, &t.Reconstructed, &t.Incomplete)
	p.lengths(&t.Total, &t.TotalError, &t.Skew.Least, &t.Skew.Most)
	packSlice(p, &t.Reached.Containers, p.reached)
	packSlice(p, &t.Phases, p.span)
	packSlice(p, &t.Pulls, p.pull)
	packSlice(p, &t.EphemeralPulls, p.pull)
	packSlice(p, &t.Probes, p.probe)
	packSlice(p, &t.Milestones, p.milestone)
	packSlice(p, &t.Conflicts, p.conflict)
	for _, list := range []*[]string{&t.Missing, &t.Unreported, &t.LostEvents} {
		packSlice(p, list, func(s *string) { packText(p, s) })
	}
	packSlice(p, &t.EventMessage, func(m *EventMessage) {
		p.time(&m.At)
		p.texts(&m.Container, &m.Reason, &m.Message)
	})
}

func (p *packer) owner(o *Owner) { p.texts(&o.Kind, &o.Name) }

func (p *packer) traits(t *Traits) {
	p.owner(&t.Controller)
	p.texts(&t.QOSClass, &t.PriorityClass, &t.RuntimeClass, &t.App.Component, &t.App.Instance, &t.App.ManagedBy,
		&t.App.Name, &t.App.PartOf, &t.App.Version)
}

func (p *packer) reached(c *ContainerReached) {
	p.texts(&c.Name, &c.Image)
	packText(p, &c.Kind)
	p.times(&c.RunningAt, &c.StartedAt, &c.ReadyAt, &c.SucceededAt)
}

func (p *packer) span(s *Span) {
	packText(p, &s.Phase)
	packText(p, &s.Cause)
	packText(p, &s.Container)
	packNumber(p, &s.Attempt)
	p.times(&s.StartAt, &s.EndAt)
	packNumber(p, &s.Error)
	p.sources(&s.Sources)
	packSlice(p, &s.MergedWith, func(m *Phase) { packText(p, m) })
	p.flags(&s.Open, &s.ImageLoading)
	packPointer(p, &s.Pressure, func(r *Pressure) {
		p.share(&r.CPU)
		p.share(&r.IO)
		p.share(&r.Memory)
	})
}

func (p *packer) pull(l *Pull) {
	p.texts(&l.Container, &l.Image, &l.Registry, &l.Digest)
	packText(p, &l.Kind)
	packText(p, &l.Outcome)
	packText(p, &l.Failure)
	p.times(&l.RequestedAt, &l.StartedAt, &l.DownloadedAt, &l.FinishedAt)
	p.lengths(&l.Queue, &l.Pull, &l.Error, &l.Credentials, &l.reportedError)
	p.flags(&l.Timed, &l.QueueTimed, &l.Resumed, &l.Confirmed, &l.Unconfirmed, &l.Lazy, &l.early, &l.waited)
	packNumber(p, &l.SizeBytes)
	packNumber(p, &l.absentAt)
	packNumber(p, &l.resolvedAt)
	packNumber(p, &l.stampedAt)
	packNumber(p, &l.endsSince)
	for _, n := range []*int{&l.Attempt, &l.Ahead, &l.Beside} {
		packNumber(p, n)
	}
	packSlice(p, &l.Layers, p.layer)
	packSlice(p, &l.imageLayers, p.layer)
	packSlice(p, &l.Shared, p.flag)
	p.sources(&l.Sources)
	packPointer(p, &l.BlockedBy, func(b *Blocker) {
		p.texts(&b.Namespace, &b.Pod, &b.Container, &b.Image)
		packNumber(p, &b.Waited)
	})
}

func (p *packer) layer(l *Layer) {
	packText(p, &l.Digest)
	packNumber(p, &l.SizeBytes)
	p.times(&l.DownloadedAt, &l.UnpackedAt)
	p.flag(&l.Remote)
}

func (p *packer) probe(b *Probe) {
	packText(p, &b.Container)
	packText(p, &b.Kind)
	p.lengths(&b.InitialDelay, &b.Period, &b.Timeout)
	packNumber(p, &b.Successes)
}

func (p *packer) milestone(m *MilestoneEvidence) {
	packNumber(p, &m.Milestone)
	packText(p, &m.Container)
	packNumber(p, &m.Attempt)
	p.times(&m.At, &m.Earliest, &m.Latest)
	p.sources(&m.Sources)
}

func (p *packer) conflict(c *Conflict) {
	packNumber(p, &c.Milestone)
	p.texts(&c.Container, &c.Detail)
}
