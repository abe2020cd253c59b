package workload

import (
	"cmp"
	"maps"
	"slices"

	"github.com/podlapse/podlapse/pkg/api"
	"github.com/podlapse/podlapse/pkg/imagepull"
	"github.com/podlapse/podlapse/pkg/timeline"
)

// HasVersions reports whether the pod template of this kind of workload has versions. If so, each revision of the
// workload is a version of its pod template.
func HasVersions(kind string) bool {
	return kind == "Deployment" || kind == "StatefulSet" || kind == "DaemonSet"
}

// revisionsOf returns the revisions of a workload, the latest first. The function ignores records without a revision.
func revisionsOf(all []*api.Record, samples []*sample, numbers map[string]int64) []api.WorkloadRevision {
	known := map[string]*api.WorkloadRevision{}
	for _, record := range all {
		if record.Revision == "" {
			continue
		}
		if known[record.Revision] == nil {
			known[record.Revision] = &api.WorkloadRevision{Name: record.Revision, Number: numbers[record.Revision]}
		}
		known[record.Revision].LatestAt = record.CreatedAt // the records are sorted, with the latest one last
	}
	groups := map[string][]*sample{}
	for _, s := range samples {
		groups[s.record.Revision] = append(groups[s.record.Revision], s)
	}
	revisions := make([]api.WorkloadRevision, 0, len(known))
	for name, r := range known {
		of := groups[name]
		if len(of) > 0 {
			r.Durations = new(durationsOf(of))
		}
		for _, s := range of {
			if s.image != imageUnknown {
				r.PulledOf++
			}
			if s.image == imagePulled {
				r.Pulled++
			}
		}
		r.ImageBytes, r.Containers = imageSize(of)
		revisions = append(revisions, *r)
	}
	slices.SortFunc(revisions, func(a, b api.WorkloadRevision) int {
		return cmp.Or(cmp.Compare(b.Number, a.Number), b.LatestAt.Compare(a.LatestAt.Time), cmp.Compare(a.Name, b.Name))
	})
	return revisions
}

func samplesOfRevision(samples []*sample, name string) []*sample {
	return slices.DeleteFunc(slices.Clone(samples), func(s *sample) bool { return s.record.Revision != name })
}

// compareRevisions compares the two revisions in the argument "chosen". If "chosen" does not contain two revisions,
// compareRevisions compares the latest revision with an earlier revision. The earlier revision is the newest one that
// has a measured start-up. If no earlier revision has a measured start-up, compareRevisions compares the latest two
// revisions. If "chosen" does not contain two revisions and fewer than two revisions exist, the result is nil.
func compareRevisions(revisions []api.WorkloadRevision, samples []*sample, chosen []string) *api.WorkloadComparison {
	if len(chosen) != 2 {
		if len(revisions) < 2 {
			return nil
		}
		earlier := 1 + slices.IndexFunc(revisions[1:], func(r api.WorkloadRevision) bool { return r.Durations != nil })
		chosen = []string{revisions[max(earlier, 1)].Name, revisions[0].Name}
	}
	from, to := chosen[0], chosen[1]
	return &api.WorkloadComparison{From: from, To: to,
		Difference: compare(samplesOfRevision(samples, from), samplesOfRevision(samples, to), 1)}
}

// imageSize computes the total size of the images of each pod. imageSize returns the largest total size and the names
// of the containers. The result is 0 if the size of an image is unknown, if the pods have different containers, or if
// their total sizes differ by more than 1 %. For example, pods on nodes with different CPU architectures have images of
// different sizes.
func imageSize(samples []*sample) (int64, []string) {
	var least, most int64
	var containers []string
	for i, s := range samples {
		size, names := imageSizeOf(s.record.Pulls)
		if i == 0 {
			least, most, containers = size, size, names
		}
		if least, most = min(least, size), max(most, size); least <= 0 || !slices.Equal(names, containers) {
			return 0, nil
		}
	}
	if most-least > most/100 {
		return 0, nil
	}
	return most, containers
}

// imageSizeOf adds up the sizes of a pod's images. Each image counts once, even if several containers use the image or
// if a pull has several attempts.
func imageSizeOf(pulls []api.PullRecord) (int64, []string) {
	sizes := map[string]int64{}
	containers := map[string]string{}
	for _, pull := range pulls {
		if pull.Kind == timeline.KindEphemeral || pull.Outcome == imagepull.OutcomeFailed {
			continue
		}
		image := cmp.Or(pull.Digest, pull.Image)
		containers[pull.Container] = image
		sizes[image] = max(sizes[image], pull.SizeBytes)
	}
	total, counted := int64(0), map[string]bool{}
	for _, image := range containers {
		if sizes[image] <= 0 {
			return 0, nil
		}
		if !counted[image] {
			total, counted[image] = total+sizes[image], true
		}
	}
	return total, slices.Sorted(maps.Keys(containers))
}
