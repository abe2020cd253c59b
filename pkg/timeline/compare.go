package timeline

import (
	"cmp"
	"slices"
)

// Two observations with the same timestamp can differ, for example because a clock has a coarse resolution. The
// evidence keeps only one of these two observations. The choice must not depend on the order of arrival. So the
// functions below define a total order for each kind of observation.

// compareSightings orders possible first observations of a pod by time. If two observations have the same time, the
// observation of a pod that was still starting comes first. So the evidence misses no start-up.
func compareSightings(a, b firstSighting) int {
	rank := func(s firstSighting) int {
		switch {
		case !s.over:
			return 0
		case s.live:
			return 1
		}
		return 2
	}
	return cmp.Or(a.at.Compare(b.at), cmp.Compare(rank(a), rank(b)), compareBools(a.live, b.live),
		compareBools(a.new, b.new))
}

// comparePods orders pod objects by all their fields.
func comparePods(a, b *Pod) int {
	return cmp.Or(
		cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Reason, b.Reason),
		slices.CompareFunc(a.Conditions, b.Conditions, compareConditions),
		slices.CompareFunc(a.Containers, b.Containers, compareContainers),
		a.DeletedAt.Compare(b.DeletedAt), a.AcknowledgedAt.Compare(b.AcknowledgedAt), a.CreatedAt.Compare(b.CreatedAt),
		a.ReadAt.Compare(b.ReadAt),
		cmp.Compare(a.DeletionGrace, b.DeletionGrace), compareBools(a.DeletionObserved, b.DeletionObserved),
		compareBools(a.Finalizers, b.Finalizers), cmp.Compare(a.Disruption, b.Disruption),
		compareBools(a.ReadinessGates, b.ReadinessGates), cmp.Compare(a.UID, b.UID),
		cmp.Compare(a.RuntimeUID, b.RuntimeUID),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node),
		cmp.Compare(a.Owner.Kind, b.Owner.Kind), cmp.Compare(a.Owner.Name, b.Owner.Name),
		cmp.Compare(a.Generation, b.Generation), cmp.Compare(a.KubeletGeneration, b.KubeletGeneration),
		a.UnschedulableAt.Compare(b.UnschedulableAt), compareBools(a.FieldsManaged, b.FieldsManaged),
		compareBools(a.ScheduledByKubelet, b.ScheduledByKubelet), a.FailedBy.Compare(b.FailedBy),
		compareBools(a.HostNetwork, b.HostNetwork), compareBools(a.ResourceClaims, b.ResourceClaims),
		compareBools(a.VolumeClaims, b.VolumeClaims), compareBools(a.RemoteVolumes, b.RemoteVolumes),
		compareBools(a.PullSecrets, b.PullSecrets),
		cmp.Compare(a.Revision, b.Revision), cmp.Compare(a.TraceParent, b.TraceParent), cmp.Compare(a.Labels, b.Labels),
		compareTraits(a.Traits, b.Traits))
}

func compareTraits(a, b *Traits) int {
	texts := func(t *Traits) []string {
		return []string{t.Controller.Kind, t.Controller.Name, t.QOSClass, t.PriorityClass, t.RuntimeClass,
			t.App.Component, t.App.Instance, t.App.ManagedBy, t.App.Name, t.App.PartOf, t.App.Version}
	}
	switch {
	case a == nil || b == nil:
		return compareBools(a != nil, b != nil)
	case *a == *b: // usually, the traits of a pod do not change
		return 0
	}
	return slices.Compare(texts(a), texts(b))
}

func compareConditions(a, b Condition) int {
	return cmp.Or(cmp.Compare(a.Type, b.Type), compareBools(a.True, b.True), a.TransitionAt.Compare(b.TransitionAt))
}

func compareContainers(a, b Container) int {
	return cmp.Or(
		cmp.Compare(a.Attempt, b.Attempt), cmp.Compare(a.State, b.State), cmp.Compare(a.WaitingReason, b.WaitingReason),
		compareBools(a.Misconfigured, b.Misconfigured),
		cmp.Compare(a.PullFailure, b.PullFailure), a.StartedAt.Compare(b.StartedAt), a.FinishedAt.Compare(b.FinishedAt),
		cmp.Compare(a.ExitCode, b.ExitCode), compareBools(a.Started, b.Started), compareBools(a.Ready, b.Ready),
		compareRuns(a.LastRun, b.LastRun),
		cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Image, b.Image),
		cmp.Compare(a.PullPolicy, b.PullPolicy),
		compareBools(a.StartupProbe, b.StartupProbe), compareBools(a.ReadinessProbe, b.ReadinessProbe),
		compareBools(a.LivenessProbe, b.LivenessProbe), compareBools(a.PostStartHook, b.PostStartHook),
		compareBools(a.MemoryLimited, b.MemoryLimited), compareBools(a.RestartsNever, b.RestartsNever),
		compareBools(a.PreStopHook, b.PreStopHook), compareBools(a.RestartsAlways, b.RestartsAlways),
		cmp.Compare(a.EndReason, b.EndReason),
		compareTimings(a.StartupTiming, b.StartupTiming), compareTimings(a.ReadinessTiming, b.ReadinessTiming))
}

func compareTimings(a, b ProbeTiming) int {
	return cmp.Or(cmp.Compare(a.InitialDelay, b.InitialDelay), cmp.Compare(a.Period, b.Period),
		cmp.Compare(a.Timeout, b.Timeout), cmp.Compare(a.Successes, b.Successes))
}

func compareRuns(a, b *Run) int {
	if a == nil || b == nil {
		return compareBools(a != nil, b != nil)
	}
	return cmp.Or(a.StartedAt.Compare(b.StartedAt), a.FinishedAt.Compare(b.FinishedAt),
		cmp.Compare(a.ExitCode, b.ExitCode), cmp.Compare(a.Reason, b.Reason))
}

// compareImages orders responses about one image by all their fields. If a response reports that the image is absent,
// it comes before all other responses.
func compareImages(a, b *Image) int {
	return cmp.Or(
		compareBools(a.Present, b.Present), a.FirstPulledAt.Compare(b.FirstPulledAt), a.PulledAt.Compare(b.PulledAt),
		a.ResolvedAt.Compare(b.ResolvedAt),
		compareBools(a.Layered, b.Layered), compareBools(a.Incomplete, b.Incomplete),
		compareBools(a.LazySnapshotter, b.LazySnapshotter),
		slices.CompareFunc(a.Layers, b.Layers, compareLayers), cmp.Compare(a.Digest, b.Digest),
		cmp.Compare(a.SizeBytes, b.SizeBytes), cmp.Compare(a.Ref, b.Ref))
}

func compareLayers(a, b Layer) int {
	return cmp.Or(cmp.Compare(a.Digest, b.Digest), cmp.Compare(a.SizeBytes, b.SizeBytes),
		a.DownloadedAt.Compare(b.DownloadedAt), a.UnpackedAt.Compare(b.UnpackedAt), compareBools(a.Remote, b.Remote))
}

func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
